"""What a job's AWS call must never reach: it is made with the worker's own role, which may do more than the job may."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from onthedot.targets.aws.clients import make_client
from tests.infra.kit import Assembly, denials, statements_of, synthesize

FUNCTIONS = "arn:<AWS::Partition>:lambda:eu-west-1:123456789012:function:onthedot-prod-*"
QUEUES = "arn:<AWS::Partition>:sqs:eu-west-1:123456789012:onthedot-prod-*"


def role_of(assembly: Assembly, name: str) -> str:
    function: dict[str, Any] = assembly.named("AWS::Lambda::Function", "FunctionName", name)
    return str(function["Role"]["Fn::GetAtt"][0])


def task_role(assembly: Assembly) -> str:
    task = assembly.named("AWS::ECS::TaskDefinition", "Family", "worker-render")
    return str(task["TaskRoleArn"]["Fn::GetAtt"][0])


WORKER = partial(role_of, name="worker")
API = partial(role_of, name="api")


def fences(assembly: Assembly, role: str) -> list[tuple[set[str], set[str], Any]]:
    """Actions, resources and condition of each denial."""
    return denials(statements_of(assembly, role))


def sent_as(service: str) -> str:
    """The user agent that really goes over the wire."""
    client = make_client(service, 1, region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
    seen: list[Any] = []

    def catch(request: Any, **_: Any) -> None:
        seen.append(request.headers["User-Agent"])
        raise InterruptedError

    client.meta.events.register("before-send", catch)
    with pytest.raises(InterruptedError):
        client.list_tables() if service == "dynamodb" else client.list_buckets()
    return seen[0].decode() if isinstance(seen[0], bytes) else str(seen[0])


@pytest.mark.parametrize("find_role", [WORKER, task_role])
def test_a_jobs_call_reaches_nothing_of_the_scheduler_by_the_workers_own_rights(
    fargate: Assembly, find_role: Any
) -> None:
    [(actions, resources, condition)] = [
        fence for fence in fences(fargate, find_role(fargate)) if "aws:UserAgent" in str(fence[2])
    ]
    assert actions == {"dynamodb:*", "s3:*", "sqs:*"}
    assert resources == {"Jobs", "Jobs/index/*", "Blobs", "Blobs/*", QUEUES}
    assert condition == {"StringLike": {"aws:UserAgent": "onthedot-jobs/*"}}


@pytest.mark.parametrize("service", ["dynamodb", "s3"])
def test_jobs_calls_are_told_from_the_workers_own_by_how_they_are_sent(service: str) -> None:
    assert sent_as(service).startswith("onthedot-jobs/")


@pytest.mark.parametrize("find_role", [WORKER, task_role])
def test_no_job_calls_the_schedulers_own_functions(fargate: Assembly, find_role: Any) -> None:
    """The API's function believes whatever stands in its event about who calls."""
    assert ({"lambda:InvokeFunction"}, {FUNCTIONS}, None) in fences(fargate, find_role(fargate))


@pytest.mark.parametrize("find_role", [WORKER, API, task_role])
def test_nobody_but_the_authorizer_touches_tokens(fargate: Assembly, find_role: Any) -> None:
    under = {"ForAnyValue:StringLike": {"dynamodb:LeadingKeys": ["token#*"]}}
    assert ({"dynamodb:*"}, {"Jobs"}, under) in fences(fargate, find_role(fargate))


def test_where_jobs_may_call_nothing_there_is_nothing_to_fence(prod: Assembly, tmp_path: Path) -> None:
    assert not [fence for fence in fences(prod, role_of(prod, "worker")) if "aws:UserAgent" in str(fence[2])]
    made = synthesize(tmp_path, stage="prod", aws_calls="dynamodb:GetItem")
    assert [fence for fence in fences(made, role_of(made, "worker")) if "aws:UserAgent" in str(fence[2])]

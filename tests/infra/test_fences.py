"""What a job's AWS call must never reach, and what a worker may not do itself."""

import re
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

import pytest

from tests.infra.conftest import PAGER
from tests.infra.kit import Assembly, by_action, denials, resolve, statements_of

HERE = "eu-west-1:123456789012"
CALLS_ROLE = "arn:<AWS::Partition>:iam::123456789012:role/onthedot-prod-calls-eu-west-1"
UNNAMED = {
    f"arn:<AWS::Partition>:logs:{HERE}:log-group:API-Gateway-Execution-Logs_*",
    f"arn:<AWS::Partition>:cloudformation:{HERE}:stack/onthedot-*",
    f"arn:<AWS::Partition>:ecs:{HERE}:task/onthedot-*",
    "Blobs",
    "Blobs/*",
    "arn:<AWS::Partition>:s3:::onthedot-*-data-blobs*",
    # What CDK deploys from, and by.
    "arn:<AWS::Partition>:s3:::cdk-*-assets-123456789012-*",
    "arn:<AWS::Partition>:iam::123456789012:role/cdk-*",
}
"""What is ours and has no name of its own in a template."""
OUR_METRICS = ({"cloudwatch:PutMetricData"}, {"*"}, {"StringEquals": {"cloudwatch:namespace": "onthedot"}})
# The types of our resources that have a name of their own in a template, and the property that has it.
NAMED = {
    "AWS::Lambda::Function": (f"lambda:{HERE}", "function:{}", "FunctionName"),
    "AWS::DynamoDB::Table": (f"dynamodb:{HERE}", "table/{}", "TableName"),
    "AWS::SQS::Queue": (f"sqs:{HERE}", "{}", "QueueName"),
    "AWS::SNS::Topic": (f"sns:{HERE}", "{}", "TopicName"),
    "AWS::Events::EventBus": (f"events:{HERE}", "event-bus/{}", "Name"),
    "AWS::Events::Rule": (f"events:{HERE}", "rule/{}", "Name"),
    "AWS::IAM::Role": ("iam::123456789012", "role/{}", "RoleName"),
    "AWS::CloudWatch::Dashboard": ("cloudwatch::123456789012", "dashboard/{}", "DashboardName"),
    "AWS::Scheduler::Schedule": (f"scheduler:{HERE}", "schedule/default/{}", "Name"),
    "AWS::SecretsManager::Secret": (f"secretsmanager:{HERE}", "secret:{}-Ab1", "Name"),
    "AWS::Logs::LogGroup": (f"logs:{HERE}", "log-group:{}", "LogGroupName"),
    "AWS::CloudWatch::Alarm": (f"cloudwatch:{HERE}", "alarm:{}", "AlarmName"),
    "AWS::ECS::Cluster": (f"ecs:{HERE}", "cluster/{}", "ClusterName"),
    "AWS::ECS::Service": (f"ecs:{HERE}", "service/onthedot-prod-workers/{}", "ServiceName"),
    "AWS::ECS::TaskDefinition": (f"ecs:{HERE}", "task-definition/{}:7", "Family"),
}


def role_of(assembly: Assembly, name: str) -> str:
    function: dict[str, Any] = assembly.named("AWS::Lambda::Function", "FunctionName", name)
    return str(function["Role"]["Fn::GetAtt"][0])


def task_role(assembly: Assembly) -> str:
    task = assembly.named("AWS::ECS::TaskDefinition", "Family", "worker-render")
    return str(task["TaskRoleArn"]["Fn::GetAtt"][0])


def calls_role(assembly: Assembly) -> str:
    [role] = [role for role in assembly.of_type("AWS::IAM::Role", "workers") if role.startswith("CallsRole")]
    return role


WORKER = partial(role_of, name="worker")
API = partial(role_of, name="api")


def fences(assembly: Assembly, role: str) -> list[tuple[set[str], set[str], Any]]:
    """Actions, resources and condition of each denial."""
    return denials(statements_of(assembly, role))


@pytest.mark.slow
def test_a_jobs_call_reaches_nothing_of_ours_whatever_the_allow_list_says(
    prod: Assembly, fargate: Assembly, other: Assembly
) -> None:
    for assembly, more in ((prod, UNNAMED), (fargate, UNNAMED), (other, {*UNNAMED, PAGER})):
        everything, metrics = fences(assembly, calls_role(assembly))
        assert (everything[0], everything[2], metrics) == ({"*"}, None, OUR_METRICS)
        assert more <= everything[1]


@pytest.mark.parametrize("kind", NAMED)
def test_each_resource_of_the_templates_that_has_a_name_is_among_ours(fargate: Assembly, kind: str) -> None:
    """A resource whose name does not begin like those of the stage would be open to jobs."""
    place, form, name_property = NAMED[kind]
    found = [resolve(made[name_property]) for made in fargate.properties(kind) if name_property in made]
    assert found
    [(_, ours, _), _] = fences(fargate, calls_role(fargate))
    for name in found:
        arn = f"arn:<AWS::Partition>:{place}:{form.format(name)}"
        assert [pattern for pattern in ours if fnmatchcase(arn, pattern)], arn


def test_no_type_of_resource_with_the_name_of_the_stage_is_forgotten_there(prod: Assembly, fargate: Assembly) -> None:
    named = {
        resource["Type"]
        for assembly in (prod, fargate)
        for stack in assembly.stacks
        for resource in assembly.template(stack)["Resources"].values()
        for key, value in resource.get("Properties", {}).items()
        if key.endswith(("Name", "Family")) and re.match(r"/?onthedot[-/]prod", str(value))
    }
    # The name of a REST API is not in its ARN.
    assert named == set(NAMED) | {"AWS::ApiGateway::RestApi"}


def test_the_worker_may_assume_the_role_and_has_none_of_its_grants(fargate: Assembly) -> None:
    granted = by_action(statements_of(fargate, calls_role(fargate)))
    for find_role in (WORKER, task_role):
        may = by_action(statements_of(fargate, find_role(fargate)))
        assert may["sts:AssumeRole"] == {CALLS_ROLE}
        assert not {"sns:Publish", "lambda:InvokeFunction"} & set(may)
        assert not may["sqs:SendMessage"] & granted["sqs:SendMessage"]


def test_nobody_else_may_assume_it(fargate: Assembly) -> None:
    may = {
        role
        for role in fargate.of_type("AWS::IAM::Role")
        if "sts:AssumeRole" in by_action(statements_of(fargate, role))
    }
    assert may == {WORKER(fargate), task_role(fargate)}


def test_the_account_trusts_its_own_principals_with_the_role_and_no_service(fargate: Assembly) -> None:
    [statement] = fargate.of_type("AWS::IAM::Role")[calls_role(fargate)]["Properties"]["AssumeRolePolicyDocument"][
        "Statement"
    ]
    assert statement["Action"] == "sts:AssumeRole"
    assert {key: resolve(arn) for key, arn in statement["Principal"].items()} == {
        "AWS": "arn:<AWS::Partition>:iam::123456789012:root"
    }


UNDER_TOKENS = {"ForAnyValue:StringLike": {"dynamodb:LeadingKeys": ["token#*", "tokens"]}}


def test_no_function_and_no_task_but_api_and_authorizer_touches_tokens(fargate: Assembly) -> None:
    """A role that could write a token could act as any tenant."""
    names = [made["FunctionName"] for made in fargate.properties("AWS::Lambda::Function")]
    roles = {name: role_of(fargate, name) for name in names} | {"task": task_role(fargate)}
    without = {
        name for name, role in roles.items() if ({"dynamodb:*"}, {"Jobs"}, UNDER_TOKENS) not in fences(fargate, role)
    }
    assert without == {"onthedot-prod-api", "onthedot-prod-authorizer"}


def test_no_role_but_the_apis_reads_the_table_without_a_key_which_no_denial_of_keys_would_stop(
    fargate: Assembly,
) -> None:
    """The API reads all tenants and all tokens anyway. It scans for the export of an admin, and may do no more."""
    keyless = {"dynamodb:*", "dynamodb:Scan", "dynamodb:PartiQLSelect", "dynamodb:PartiQL*", "*"}
    roles = fargate.of_type("AWS::IAM::Role")
    found = {role: keyless & set(by_action(statements_of(fargate, role))) for role in roles}
    assert {role: actions for role, actions in found.items() if actions} == {API(fargate): {"dynamodb:Scan"}}
    assert len(roles) > 10


def test_the_api_puts_and_deletes_whole_tokens_and_changes_none(fargate: Assembly) -> None:
    changes = {"dynamodb:UpdateItem", "dynamodb:PartiQL*", "dynamodb:BatchGetItem", "dynamodb:BatchWriteItem"}
    assert [fence for fence in fences(fargate, API(fargate)) if fence[0] != {"lambda:InvokeFunction"}] == [
        (changes, {"Jobs"}, UNDER_TOKENS)
    ]

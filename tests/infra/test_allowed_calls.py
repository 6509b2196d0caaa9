"""One list for what jobs may call: the API refuses by it, workers obey it, and it is what they are granted."""

import json

import pytest

from context_values import BadContext
from onthedot.targets import rules
from onthedot.targets.rules import AllowedCall, AllowList
from stage_config import StageConfig
from tests.infra.kit import Assembly, by_action, statements_of

CALLS = {
    "lambda:InvokeFunction": {
        "arn:<AWS::Partition>:lambda:eu-west-1:123456789012:function:billing-*",
        "arn:<AWS::Partition>:lambda:eu-west-1:123456789012:function:report",
    },
    "sns:Publish": {"*"},
}


def jobs_may(assembly: Assembly) -> dict[str, set[str]]:
    """What the role of jobs' calls allows."""
    [role] = [role for role in assembly.of_type("AWS::IAM::Role", "workers") if role.startswith("CallsRole")]
    return by_action(statements_of(assembly, role))


def told(assembly: Assembly, function: str) -> AllowList:
    return rules.from_json(json.loads(assembly.variables(function)["ONTHEDOT_ALLOW_LIST"]))


def test_a_stage_allows_nothing_unless_it_is_told(prod: Assembly) -> None:
    assert told(prod, "api") == told(prod, "worker") == AllowList()
    assert jobs_may(prod) == {}


def test_jobs_are_granted_exactly_what_is_on_the_list_of_api_and_worker(fargate: Assembly) -> None:
    calls = (AllowedCall("sns", "Publish"), AllowedCall("sqs", "SendMessage"))
    assert told(fargate, "api") == told(fargate, "worker") == AllowList(("billing-*", "report"), calls)
    assert jobs_may(fargate) == {**CALLS, "sqs:SendMessage": {"arn:aws:sqs:*:*:inbox-*"}}


def test_the_worker_is_told_the_role_of_jobs_calls(fargate: Assembly) -> None:
    role = "arn:<AWS::Partition>:iam::123456789012:role/onthedot-prod-calls-eu-west-1"
    assert fargate.variables("worker")["ONTHEDOT_CALLS_ROLE"] == role


def test_an_action_that_iam_calls_otherwise_is_granted_by_that_name(other: Assembly) -> None:
    assert jobs_may(other)["states:StartExecution"] == {"arn:aws:states:eu-west-1:123456789012:stateMachine:o"}
    assert "stepfunctions:StartExecution" not in jobs_may(other)


def test_the_local_stage_has_something_to_try_of_each(local: Assembly) -> None:
    allowed = told(local, "api")
    assert allowed.allows_function("whatever")
    assert allowed.allows_call("sqs", "SendMessage")
    assert allowed.allows_call("stepfunctions", "StartExecution")
    assert "states:StartExecution" in jobs_may(local)


@pytest.mark.parametrize(
    "given",
    [
        "sqs:SendMessage on arn:aws:sqs:*:*:a  arn:aws:sqs:*:*:b",
        [{"service": "sqs", "action": "SendMessage", "resources": ["arn:aws:sqs:*:*:a", "arn:aws:sqs:*:*:b"]}],
    ],
)
def test_a_call_names_its_resources_as_text_or_typed(given: object) -> None:
    [call] = StageConfig.from_context({"stage": "prod", "aws_calls": given}).aws_calls
    assert call.allowed == AllowedCall("sqs", "SendMessage")
    assert call.resources == ("arn:aws:sqs:*:*:a", "arn:aws:sqs:*:*:b")


@pytest.mark.parametrize(
    "given",
    [
        "sns:Publish on *, sqs:SendMessage",
        "sqs:SendMessage on ",
        [{"service": "sqs", "action": "SendMessage", "resources": []}],
    ],
)
def test_a_call_that_names_no_resources_is_refused_with_advice(given: object) -> None:
    with pytest.raises(BadContext, match=r'aws_calls.*names no resources.*"sqs:SendMessage on \*" for all'):
        StageConfig.from_context({"stage": "prod", "aws_calls": given})


@pytest.mark.parametrize("given", [["a", "b-*"], "a, b-*", '["a", "b-*"]'])
def test_functions_are_listed_as_text_or_typed(given: object) -> None:
    assert StageConfig.from_context({"stage": "prod", "lambda_functions": given}).lambda_functions == ("a", "b-*")

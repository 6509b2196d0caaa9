"""One list for what jobs may call: the API refuses by it, workers obey it, and it is what they are granted."""

import json
from pathlib import Path

import pytest

from onthedot.domain.targets import allow_list
from onthedot.domain.targets.allow_list import AllowedCall, AllowList
from stage_config import StageConfig
from tests.infra.kit import Assembly, by_action, resolve, statements_of, synthesize

CALLS = {
    "lambda:InvokeFunction": {
        "arn:<AWS::Partition>:lambda:eu-west-1:123456789012:function:billing-*",
        "arn:<AWS::Partition>:lambda:eu-west-1:123456789012:function:report",
    },
    "sns:Publish": {"*"},
}


def worker_may(assembly: Assembly) -> dict[str, set[str]]:
    function = assembly.named("AWS::Lambda::Function", "FunctionName", "worker")
    return by_action(statements_of(assembly, function["Role"]["Fn::GetAtt"][0]))


def told(assembly: Assembly, function: str) -> AllowList:
    variables = assembly.named("AWS::Lambda::Function", "FunctionName", function)["Environment"]["Variables"]
    return allow_list.from_json(json.loads(resolve(variables["ONTHEDOT_ALLOW_LIST"])))


def test_a_stage_allows_nothing_unless_it_is_told(prod: Assembly) -> None:
    assert told(prod, "api") == told(prod, "worker") == AllowList()
    assert "lambda:InvokeFunction" not in worker_may(prod)


def test_api_and_worker_are_told_the_list_of_the_context(fargate: Assembly) -> None:
    expected = AllowList(
        ("billing-*", "report"),
        (AllowedCall("sns", "Publish"), AllowedCall("sqs", "SendMessage", resources=("arn:aws:sqs:*:*:inbox-*",))),
    )
    assert told(fargate, "api") == told(fargate, "worker") == expected


def test_the_worker_is_granted_exactly_what_is_on_the_list(prod: Assembly, fargate: Assembly) -> None:
    more = {
        action: on - worker_may(prod).get(action, set())
        for action, on in worker_may(fargate).items()
        if not on <= worker_may(prod).get(action, set())
    }
    queues = {"RenderHighQueue", "RenderMediumQueue", "RenderLowQueue"}
    assert more == {**CALLS, "sqs:SendMessage": {"arn:aws:sqs:*:*:inbox-*", *queues}}


def test_an_action_that_iam_calls_otherwise_is_granted_by_that_name(tmp_path: Path) -> None:
    machine = "arn:aws:states:eu-west-1:123456789012:stateMachine:orders"
    call = {"service": "stepfunctions", "action": "StartExecution", "iam_action": "states:StartExecution"}
    made = synthesize(tmp_path, stage="prod", aws_calls=json.dumps([{**call, "resources": [machine]}]))
    assert worker_may(made)["states:StartExecution"] == {machine}
    assert "stepfunctions:StartExecution" not in worker_may(made)


def test_the_local_stage_has_something_to_try_of_each(local: Assembly) -> None:
    allowed = told(local, "api")
    assert allowed.allows_function("whatever")
    assert allowed.allows_call("sqs", "SendMessage")
    assert allowed.allows_call("stepfunctions", "StartExecution")
    assert "states:StartExecution" in worker_may(local)


def test_boto3_knows_every_call_that_the_local_stage_allows() -> None:
    local = StageConfig.from_context({"stage": "local", "local": True})
    given = allow_list.to_json(local.allow_list)["calls"]
    entries = [{name: value for name, value in call.items() if value} for call in given]
    assert StageConfig.from_context({"stage": "prod", "aws_calls": entries}).aws_calls == local.aws_calls


@pytest.mark.parametrize("given", [["a", "b-*"], "a, b-*", '["a", "b-*"]'])
def test_functions_are_listed_as_text_or_typed(given: object) -> None:
    assert StageConfig.from_context({"stage": "prod", "lambda_functions": given}).lambda_functions == ("a", "b-*")

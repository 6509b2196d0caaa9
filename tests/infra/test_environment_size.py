"""Lambda refuses more than 4 KB of variables. Twenty pools and twenty calls fit, and more is refused at synthesis."""

import json
from pathlib import Path
from typing import Any

import pytest

from environment_size import LARGEST, longest, size_of
from tests.infra.kit import Assembly, empty_layer, resolve, synthesize

pytestmark = pytest.mark.slow
STAGE = "prod-eu-customers-01"
RESTORED = f"onthedot-{STAGE}-jobs-20260301-123000"
TEAMS = ("billing", "catalog", "checkout", "crm", "data-platform", "fraud", "growth", "identity", "imaging", "ledger")
POOLS = [
    {
        "name": f"{team}-{size}",
        "capabilities": ["http", "python", f"team:{team}", "ffmpeg-6.1"],
        "cpu": 2.5,
        "memory_mb": 16_384,
        "longest_seconds": 36_000,
        "min_workers": 12,
    }
    for team in TEAMS
    for size in ("small", "xl")
]
TOO_LARGE = [{**pool, "capabilities": [f"{'x' * 50}-{n}" for n in range(2)]} for pool in POOLS]
ARNS = ["arn:aws:sqs:eu-west-1:123456789012:orders-incoming", "arn:aws:sqs:eu-west-1:123456789012:orders-returned"]
ACTIONS = {
    "sqs": "SendMessage SendMessageBatch GetQueueAttributes",
    "sns": "Publish PublishBatch",
    "events": "PutEvents",
    "dynamodb": "PutItem UpdateItem GetItem TransactWriteItems",
    "s3": "PutObject GetObject CopyObject",
    "stepfunctions": "StartExecution",
    "glue": "StartJobRun",
    "batch": "SubmitJob",
    "ecs": "RunTask",
    "kinesis": "PutRecords",
    "firehose": "PutRecordBatch",
    "rds-data": "ExecuteStatement",
}
CALLS = [
    {"service": service, "action": action, "resources": ARNS}
    for service, actions in ACTIONS.items()
    for action in actions.split()
]
FUNCTIONS = [f"{team}-nightly-*" for team in TEAMS]


def large(pools: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "stage": STAGE,
        "pools": json.dumps(pools),
        "aws_calls": CALLS,
        "lambda_functions": FUNCTIONS,
        "domain_name": "scheduler.internal.example.com",
        "certificate_arn": "arn:aws:acm:eu-west-1:123456789012:certificate/1",
        "base_path": "onthedot",
        "detailed_metrics": "true",
        "publish_results": "true",
        "table_name": RESTORED,
        "table_stream_arn": f"arn:aws:dynamodb:eu-west-1:123456789012:table/{RESTORED}/stream/1",
    }


@pytest.fixture(scope="module")
def twenty(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    assert len(POOLS) == len(CALLS) == 20
    return synthesize(tmp_path_factory.mktemp("twenty"), **large(POOLS))


def test_twenty_pools_and_twenty_calls_fit_into_every_function(twenty: Assembly) -> None:
    functions = twenty.properties("AWS::Lambda::Function")
    assert len(functions) >= 8
    told = {name for function in functions for name in function["Environment"]["Variables"]}
    expected = {"CANARY", "CALLS_ROLE", "DETAILED_METRICS", "LEAST_WORKERS", "DEAD_LETTERS", "PUBLIC_URL", "POOLS"}
    assert {f"ONTHEDOT_{name}" for name in expected} <= told
    for function in functions:
        written = {name: longest(value) for name, value in function["Environment"]["Variables"].items()}
        assert size_of(written) <= LARGEST, function["FunctionName"]


def test_functions_are_told_no_resources(twenty: Assembly) -> None:
    for function in twenty.properties("AWS::Lambda::Function"):
        assert "orders-incoming" not in resolve(function["Environment"]["Variables"].get("ONTHEDOT_ALLOW_LIST", ""))


def test_the_grants_of_twenty_pools_and_calls_fit_into_roles(twenty: Assembly) -> None:
    """IAM takes 10,240 characters in the inline policy of a role, and 6,144 in each managed policy."""
    sizes = {
        kind: [policy_size(p["PolicyDocument"]) for p in twenty.properties(kind)]
        for kind in ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy")
    }
    assert 4_000 < max(sizes["AWS::IAM::Policy"]) <= 10_240
    assert max(sizes["AWS::IAM::ManagedPolicy"]) <= 6_144
    assert twenty.findings() == set()


def policy_size(document: Any) -> int:
    return len(json.dumps(filled(document), separators=(",", ":")))


def filled(value: Any) -> Any:
    """Put a text of the longest length in the place of each reference."""
    match value:
        case {"Fn::Join": _} | {"Ref": _} | {"Fn::GetAtt": _} | {"Fn::ImportValue": _}:
            return longest(value)
        case dict():
            return {key: filled(each) for key, each in value.items()}
        case list():
            return [filled(each) for each in value]
        case _:
            return value


def test_the_command_refuses_a_larger_environment_and_names_the_largest_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from aws_cdk import App

    import app as cdk_app

    monkeypatch.setattr(cdk_app, "App", lambda: App(outdir=str(tmp_path / "cdk.out"), context=large(TOO_LARGE)))
    monkeypatch.setattr(cdk_app, "dependencies_layer", lambda **_: empty_layer(tmp_path))
    with pytest.raises(SystemExit, match=rf"onthedot-{STAGE}-api take \d{{4}} bytes.* {LARGEST}") as error:
        cdk_app.main()
    assert "the largest are ONTHEDOT_POOLS 3" in str(error.value)
    assert "ONTHEDOT_ALLOW_LIST 7" in str(error.value)


@pytest.mark.parametrize(
    ("value", "length"),
    [
        ("abc", 3),
        ({"Ref": "AWS::AccountId"}, 12),
        (
            {"Fn::Join": ["", ["https://sqs.", {"Ref": "AWS::Region"}, "/", {"Ref": "AWS::AccountId"}]]},
            12 + 14 + 1 + 12,
        ),
        ({"Fn::ImportValue": "onthedot-prod-data:ExportsOutputRefBlobs"}, 64),
    ],
)
def test_references_count_with_the_length_that_they_can_have(value: Any, length: int) -> None:
    assert len(longest(value)) == length


def test_quotes_count_as_lambda_counts_them() -> None:
    """Lambda's refusal shows the string that it measured: a JSON object, in which the quotes of values are escaped."""
    assert size_of({"A": '["x"]'}) == len(r'{"A":"[\"x\"]"}')

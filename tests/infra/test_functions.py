"""What every function has in common, what each may do, and that its environment is what it will parse."""

from typing import Any

import pytest

from layers.build import LAMBDA_PYTHON
from onthedot import settings
from onthedot.access.tenants import SETTLED_MS
from onthedot.core.pools import Pools, pools_from_text
from onthedot.core.schema import STATISTICS_PREFIX
from tests.infra.kit import ROOT, Assembly, as_list, by_action, resolve, short, statements_of

SETTINGS: dict[str, type[settings.Settings]] = {
    "api": settings.ApiSettings,
    "authorizer": settings.AuthorizerSettings,
    "planner": settings.PlannerSettings,
    "dispatcher": settings.DispatcherSettings,
    "auditor": settings.AuditorSettings,
    "worker": settings.WorkerSettings,
    "events": settings.EventsSettings,
    "publisher": settings.PublisherSettings,
    "statistics": settings.StatisticsSettings,
}
NAMES = sorted(SETTINGS)
DLQS = "arn:<AWS::Partition>:sqs:eu-west-1:123456789012:onthedot-prod-*-dlq"
PUSHED = {"DefaultHighQueue", "DefaultMediumQueue", "DefaultLowQueue", "LongQueue"}
PULLED = {"PullHighQueue", "PullMediumQueue", "PullLowQueue"}
RUNS = PUSHED | PULLED
OWN_LOGS = {"logs:CreateLogStream", "logs:PutLogEvents"}
CONSUME = ("ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility", "GetQueueAttributes", "GetQueueUrl")
# Besides their own logs and traces, exactly this. `Jobs` is the table, `Blobs` the bucket.
MAY: dict[str, dict[str, set[str]]] = {
    "api": {
        "dynamodb:GetItem": {"Jobs"},
        "dynamodb:BatchGetItem": {"Jobs"},
        # An export reads the whole table, by pages, and first about how many items it has.
        "dynamodb:Scan": {"Jobs"},
        "dynamodb:DescribeTable": {"Jobs"},
        "dynamodb:Query": {"Jobs", "Jobs/index/due", "Jobs/index/listing", "Jobs/index/failures"},
        "dynamodb:PutItem": {"Jobs"},
        "dynamodb:DeleteItem": {"Jobs"},
        "dynamodb:UpdateItem": {"Jobs"},
        "dynamodb:PartiQLInsert": {"Jobs"},
        "dynamodb:PartiQLUpdate": {"Jobs"},
        "dynamodb:BatchWriteItem": {"Jobs"},
        "sqs:SendMessage": RUNS,
        "sqs:GetQueueAttributes": RUNS | {DLQS},
        "cloudwatch:GetMetricData": {"*"},
        # Workers that have only a token get their runs through it.
        "sqs:ReceiveMessage": PULLED,
        "sqs:DeleteMessage": PULLED,
        "sqs:ChangeMessageVisibility": PULLED,
        "s3:PutObject": {"Blobs/*"},
        "s3:GetObject": {"Blobs/*"},
        "s3:ListBucket": {"Blobs"},
    },
    "authorizer": {"dynamodb:GetItem": {"Jobs"}},
    # Lambda reports the planner's failures to the schedule's dead-letter queue, in the planner's name.
    "planner": {
        "dynamodb:GetItem": {"Jobs"},
        "sqs:SendMessage": {"TickQueue", "ScheduleDlqQueue"},
        "dynamodb:Query": {"Jobs"},
        "sqs:GetQueueAttributes": {"ScheduleDlqQueue", DLQS},
        "sqs:GetQueueUrl": {"ScheduleDlqQueue"},
    },
    "dispatcher": {
        "dynamodb:Query": {"Jobs", "Jobs/index/due"},
        "dynamodb:GetItem": {"Jobs"},
        "dynamodb:BatchGetItem": {"Jobs"},
        "dynamodb:PutItem": {"Jobs"},
        "dynamodb:UpdateItem": {"Jobs"},
        "dynamodb:PartiQLUpdate": {"Jobs"},
        "dynamodb:PartiQLInsert": {"Jobs"},
        "sqs:SendMessage": {"TickQueue", *RUNS},
        "cloudwatch:GetMetricData": {"*"},
        **{f"sqs:{action}": {"TickQueue"} for action in CONSUME},
        "sqs:GetQueueAttributes": {"TickQueue", *RUNS},
    },
    # It reads the table, and removes unused payloads. Lambda reports its failures in its name.
    "auditor": {
        "sqs:SendMessage": {"ScheduleDlqQueue"},
        "sqs:GetQueueAttributes": {"ScheduleDlqQueue"},
        "sqs:GetQueueUrl": {"ScheduleDlqQueue"},
        "dynamodb:Query": {"Jobs", "Jobs/index/due"},
        "dynamodb:BatchGetItem": {"Jobs"},
        "dynamodb:GetItem": {"Jobs"},
        "s3:ListBucket": {"Blobs"},
        "s3:GetObject": {"Blobs/passes/*"},
        "s3:PutObject": {"Blobs/passes/*"},
        "s3:DeleteObject": {"Blobs/payloads/*"},
    },
    "worker": {
        "dynamodb:GetItem": {"Jobs"},
        "dynamodb:Query": {"Jobs", "Jobs/index/due"},
        "dynamodb:BatchGetItem": {"Jobs"},
        "dynamodb:PartiQLInsert": {"Jobs"},
        "dynamodb:PartiQLUpdate": {"Jobs"},
        "dynamodb:UpdateItem": {"Jobs"},
        "dynamodb:PutItem": {"Jobs"},
        "sqs:SendMessage": RUNS,
        "s3:GetObject": {"Blobs/*"},
        "s3:PutObject": {"Blobs/results/*"},
        "s3:ListBucket": {"Blobs"},
        "sts:AssumeRole": {"arn:<AWS::Partition>:iam::123456789012:role/onthedot-prod-calls-eu-west-1"},
        **{f"sqs:{action}": PUSHED for action in CONSUME},
    },
    # Lambda reports failures of both to their dead-letter queues, in their name.
    "events": {
        "dynamodb:GetItem": {"Jobs"},
        "dynamodb:BatchGetItem": {"Jobs"},
        "dynamodb:Query": {"Jobs"},
        "dynamodb:PutItem": {"Jobs"},
        "dynamodb:UpdateItem": {"Jobs"},
        "dynamodb:PartiQLInsert": {"Jobs"},
        "dynamodb:PartiQLUpdate": {"Jobs"},
        "dynamodb:BatchWriteItem": {"Jobs"},
        "sqs:SendMessage": {"EventsDlqQueue", *RUNS},
        "sqs:GetQueueAttributes": {"EventsDlqQueue", *RUNS},
        "sqs:GetQueueUrl": {"EventsDlqQueue"},
        "s3:PutObject": {"Blobs/*"},
        "s3:GetObject": {"Blobs/*"},
        "s3:ListBucket": {"Blobs"},
    },
    "publisher": {
        "events:PutEvents": {"Bus"},
        "dynamodb:DescribeStream": {"Jobs/stream"},
        "dynamodb:GetRecords": {"Jobs/stream"},
        "dynamodb:GetShardIterator": {"Jobs/stream"},
        "dynamodb:ListStreams": {"*"},
        "sqs:SendMessage": {"PublisherDlqQueue"},
        "sqs:GetQueueAttributes": {"PublisherDlqQueue"},
        "sqs:GetQueueUrl": {"PublisherDlqQueue"},
    },
    # Only items of counters: see `KEYS`.
    "statistics": {
        "dynamodb:UpdateItem": {"Jobs"},
        "dynamodb:DescribeStream": {"Jobs/stream"},
        "dynamodb:GetRecords": {"Jobs/stream"},
        "dynamodb:GetShardIterator": {"Jobs/stream"},
        "dynamodb:ListStreams": {"*"},
        "sqs:SendMessage": {"StatisticsDlqQueue"},
        "sqs:GetQueueAttributes": {"StatisticsDlqQueue"},
        "sqs:GetQueueUrl": {"StatisticsDlqQueue"},
    },
}

KEYS = {
    ("authorizer", "GetItem"): ["token#*"],
    ("planner", "GetItem"): ["shards"],
    ("planner", "Query"): ["workers"],
    ("auditor", "GetItem"): ["shards", "gate#*"],
    ("api", "BatchWriteItem"): ["pattern#*"],
    ("api", "DeleteItem"): ["gates#*", "limits", "token#*", "tokens"],
    ("events", "BatchWriteItem"): ["pattern#*"],
    ("worker", "PutItem"): ["signing#*"],
    ("worker", "Query"): ["limits", "workers", "gate#*"],
    ("statistics", "UpdateItem"): [f"{STATISTICS_PREFIX}*"],
}
"""The partition keys to which a function's action on the table is limited."""


def function(assembly: Assembly, name: str) -> dict[str, Any]:
    return assembly.named("AWS::Lambda::Function", "FunctionName", name)


def granted(assembly: Assembly, name: str) -> list[dict[str, Any]]:
    return statements_of(assembly, function(assembly, name)["Role"]["Fn::GetAtt"][0])


def test_every_function_folder_is_deployed(prod: Assembly) -> None:
    folders = {path.parent.name for path in (ROOT / "functions").glob("*/handler.py")}
    deployed = {f["FunctionName"] for f in prod.properties("AWS::Lambda::Function")}
    assert deployed == {prod.config.name(name) for name in folders} == {prod.config.name(name) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_the_environment_parses_into_the_functions_settings(prod: Assembly, name: str) -> None:
    environment = {k: resolve(v) for k, v in function(prod, name)["Environment"]["Variables"].items()}
    parsed = SETTINGS[name].from_environment(environment)
    assert getattr(parsed, "stage") == "prod"  # noqa: B009 - not every Settings has one, all of these have
    if isinstance(parsed, settings.StoreSettings):
        assert (parsed.shards, parsed.lookahead, parsed.history_days) == (32, 2, 30)
        assert pools_from_text(parsed.pools) == Pools()
    assert environment["POWERTOOLS_SERVICE_NAME"] == name


@pytest.mark.parametrize("name", NAMES)
def test_the_environment_holds_nothing_that_the_settings_do_not_know(prod: Assembly, name: str) -> None:
    environment = {k: resolve(v) for k, v in function(prod, name)["Environment"]["Variables"].items()}
    known = set(SETTINGS[name].from_environment(environment).to_environment())
    assert set(environment) == known | {"POWERTOOLS_SERVICE_NAME", "LOG_LEVEL", "PYTHONTZPATH"}


def test_callbacks_to_private_addresses_are_for_the_local_aws_only(prod: Assembly, local: Assembly) -> None:
    variable = "ONTHEDOT_ALLOW_PRIVATE_TARGETS"
    assert function(prod, "worker")["Environment"]["Variables"][variable] == "false"
    assert function(local, "worker")["Environment"]["Variables"][variable] == "true"


@pytest.mark.parametrize("name", NAMES)
def test_every_function_is_made_the_same_way(prod: Assembly, name: str) -> None:
    made = function(prod, name)
    assert made["Handler"] == "handler.handle"
    assert made["Architectures"] == ["arm64"]
    assert made["Runtime"] == f"python{LAMBDA_PYTHON}"
    assert len(made["Layers"]) == 2
    logs = prod.of_type("AWS::Logs::LogGroup")[made["LoggingConfig"]["LogGroup"]["Ref"]]["Properties"]
    assert (logs["LogGroupName"], logs["RetentionInDays"]) == (f"/aws/lambda/onthedot-prod-{name}", 30)


def test_cdk_knows_the_runtime_that_the_layer_is_built_for() -> None:
    from aws_cdk import aws_lambda as lambda_

    assert f"python{LAMBDA_PYTHON}" in [runtime.name for runtime in lambda_.Runtime.ALL]


def test_every_function_has_a_role_of_its_own_without_managed_policies(prod: Assembly) -> None:
    roles = [function(prod, name)["Role"]["Fn::GetAtt"][0] for name in NAMES]
    assert len(set(roles)) == len(NAMES)
    made = prod.of_type("AWS::IAM::Role")
    assert not [role for role in roles if "ManagedPolicyArns" in made[role]["Properties"]]


@pytest.mark.parametrize("name", NAMES)
def test_each_function_may_do_exactly_what_it_needs(prod: Assembly, name: str) -> None:
    allowed = by_action(granted(prod, name))
    assert {allowed.pop(action, None) is not None for action in OWN_LOGS} == {True}
    assert allowed == MAY[name]


@pytest.mark.parametrize(("name", "action"), KEYS, ids=" ".join)
def test_an_action_on_the_table_is_limited_to_these_keys(prod: Assembly, name: str, action: str) -> None:
    allowing = [
        one
        for one in granted(prod, name)
        if f"dynamodb:{action}" in as_list(one["Action"]) and one["Effect"] == "Allow"
    ]
    conditions = [one["Condition"] for one in allowing if "Condition" in one]
    assert conditions == [{"ForAllValues:StringLike": {"dynamodb:LeadingKeys": KEYS[name, action]}}]
    others = [short(one["Resource"]) for one in allowing if "Condition" not in one]
    assert set(others) <= {"Jobs/index/due"}, "the whole index of what is due may be read"


def test_a_deleted_tenant_is_waited_for_longer_than_anything_writes_for_it(prod: Assembly) -> None:
    def timeout_of(name: str) -> int:
        return int(function(prod, name)["Timeout"])

    [authorizer] = prod.properties("AWS::ApiGateway::Authorizer")
    last_call = authorizer["AuthorizerResultTtlInSeconds"] + timeout_of("authorizer") + timeout_of("api")
    assert max(last_call, timeout_of("dispatcher")) * 1000 < SETTLED_MS

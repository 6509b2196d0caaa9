"""What every function has in common, what each may do, and that its environment is what it will parse."""

from typing import Any

import pytest

from layers.build import LAMBDA_PYTHON
from onthedot import settings
from onthedot.access.tenants import SETTLED_MS
from onthedot.core.pools import Pools, pools_from_text
from onthedot.core.schema import STATISTICS_PREFIX
from tests.infra.kit import ROOT, Assembly, as_list, by_action, short, statements_of

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
Grants = dict[str, set[str]]
"""The resources of each action, by their short names: `Jobs` is the table, `Blobs` the bucket."""


def on(resources: set[str], service: str, actions: str) -> Grants:
    return {f"{service}:{action}": resources for action in actions.split()}


def all_of(*grants: Grants) -> Grants:
    names = {action for one in grants for action in one}
    return {action: set().union(*(one.get(action, ()) for one in grants)) for action in names}


TABLE, INDEX, BLOBS = {"Jobs"}, {"Jobs/index/due"}, {"Blobs/*"}
DLQS = {"arn:<AWS::Partition>:sqs:eu-west-1:123456789012:onthedot-prod-*-dlq"}
PUSHED = {"DefaultHighQueue", "DefaultMediumQueue", "DefaultLowQueue", "LongQueue"}
PULLED = {"PullHighQueue", "PullMediumQueue", "PullLowQueue"}
RUNS = PUSHED | PULLED
OWN_LOGS = {"logs:CreateLogStream", "logs:PutLogEvents"}
PULL = "ReceiveMessage DeleteMessage ChangeMessageVisibility"
CONSUME = f"{PULL} GetQueueAttributes GetQueueUrl"
PUT_AWAY = "SendMessage GetQueueAttributes GetQueueUrl"
"""Lambda reports the failures of a function to its dead-letter queue, in its name."""
MOVES = "GetItem BatchGetItem Query PutItem UpdateItem PartiQLInsert PartiQLUpdate"
OF_STREAM = all_of(
    on({"Jobs/stream"}, "dynamodb", "DescribeStream GetRecords GetShardIterator"), on({"*"}, "dynamodb", "ListStreams")
)
WORKING = all_of(
    on(TABLE, "dynamodb", MOVES),
    on(INDEX, "dynamodb", "Query"),
    on(BLOBS, "s3", "GetObject"),
    on({"Blobs/results/*"}, "s3", "PutObject"),
    on({"Blobs"}, "s3", "ListBucket"),
    # The calls of jobs are made with the role of jobs' calls.
    on({"arn:<AWS::Partition>:iam::123456789012:role/onthedot-prod-calls-eu-west-1"}, "sts", "AssumeRole"),
)
"""What every worker may do, wherever it runs."""
# Besides their own logs and traces, exactly this.
MAY: dict[str, Grants] = {
    "api": all_of(
        # An export reads the whole table, by pages, and first about how many items it has.
        on(TABLE, "dynamodb", f"{MOVES} DeleteItem BatchWriteItem Scan DescribeTable"),
        on({*INDEX, "Jobs/index/listing", "Jobs/index/failures"}, "dynamodb", "Query"),
        on(RUNS, "sqs", "SendMessage"),
        on(RUNS | DLQS, "sqs", "GetQueueAttributes"),
        on({"*"}, "cloudwatch", "GetMetricData"),
        # Workers that have only a token get their runs through it.
        on(PULLED, "sqs", PULL),
        on(BLOBS, "s3", "PutObject GetObject"),
        on({"Blobs"}, "s3", "ListBucket"),
    ),
    "authorizer": on(TABLE, "dynamodb", "GetItem"),
    "planner": all_of(
        on(TABLE, "dynamodb", "GetItem Query"),
        on({"TickQueue"}, "sqs", "SendMessage"),
        on({"ScheduleDlqQueue"}, "sqs", PUT_AWAY),
        on(DLQS, "sqs", "GetQueueAttributes"),
    ),
    "dispatcher": all_of(
        on(TABLE, "dynamodb", MOVES),
        on(INDEX, "dynamodb", "Query"),
        on({"TickQueue", *RUNS}, "sqs", "SendMessage GetQueueAttributes"),
        on({"TickQueue"}, "sqs", CONSUME),
        on({"*"}, "cloudwatch", "GetMetricData"),
    ),
    # It reads the table, and removes unused payloads.
    "auditor": all_of(
        on({"ScheduleDlqQueue"}, "sqs", PUT_AWAY),
        on(TABLE, "dynamodb", "Query BatchGetItem GetItem"),
        on(INDEX, "dynamodb", "Query"),
        on({"Blobs"}, "s3", "ListBucket"),
        on({"Blobs/passes/*"}, "s3", "GetObject PutObject"),
        on({"Blobs/payloads/*"}, "s3", "DeleteObject"),
    ),
    "worker": all_of(WORKING, on(RUNS, "sqs", "SendMessage"), on(PUSHED, "sqs", CONSUME)),
    "events": all_of(
        on(TABLE, "dynamodb", f"{MOVES} BatchWriteItem"),
        on(RUNS, "sqs", "SendMessage GetQueueAttributes"),
        on({"EventsDlqQueue"}, "sqs", PUT_AWAY),
        on(BLOBS, "s3", "PutObject GetObject"),
        on({"Blobs"}, "s3", "ListBucket"),
    ),
    "publisher": all_of(OF_STREAM, on({"Bus"}, "events", "PutEvents"), on({"PublisherDlqQueue"}, "sqs", PUT_AWAY)),
    # Only items of counters: see `KEYS`.
    "statistics": all_of(OF_STREAM, on(TABLE, "dynamodb", "UpdateItem"), on({"StatisticsDlqQueue"}, "sqs", PUT_AWAY)),
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
def test_the_environment_is_what_the_functions_settings_parse(prod: Assembly, name: str) -> None:
    environment = prod.variables(name)
    parsed = SETTINGS[name].from_environment(environment)
    assert set(environment) == {*parsed.to_environment(), "POWERTOOLS_SERVICE_NAME", "LOG_LEVEL", "PYTHONTZPATH"}
    assert getattr(parsed, "stage") == "prod"  # noqa: B009 - not every Settings has one, all of these have
    if isinstance(parsed, settings.StoreSettings):
        assert (parsed.shards, parsed.lookahead, parsed.history_days) == (32, 2, 30)
        assert pools_from_text(parsed.pools) == Pools()
    assert environment["POWERTOOLS_SERVICE_NAME"] == name


def test_callbacks_to_private_addresses_are_for_the_local_aws_only(prod: Assembly, local: Assembly) -> None:
    variable = "ONTHEDOT_ALLOW_PRIVATE_TARGETS"
    assert prod.variables("worker")[variable] == "false"
    assert local.variables("worker")[variable] == "true"


def test_every_function_is_made_the_same_way_with_a_role_of_its_own(prod: Assembly) -> None:
    roles, groups = prod.of_type("AWS::IAM::Role"), prod.of_type("AWS::Logs::LogGroup")
    of_functions = {name: function(prod, name)["Role"]["Fn::GetAtt"][0] for name in NAMES}
    assert len(set(of_functions.values())) == len(NAMES)
    for name, role in of_functions.items():
        made = function(prod, name)
        assert made["Handler"] == "handler.handle"
        assert (made["Architectures"], made["Runtime"]) == (["arm64"], f"python{LAMBDA_PYTHON}")
        assert len(made["Layers"]) == 2
        logs = groups[made["LoggingConfig"]["LogGroup"]["Ref"]]["Properties"]
        assert logs["LogGroupName"] == f"/aws/lambda/onthedot-prod-{name}"
        assert "ManagedPolicyArns" not in roles[role]["Properties"]


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

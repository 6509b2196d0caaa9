"""The topic, the alarms and the dashboard. Every alarm on a metric of ours is shown to fire by a real handler."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from botocore.endpoint import Endpoint

from onthedot.core.clock import SystemClock
from onthedot.core.errors import Unavailable
from onthedot.core.ports import RunMessage
from onthedot.core.records import Record, Status
from onthedot.core.shards import ShardStore
from onthedot.core.slots import SlotKind, bucket_of, slot_name
from onthedot.engines.aws.dynamodb.store import DynamoRunStore
from onthedot.engines.aws.sqs.queues import message_body
from onthedot.engines.store_around import announce, counted
from onthedot.metrics import CHECK_EVERY
from onthedot.settings import AuditorSettings, DispatcherSettings, PlannerSettings, WorkerSettings
from onthedot.targets.types import HttpTarget
from onthedot.workers.records import Resources, WorkerRecord
from onthedot.workers.registry import WorkerRegistry
from tests.builders import DEPLOYMENT, World, a_run, a_world
from tests.handlers.audited import a_job_with_history
from tests.handlers.conftest import BUCKET, TABLE, Cloud, Context
from tests.handlers.conftest import _session as _session  # noqa: PLC0414 - a fixture
from tests.handlers.conftest import cloud as cloud  # noqa: PLC0414 - a fixture
from tests.handlers.conftest import load as load  # noqa: PLC0414 - a fixture
from tests.infra.conftest import PAGER
from tests.infra.kit import ROOT, Assembly, resolve

Load = Callable[..., ModuleType]
Lines = list[dict[str, Any]]
TWO_SHARDS = replace(DEPLOYMENT, shards=2)


def alarms(assembly: Assembly) -> dict[str, dict[str, Any]]:
    """All alarms that call a person, by the last part of their names."""
    prefix = assembly.config.name("")
    return {a["AlarmName"].removeprefix(prefix): a for a in assembly.properties("AWS::CloudWatch::Alarm", "watch")}


def dimensions(alarm: dict[str, Any]) -> dict[str, str]:
    return {one["Name"]: resolve(one["Value"]) for one in alarm["Dimensions"]}


def values(lines: Lines, alarm: dict[str, Any]) -> list[float]:
    """The values of the alarm's metric in printed lines, found by its namespace, its name and its dimensions."""
    found: list[float] = []
    for line in lines:
        for described in line["_aws"]["CloudWatchMetrics"]:
            named = alarm["MetricName"] in [metric["Name"] for metric in described["Metrics"]]
            same = any({name: line[name] for name in names} == dimensions(alarm) for names in described["Dimensions"])
            if named and same and described["Namespace"] == alarm["Namespace"]:
                found += line[alarm["MetricName"]]
    return found


def statistic(found: list[float], name: str) -> float:
    return {"Sum": sum(found), "SampleCount": len(found), "Average": sum(found) / len(found), "p99": max(found)}[name]


def fires(alarm: dict[str, Any], found: list[float]) -> bool:
    value = statistic(found, alarm.get("Statistic") or alarm["ExtendedStatistic"])
    if alarm["ComparisonOperator"] == "LessThanThreshold":
        return bool(value < alarm["Threshold"])
    assert alarm["ComparisonOperator"] == "GreaterThanThreshold"
    return bool(value > alarm["Threshold"])


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Callable[[], Lines]:
    def lines() -> Lines:
        read = map(json.loads, (line for line in capsys.readouterr().out.splitlines() if line.startswith("{")))
        return [line for line in read if "_aws" in line]

    return lines


def stage_settings(cloud: Cloud) -> dict[str, Any]:
    return {**cloud.store_settings, "stage": "prod"}


@pytest.fixture
def worker(cloud: Cloud, load: Load) -> ModuleType:
    # moto shows an item while it is written, so the threads of a batch must not announce their shards.
    announce(ShardStore(cloud.stored), 2, SystemClock().now())
    return load("worker", WorkerSettings(**stage_settings(cloud), blob_bucket=BUCKET, allow_list={}))


@pytest.fixture
def dispatcher(cloud: Cloud, load: Load) -> ModuleType:
    return load("dispatcher", DispatcherSettings(**stage_settings(cloud)))


@pytest.fixture
def ticking(dispatcher: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """The dispatcher's handler on SQLite, since moto cannot read the statements of a tick that moves runs."""
    with a_world(TWO_SHARDS) as world:
        monkeypatch.setattr(dispatcher, "_engine", counted(world.engine, dispatcher._metrics))
        monkeypatch.setattr(dispatcher, "_progress", world.progress)
        yield world


@pytest.fixture
def store(cloud: Cloud) -> DynamoRunStore:
    return DynamoRunStore(cloud.client("dynamodb"), TABLE, SystemClock())


def execute(worker: ModuleType, *runs: Record) -> None:
    messages = [RunMessage(run.run_id, run.generation, run.due_at, run.tenant, run.priority, run.pool) for run in runs]
    records = [
        {
            "messageId": message.run_id,
            "receiptHandle": "r",
            "body": message_body(message),
            "attributes": {"ApproximateReceiveCount": "1"},
        }
        for message in messages
    ]
    worker.handle({"Records": records}, Context())


def tick(dispatcher: ModuleType, planned_at: int | None = None) -> None:
    planned = SystemClock().now() if planned_at is None else planned_at
    body = json.dumps({"group": 0, "shards": [0, 1], "planned_at": planned})
    record = {"messageId": "m1", "body": body, "attributes": {"ApproximateReceiveCount": "1"}}
    dispatcher.handle({"Records": [record]}, Context())


def late_run(store: DynamoRunStore, seconds: int = 60) -> Record:
    """A run that was sent, is late, and fails at once: workers on Lambda do not call their own machine."""
    run = a_run(SystemClock(), TWO_SHARDS).due_in(-seconds).with_retries(0).dispatched()
    definition = replace(run.build().definition, target=HttpTarget("http://127.0.0.1:9/"))  # type: ignore[type-var]
    return run.having(definition=definition).stored_in(store)


@pytest.mark.slow
def test_each_alarm_on_a_metric_of_ours_is_shown_to_fire_below(prod: Assembly) -> None:
    ours = {name for name, alarm in alarms(prod).items() if alarm["Namespace"] == "onthedot"}
    shown = set(re.findall(r'alarms\(prod\)\["([a-z-]+)"\]', Path(__file__).read_text()))
    assert ours == shown


def test_ticks_are_counted_also_when_they_send_nothing(
    prod: Assembly, dispatcher: ModuleType, printed: Callable[[], Lines]
) -> None:
    tick(dispatcher)
    found = values(printed(), alarms(prod)["ticks"])
    assert found == [0]
    assert fires(alarms(prod)["ticks"], found), "one tick is fewer than the groups of this stage"
    assert not fires(alarms(prod)["ticks"], found * prod.config.shard_groups)
    assert alarms(prod)["ticks"]["TreatMissingData"] == "breaching"


def test_a_run_that_starts_late_and_fails(
    prod: Assembly, worker: ModuleType, store: DynamoRunStore, printed: Callable[[], Lines]
) -> None:
    runs = [late_run(store) for _ in range(3)]
    execute(worker, *runs)
    lines = printed()
    assert len(lines) == 1, "one line for the whole batch"
    assert all(value >= 60_000 for value in values(lines, alarms(prod)["lateness"]))
    assert fires(alarms(prod)["lateness"], values(lines, alarms(prod)["lateness"]))
    assert values(lines, alarms(prod)["error-rate"]) == [0, 0, 0]
    assert fires(alarms(prod)["error-rate"], [0, 0, 0])
    assert not fires(alarms(prod)["error-rate"], [0, 1])
    assert values(lines, alarms(prod)["dead-runs"]) == [3]
    assert fires(alarms(prod)["dead-runs"], [3])
    assert (lines[0]["failed"], "retried" in lines[0], len(lines[0]["lateness_ms"])) == ([3], False, 3)


def test_runs_that_no_worker_starts(
    prod: Assembly, dispatcher: ModuleType, ticking: World, printed: Callable[[], Lines]
) -> None:
    slot = slot_name(SlotKind.WATCH, 1, bucket_of(ticking.clock.now()))
    a_run(ticking.clock, TWO_SHARDS).due_in(-1200).standing(Status.DISPATCHED, slot).stored_in(ticking.store)
    tick(dispatcher, ticking.clock.now())
    found = values(printed(), alarms(prod)["backlog"])
    assert found == [1]
    assert fires(alarms(prod)["backlog"], found)


def test_workers_that_died(
    prod: Assembly, worker: ModuleType, store: DynamoRunStore, printed: Callable[[], Lines]
) -> None:
    dead = {"attempt": 1, "attempt_token": "t", "worker": "w", "lease_until": 1, "started_at": 1}
    slot = slot_name(SlotKind.WATCH, 0, bucket_of(SystemClock().now()) + 3)
    runs = [
        a_run(SystemClock(), TWO_SHARDS).due_in(-60).having(**dead).standing(Status.RUNNING, slot).stored_in(store)
        for _ in range(3)
    ]
    execute(worker, *runs)
    lines = printed()
    assert values(lines, alarms(prod)["workers"]) == [3]
    assert fires(alarms(prod)["workers"], [3])
    assert (lines[0]["lost"], lines[0]["retried"], lines[0]["succeeded"]) == ([3], [3], [0, 0, 0])


def planner(cloud: Cloud, load: Load, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> ModuleType:
    base = cloud.store_settings["queue_base"]
    module = load(
        "planner",
        PlannerSettings(stage="prod", table=TABLE, shards=2, shards_per_group=2, queue_base=base, **settings),
    )
    monkeypatch.setattr(module, "is_time_to_check", lambda _: True)
    return module


def test_a_pool_with_fewer_workers_than_its_minimum(
    prod: Assembly, cloud: Cloud, load: Load, monkeypatch: pytest.MonkeyPatch, printed: Callable[[], Lines]
) -> None:
    now = SystemClock().now()
    live = WorkerRecord("w1", None, "pull", frozenset(), Resources(), now, now)
    registry = WorkerRegistry(cloud.stored)
    registry.register(live)
    registry.register(replace(live, worker_id="w2", heartbeat_at=now - 60_000))
    planner(cloud, load, monkeypatch, least_workers={"pull": 2}).handle({}, Context())
    found = values(printed(), alarms(prod)["workers"])
    assert found == [1], "one of two is lost"
    assert fires(alarms(prod)["workers"], found * 3)
    assert not fires(alarms(prod)["workers"], found * 2)


def test_an_alarm_stays_on_although_the_count_of_the_newest_check_is_late(prod: Assembly) -> None:
    checks = {"workers": 3, "undeliverable": 1, "unsettled": 1}
    for name, least in checks.items():
        assert alarms(prod)[name]["Period"] >= (least + 1) * CHECK_EVERY * 60, name


def test_fire_times_without_an_outcome(prod: Assembly, cloud: Cloud, load: Load, printed: Callable[[], Lines]) -> None:
    a_job_with_history(cloud, without=3)
    load("auditor", AuditorSettings(**stage_settings(cloud))).handle({}, Context())
    found = values(printed(), alarms(prod)["unsettled"])
    assert found == [1]
    assert fires(alarms(prod)["unsettled"], found)


def test_a_message_that_the_worker_cannot_read(
    prod: Assembly, worker: ModuleType, printed: Callable[[], Lines]
) -> None:
    bad = {"messageId": "m", "receiptHandle": "r", "body": "{}", "attributes": {"ApproximateReceiveCount": "1"}}
    worker.handle({"Records": [bad]}, Context())
    assert values(printed(), alarms(prod)["unsettled"]) == [1]


def test_messages_in_any_dead_letter_queue(
    prod: Assembly, cloud: Cloud, load: Load, monkeypatch: pytest.MonkeyPatch, printed: Callable[[], Lines]
) -> None:
    from components.dead_letters import dead_letter_keys

    sqs = cloud.client("sqs")
    keys = dead_letter_keys(prod.config)
    for key in keys[1:]:  # the first queue is gone, and does not hide the others
        name = cloud.queue_base.rsplit("/", 1)[1] + key
        sqs.send_message(QueueUrl=sqs.create_queue(QueueName=name)["QueueUrl"], MessageBody="{}")
    module = planner(cloud, load, monkeypatch, dead_letters=keys)
    assert module.handle({}, Context()) == {"ticks": 1}
    found = values(printed(), alarms(prod)["undeliverable"])
    assert found == [len(keys) - 1]
    assert fires(alarms(prod)["undeliverable"], found)


def test_the_planner_counts_every_dead_letter_queue_of_the_stage(prod: Assembly, fargate: Assembly) -> None:
    from components.dead_letters import dead_letter_keys

    for assembly in (prod, fargate):
        names = [str(queue["QueueName"]) for queue in assembly.properties("AWS::SQS::Queue")]
        dead = sorted(name for name in names if name.endswith("-dlq"))
        assert sorted(assembly.config.name(key) for key in dead_letter_keys(assembly.config)) == dead
        assert json.loads(assembly.variables("planner")["ONTHEDOT_DEAD_LETTERS"]) == dead_letter_keys(assembly.config)


@pytest.mark.parametrize("lasting", [True, False])
def test_slots_that_cannot_be_read(
    prod: Assembly,
    dispatcher: ModuleType,
    printed: Callable[[], Lines],
    monkeypatch: pytest.MonkeyPatch,
    lasting: bool,
) -> None:
    failures = iter([Unavailable("the index")] * (10_000 if lasting else 1))
    read = dispatcher._stored.store.read_slot

    def read_slot(self: object, slot: str, cursor: str | None = None, limit: int | None = None) -> Any:
        if (error := next(failures, None)) is not None:
            raise error
        return read(slot, cursor, limit)

    monkeypatch.setattr("onthedot.engines.store_around.CountingStore.read_slot", read_slot)
    tick(dispatcher)
    assert fires(alarms(prod)["faults"], values(printed(), alarms(prod)["faults"])) is lasting


def test_ticks_that_are_later_than_the_lookahead(
    prod: Assembly, dispatcher: ModuleType, ticking: World, printed: Callable[[], Lines]
) -> None:
    for late_s in (181, 181, 181, 179):
        tick(dispatcher, ticking.clock.now() - late_s * 1000)
    assert values(printed(), alarms(prod)["faults"]) == [1, 1, 1]


def test_calls_that_aws_throttles(
    prod: Assembly,
    worker: ModuleType,
    store: DynamoRunStore,
    printed: Callable[[], Lines],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = [late_run(store) for _ in range(10)]
    refused = {"Error": {"Code": "ThrottlingException"}, "ResponseMetadata": {"HTTPStatusCode": 400}}
    monkeypatch.setattr(Endpoint, "make_request", lambda *_: (SimpleNamespace(status_code=400), refused))
    execute(worker, *runs)
    found = values(printed(), alarms(prod)["throttled"])
    assert fires(alarms(prod)["throttled"], found)


def metrics_of(widgets: list[dict[str, Any]]) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Namespace, name and dimensions of each metric of a dashboard."""
    for widget in widgets:
        for metric in widget["properties"].get("metrics", ()):
            namespace, name, *pairs = [part for part in metric if isinstance(part, str)]
            yield namespace, name, dict(zip(pairs[::2], pairs[1::2], strict=True))


def dashboard(assembly: Assembly) -> dict[str, Any]:
    [made] = assembly.properties("AWS::CloudWatch::Dashboard")
    assert made["DashboardName"] == f"onthedot-{assembly.config.stage}"
    body: dict[str, Any] = json.loads(resolve(made["DashboardBody"]))
    return body


def test_metrics_of_aws_are_of_resources_of_the_stage_and_a_dashboard_is_free_of_charge(prod: Assembly) -> None:
    shown = list(metrics_of(dashboard(prod)["widgets"]))
    assert len(shown) <= 50, "beyond 50 metrics it costs money"
    watched = [(a["Namespace"], a["MetricName"], dimensions(a)) for a in alarms(prod).values()]
    functions = {function["FunctionName"] for function in prod.properties("AWS::Lambda::Function")}
    queues = {queue["QueueName"] for queue in prod.properties("AWS::SQS::Queue")}
    stages = {(resolve(s["StageName"])) for s in prod.properties("AWS::ApiGateway::Stage")}
    apis = {api["Name"] for api in prod.properties("AWS::ApiGateway::RestApi")}
    known = {"FunctionName": functions, "QueueName": queues, "Stage": stages, "ApiName": apis}
    for _, _, where in [one for one in [*watched, *shown] if one[0] != "onthedot"]:
        assert all(value in known[name] for name, value in where.items()), where


def test_every_alarm_sends_to_the_topic_and_has_its_section(prod: Assembly, fargate: Assembly) -> None:
    section = (ROOT / "docs" / "operations.md").read_text().split("## Alarms\n")[1].split("\n## ")[0]
    for assembly in (prod, fargate):
        [(topic, made)] = assembly.of_type("AWS::SNS::Topic", "watch").items()
        assert made["Properties"]["TopicName"] == "onthedot-prod-alarms"
        assert set(re.findall(r"^### (.+)$", section, re.MULTILINE)) == set(alarms(assembly))
        for name, alarm in alarms(assembly).items():
            assert alarm["AlarmActions"] == alarm["OKActions"] == [{"Ref": topic}]
            assert alarm["AlarmDescription"].endswith(f". docs/operations.md#{name}")
        # An alarm that scales tasks has an action of its own.
        every = assembly.properties("AWS::CloudWatch::Alarm")
        assert [a["AlarmName"] for a in every if not a.get("AlarmActions")] == []


def test_alarms_of_this_account_may_publish_to_the_topic_although_it_has_a_policy(prod: Assembly) -> None:
    [policy] = prod.properties("AWS::SNS::TopicPolicy")
    allowed = [s for s in policy["PolicyDocument"]["Statement"] if s["Effect"] == "Allow"]
    [statement] = allowed
    assert statement["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert statement["Action"] == "sns:Publish"
    assert statement["Condition"] == {"StringEquals": {"aws:SourceAccount": "123456789012"}}


def test_an_address_is_subscribed_and_a_given_topic_takes_the_place_of_ours(
    prod: Assembly, fargate: Assembly, other: Assembly
) -> None:
    [subscribed] = fargate.properties("AWS::SNS::Subscription")
    assert (subscribed["Protocol"], subscribed["Endpoint"]) == ("email", "ops@example.com")
    assert other.properties("AWS::SNS::Topic") == []
    assert {tuple(alarm["AlarmActions"]) for alarm in alarms(other).values()} == {(PAGER,)}
    assert other.variables("worker")["ONTHEDOT_DETAILED_METRICS"] == "true"
    silence = [alarms(assembly)["lateness"]["TreatMissingData"] for assembly in (prod, other)]
    assert silence == ["breaching", "notBreaching"], "without a canary it is normal that no run starts"


def test_all_or_nothing_is_traced(prod: Assembly, other: Assembly) -> None:
    assert {f["TracingConfig"]["Mode"] for f in other.properties("AWS::Lambda::Function")} == {"Active"}
    assert [s["TracingEnabled"] for s in other.properties("AWS::ApiGateway::Stage")] == [True]
    assert all("TracingConfig" not in f for f in prod.properties("AWS::Lambda::Function"))
    assert not any(s.get("TracingEnabled") for s in prod.properties("AWS::ApiGateway::Stage"))

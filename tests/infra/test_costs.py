"""What an idle stage costs: counted from the templates and on the real code, and the page that shows it."""

import json
from collections import Counter
from typing import Any

import boto3
import pytest

import costs
from benchmarks.stubbed_aws import StubbedAws
from onthedot.core import lifecycle
from onthedot.core.clock import VirtualClock
from onthedot.core.pass_progress import ProgressStore, ShardProgress, progress_text
from onthedot.core.ports import Deadline, Tick
from onthedot.core.records import Status
from onthedot.core.schema import progress_key
from onthedot.core.set_aside import is_time_to_look
from onthedot.core.slots import DEEP_REREAD, Deployment, bucket_of
from onthedot.core.tick import CLAIMED_AHEAD, dispatch_due
from onthedot.engines.aws.dynamodb.items import DynamoItems
from onthedot.engines.aws.dynamodb.keys import stored_key
from onthedot.engines.store_around import counted
from onthedot.jobs.audit import audit_due_jobs
from onthedot.metrics import observe_tick
from onthedot.observability import Metrics
from onthedot.wiring.aws_engine import aws_engine
from tests.builders import a_run, a_world, the_start_of
from tests.infra.kit import ROOT, Assembly, synthesize

SHARDS = (0, 1, 2, 3)


@pytest.fixture(scope="session")
def shape() -> costs.Shape:
    """A stage with all defaults, as `make costs` synthesizes it."""
    import cost_page

    return cost_page.default_shape()


def shape_of(assembly: Assembly) -> costs.Shape:
    templates = [assembly.template(stack) for stack in assembly.stacks]
    return costs.shape_of(templates, assembly.config.shards, assembly.config.shard_groups)


class Counted:
    """A dispatcher's engine on stubbed AWS, whose calls are counted in DynamoDB's units."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.reads, self.writes = 0.0, 0
        self.clock = VirtualClock()
        self._stub = StubbedAws()
        keys = {"aws_access_key_id": "x", "aws_secret_access_key": "y", "region_name": "us-east-1"}
        dynamodb, sqs = (self._stub.serve(boto3.client(name, **keys)) for name in ("dynamodb", "sqs"))  # type: ignore[call-overload]
        dynamodb.meta.events.register("provide-client-params", self._count)
        deployment = Deployment(shards=len(SHARDS), lookahead=3, history_days=30)
        self.engine = aws_engine(dynamodb, sqs, "t", {}, clock=self.clock, deployment=deployment)
        self.progress = ProgressStore(DynamoItems(dynamodb, "t", self.clock))

    def stand(self, deep: int = 0) -> None:
        """Store the progress that the tick of the minute before leaves. `deep` minutes are to be read again."""
        last = bucket_of(self.clock.now()) - 1
        progress = ShardProgress(fire=last, watch=last, deep=last - deep, deep_until=last, early=last + CLAIMED_AHEAD)
        for shard in SHARDS:
            self._stub.put({**stored_key(progress_key(shard)), "done": {"S": progress_text(progress)}})

    def tick(self) -> Counter[str]:
        self.calls, self.reads, self.writes = Counter(), 0.0, 0
        now = self.clock.now()
        return dispatch_due(self.engine, self.progress, Tick(0, SHARDS, now, "t"), Deadline.after(now, 60_000))

    def _count(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        self.calls[model.name] += 1
        unit = 1.0 if params.get("ConsistentRead") else 0.5
        if model.name == "BatchGetItem":
            [wanted] = params["RequestItems"].values()
            self.reads += len(wanted["Keys"]) * (1.0 if wanted.get("ConsistentRead") else 0.5)
        elif model.name in {"Query", "GetItem"}:
            self.reads += unit
        elif model.name == "BatchExecuteStatement":
            self.writes += len(params["Statements"])
        else:
            assert model.name == "UpdateItem"
            self.writes += 1


def test_an_idle_tick_makes_the_calls_that_the_bill_counts() -> None:
    counted_, tick = Counted(), costs.TICK
    while any(is_time_to_look(shard, bucket_of(counted_.clock.now())) for shard in SHARDS):
        counted_.clock.advance(60)
    counted_.stand()
    counted_.tick()
    plain = len(SHARDS) * tick.slots_of_a_shard + tick.other_queries
    assert counted_.calls["Query"] == plain
    assert counted_.reads == plain / 2 + len(SHARDS) - 1 + 1
    assert counted_.writes == tick.writes(len(SHARDS))
    assert sum(counted_.calls.values()) == plain + tick.other_calls


def test_each_shard_looks_at_its_aside_slot_every_five_minutes() -> None:
    looks = [is_time_to_look(shard, bucket) for shard in SHARDS for bucket in range(60)]
    assert sum(looks) == len(looks) / costs.TICK.aside_every


def test_the_day_before_is_read_twice_at_two_queries_a_minute() -> None:
    counted_ = Counted()
    counted_.stand()
    counted_.tick()
    plain = counted_.calls["Query"]
    counted_ = Counted()
    counted_.stand(deep=10)
    counted_.tick()
    assert counted_.calls["Query"] - plain == 10 * costs.TICK.deep_of_a_shard * len(SHARDS)
    assert DEEP_REREAD == 24 * 60


def test_an_audit_reads_the_slots_that_the_bill_counts() -> None:
    counted_ = Counted()
    audit_due_jobs(counted_.engine, range(len(SHARDS)), Deadline.after(counted_.clock.now(), 60_000))
    assert counted_.calls["Query"] == costs.AUDITED_SLOTS * len(SHARDS)


def test_a_tick_and_a_run_that_succeeds_write_the_metrics_that_the_bill_counts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    metrics = Metrics("prod")
    with a_world() as world:
        engine = counted(world.engine, metrics)
        run = a_run(world.clock).dispatched().stored_in(world.store)
        started = engine.store.move(the_start_of(run, world.clock.now())).run  # type: ignore[union-attr]
        assert started is not None
        assert started.status is Status.RUNNING
        engine.store.move(lifecycle.succeed(started, world.clock.now(), None, world.deployment))
    observe_tick(metrics, Counter(stamped=1, sent=1, advanced=1), age_ms=2_000, lookahead=3)
    metrics.flush()
    [line] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    [described] = line["_aws"]["CloudWatchMetrics"]
    assert tuple(metric["Name"] for metric in described["Metrics"]) == costs.IDLE_METRICS
    assert described["Dimensions"] == [["stage"]]


def test_an_idle_stage_costs_no_more_than_its_bounds(shape: costs.Shape) -> None:
    bill = costs.idle(shape)
    assert bill.total(allowances=True) <= costs.MOST_WITH_ALLOWANCES == 3
    assert bill.total(allowances=False) <= costs.MOST_WITHOUT == 8


@pytest.mark.slow
def test_a_stage_with_more_shards_has_the_shape_that_the_page_computes(
    shape: costs.Shape, tmp_path_factory: pytest.TempPathFactory
) -> None:
    found = shape_of(synthesize(tmp_path_factory.mktemp("larger"), stage="prod", shards=16))
    assert costs.with_shards(shape, 16) == found
    assert costs.with_shards(shape, shape.shards) == shape
    # The bounds do not hold for this number, and the page says so.
    assert costs.idle(found).total(allowances=True) > costs.MOST_WITH_ALLOWANCES


@pytest.mark.slow
def test_a_stage_with_a_fargate_pool_has_the_shape_that_the_page_computes(
    shape: costs.Shape, tmp_path_factory: pytest.TempPathFactory
) -> None:
    task = {"cpu": 1024, "memory_mb": 2048, "max_tasks": 5}
    pool = {"name": "batch", "capabilities": ["http"], "cpu": 1, "memory_mb": 1900, "fargate": task}
    where = {"stage": "prod", "region": "eu-west-1", "account": "123456789012"}
    found = shape_of(synthesize(tmp_path_factory.mktemp("pool"), **where, pools=json.dumps([pool])))
    assert costs.with_fargate_pool(shape) == found


def test_allowances_are_subtracted_once_for_all_uses() -> None:
    bill = costs.Bill()
    bill.add("sqs", 0.8e6, "polls")
    bill.add("sqs", 0.7e6, "messages")
    assert bill.usd("sqs", allowances=True) == pytest.approx(0.5 * 0.40)
    assert bill.usd("sqs", allowances=False) == pytest.approx(1.5 * 0.40)


def test_the_page_shows_these_figures(shape: costs.Shape) -> None:
    import cost_page

    assert (ROOT / "docs" / "costs.md").read_text() == cost_page.page(shape), "run `make costs`"


@pytest.mark.parametrize("load", costs.LOADS, ids=lambda load: load.name)
def test_a_million_runs_cost_what_their_units_cost_at_least(shape: costs.Shape, load: costs.Load) -> None:
    bill = costs.per_million(load, shape.memory_mb)
    # Beside the writes of the run itself, the ends of a batch share a write of the statistics.
    assert bill.amounts["write"] == pytest.approx((load.run.writes + 1 / load.together) * 1e6)
    assert sum(bill.by_service().values()) == pytest.approx(bill.total(allowances=False))
    assert (("api" in bill.amounts), bill.amounts["sqs"]) == (load.submitted, 3e6 / load.together)

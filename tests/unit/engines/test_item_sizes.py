"""The largest item of each kind that the API lets anybody make: far below DynamoDB's 400 KB.

An item that reached them could not be written any more: not ended, not rescheduled, not deleted.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import pytest

from localstack.write_units import computed_units
from onthedot.access.ports import Principal
from onthedot.access.signing_store import SigningStore
from onthedot.access.token_store import TokenStore
from onthedot.access.tokens import LONGEST_NAME, create_token
from onthedot.api.fields import MAX_TEXT
from onthedot.core import schema, shards
from onthedot.core.choices import MAX_JOBS, Priority
from onthedot.core.gate_names import MOST_KEY_CHARACTERS, GateId, keys_slot
from onthedot.core.ids import event_run_id, fresh_generation, fresh_job_id, stamped_run_id
from onthedot.core.lifecycle import KEPT_ATTEMPTS
from onthedot.core.moves import Expect, Move
from onthedot.core.pass_progress import ShardProgress, progress_text
from onthedot.core.ports import Clock, Moved
from onthedot.core.records import Record
from onthedot.core.shards import ShardHistory
from onthedot.engines.aws.dynamodb.items import DynamoItems
from onthedot.engines.aws.dynamodb.records import to_item
from onthedot.events import patterns
from onthedot.events.pattern_store import PatternStore
from onthedot.events.ports import PatternEntry
from onthedot.gates.limit_store import LimitsStore
from onthedot.gates.limits import GateLimits, TenantLimits
from onthedot.gates.state import CHANGEABLE, PAGE, GateChange, Holder
from onthedot.gates.state_store import GateStore
from onthedot.jobs.spec import MAX_DEPENDENCIES, MAX_DESCRIPTION, MAX_REQUIRED, MAX_TAGS
from onthedot.statistics.counters import BOUNDS_MS, OUTCOMES, STORED, EndedRun, PlacedEnd
from onthedot.statistics.store import StatisticsWriter
from onthedot.targets.fields import MAX_ARGV_BYTES, MAX_CAPABILITY, MAX_INPUT_BYTES
from onthedot.transfer import stage_state
from onthedot.transfer.stage_state import LONGEST_FREEZE_ID, StageMode, StageState
from onthedot.workers.api import MAX_CAPABILITIES, MAX_RUNNING
from onthedot.workers.records import MOST_ASSIGNED, MOST_RECENT
from onthedot.workers.registry import WorkerRegistry
from onthedot.workflows.dependencies import MOST_CHILDREN
from tests.builders import VirtualClock, World, a_world
from tests.unit.api.kit import Api, PullWorker, a_worker

FAR_BELOW: int = 220 * 1024
"""Bytes. An item may have 400 KB."""
DEAR = "\x01"
"""A character that needs the most bytes in JSON: six."""
WIDE = "\U0001f389"
"""A character that can be printed and needs the most bytes in UTF-8: four."""
TENANT = WIDE * LONGEST_NAME
FAR_AHEAD = 2_500_000_000_000
"""A time in milliseconds, in the year 2049."""


@pytest.fixture
def world() -> Iterator[World]:
    with a_world() as world:
        yield world


@pytest.fixture
def api(world: World) -> Api:
    return Api(world, Principal(TENANT, "admin", "a test"))


@dataclass
class Table:
    """A client that keeps the items which it is told to write."""

    items: list[Mapping[str, Any]] = field(default_factory=list)

    def put_item(self, **request: Any) -> None:
        self.items.append(request["Item"])

    def update_item(self, **request: Any) -> dict[str, Any]:
        """Apply sets of attributes and additions to sets and numbers, the only updates that are made here."""
        names, values = request["ExpressionAttributeNames"], request["ExpressionAttributeValues"]
        item: dict[str, Any] = next(
            (dict(i) for i in self.items if request["Key"].items() <= i.items()), request["Key"]
        )
        for name, value in re.findall(r"(#\w+) = (:\w+)", request["UpdateExpression"]):
            item[names[name]] = values[value]
        for name, value in re.findall(r"(#\w+) (:\w+)", request["UpdateExpression"]):
            ((kind, added),) = values[value].items()
            present = item.get(names[name], {kind: [] if kind == "SS" else "0"})[kind]
            item[names[name]] = {kind: [*present, *added] if kind == "SS" else str(int(present) + int(added))}
        self.items = [item]
        return {"Attributes": item}

    def batch_write_item(self, **request: Any) -> dict[str, Any]:
        for writes in request["RequestItems"].values():
            self.items += [write["PutRequest"]["Item"] for write in writes]
        return {}

    def on_items(self, clock: Clock) -> DynamoItems:
        client: Any = self
        return DynamoItems(client, "t", clock)

    @property
    def largest(self) -> int:
        return max(map(size_of, self.items))


def size_of(item: Mapping[str, Any]) -> int:
    """The bytes of an item as DynamoDB counts them, or a few more."""
    return sum(len(name.encode()) + _size(attribute) for name, attribute in item.items())


def _size(attribute: Mapping[str, Any]) -> int:
    ((kind, value),) = attribute.items()
    return sum(len(text.encode()) + 3 for text in value) + 3 if kind == "SS" else len(value.encode())


def work_fields(target: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a job, each as large as the API takes it."""
    return {
        "name": DEAR * MAX_TEXT,
        "description": DEAR * MAX_DESCRIPTION,
        "tags": {f"{n:02}" + DEAR * (MAX_TEXT - 2): DEAR * MAX_TEXT for n in range(MAX_TAGS)},
        "target": target,
        "payload": "x" * 1_022,
        "retry": {"max_retries": 100, "backoff_seconds": 0, "max_backoff_seconds": 86_399.999, "jitter": False},
        "requirements": {
            "capabilities": capabilities(MAX_REQUIRED),
            "cpu": 0.1234567890123456,
            "memory_mb": 1,
        },
    }


def capabilities(number: int) -> list[str]:
    return [f"{n:03}" + WIDE * (MAX_CAPABILITY - 3) for n in range(number)]


ARGV = {"type": "shell", "argv": [DEAR * ((MAX_ARGV_BYTES - 4) // 6)]}
HEADERS = {"type": "http", "url": f"https://a/{'x' * 2_038}", "headers": {"a": "ÿ" * (8 * 1024 - 5)}}


def a_large_worker(api: Api) -> PullWorker:
    return a_worker(api, *capabilities(MAX_REQUIRED), resources={"concurrency": 1, "cpu": 10, "memory_mb": 10_000})


def stored(world: World, job_id: str) -> Record:
    run = world.store.get(job_id)
    assert run is not None
    return run


def add_children(world: World, run: Record, number: int) -> None:
    ids = frozenset(f"job_{n:026}" for n in range(number))
    expect = Expect(frozenset({run.status}))
    move = Move(run.run_id, expect, run.status, {}, increments={"dependents": number}, adds={"children": ids})
    assert isinstance(world.store.move(move), Moved)


def fail_often(worker: PullWorker, times: int) -> None:
    """Fail the one run that there is, each time with the longest error that a worker may report."""
    for _ in range(times):
        worker.beat()
        run = worker.take()
        said = worker.complete(run, "FAILED", error=DEAR * 10_000, error_class=DEAR * MAX_TEXT)
        assert said.status == 200, said.body


@pytest.mark.parametrize("target", [ARGV, HEADERS])
def test_a_job_with_the_most_parents_children_and_attempts(api: Api, world: World, target: Mapping[str, Any]) -> None:
    worker = a_large_worker(api)
    parents = [api.job(delay=60) for _ in range(MAX_DEPENDENCIES)]
    child = api.job(**work_fields(target), dependencies=parents, on_parent_failure="skip")
    waiting = stored(world, child)
    alone = api.job(**work_fields(target))
    add_children(world, stored(world, alone), MOST_CHILDREN)
    fail_often(worker, KEPT_ATTEMPTS + 2)
    run = stored(world, alone)
    assert len(run.attempts) == KEPT_ATTEMPTS
    both = replace(run, parents=waiting.parents, waits_for=waiting.waits_for, on_parent_failure="skip")
    assert 100 * 1024 < size_of(to_item(both)) < FAR_BELOW


def test_a_job_of_a_workflow(api: Api, world: World) -> None:
    """Half of the jobs of a graph are parents of one job, the others wait for it."""
    a_large_worker(api)
    half = MAX_JOBS // 2
    parents = [{"key": f"p{n}", "callback_url": "https://a/"} for n in range(half - 1)]
    middle = {**work_fields(ARGV), "key": "m" * 64, "depends_on": [parent["key"] for parent in parents]}
    children = [{"key": f"c{n}", "callback_url": "https://a/", "depends_on": ["m" * 64]} for n in range(half)]
    response = api.send("POST", "/v1/workflows", jobs=[*parents, middle, *children])
    assert response.status == 202, response.body
    workflow = stored(world, response.body["workflow_id"])
    assert size_of(to_item(workflow)) < 10 * 1024, "the graph is a blob"
    alone = stored(world, api.job(**work_fields(ARGV)))
    ids = frozenset(f"job_{n:026}" for n in range(MAX_JOBS - 1))
    member = replace(alone, parents=tuple(ids), waits_for=ids, children=ids, key="m" * 64, workflow=workflow.run_id)
    assert size_of(to_item(member)) < FAR_BELOW


def test_an_event_job_and_its_entries(api: Api, world: World) -> None:
    a_large_worker(api)
    names = [f"{n}{DEAR}" for n in range(5)]
    pattern: dict[str, Any] = {"source": names, "detail-type": names, "detail": {"x": [""]}}
    room = patterns.LARGEST - len(json.dumps(pattern, separators=(",", ":")))
    pattern["detail"]["x"] = ["x" * room]
    job = stored(world, api.job(**work_fields(ARGV), on_event=pattern))
    assert job.pattern is not None
    assert len(job.pattern) == patterns.LARGEST
    assert size_of(to_item(job)) < FAR_BELOW
    assert api.submit(on_event={**pattern, "detail": {"x": ["x" * (room + 1)]}}).status == 422
    table = Table()
    for tenant, keys_, entry in recorded_entries(world):
        PatternStore(table.on_items(world.clock)).put(tenant, keys_, entry)
    assert table.items
    assert table.largest < 8 * 1024


def recorded_entries(world: World) -> Iterator[tuple[str, list[str], PatternEntry]]:
    with world.database.transaction() as connection:
        rows = connection.execute("SELECT * FROM items WHERE partition LIKE 'pattern#%'").fetchall()
    for row in rows:
        job_id, _, name = row["sort"].partition("#")
        values = json.loads(row["content"])
        key = row["partition"].removeprefix(schema.pattern_partition(TENANT, ""))
        yield TENANT, [key], PatternEntry(job_id, name, values["pattern"], values["put_at"])


def test_a_worker_with_the_most_of_everything(api: Api, world: World) -> None:
    offered = {
        "capabilities": capabilities(MAX_CAPABILITIES),
        "resources": {"concurrency": 1_000, "cpu": 9_999.123456789, "memory_mb": 99_999_999},
        "worker_id": "w" * 80,
        "host": WIDE * MAX_TEXT,
    }
    response = api.call("POST", "/v1/workers/register", json.dumps(offered, ensure_ascii=False).encode())
    assert response.status == 201, response.body
    worker = PullWorker(api, "w" * 80)
    ended = [f"{os.urandom(62).hex()}{n:04}" for n in range(MAX_RUNNING)]
    assert worker.beat(running=[f"{n:04}" + "r" * 124 for n in range(MAX_RUNNING)], ended=ended).status == 200
    longest = event_run_id("job_" + "x" * 26, 10**15 - 1, "e")
    answers = [world.registry.assign(worker.worker_id, f"{n:03}{longest}") for n in range(MOST_ASSIGNED + 1)]
    assert answers == [True] * MOST_ASSIGNED + [False]
    record = world.registry.find(worker.worker_id)
    assert record is not None
    table = Table()
    WorkerRegistry(table.on_items(world.clock)).register(record)
    assert 150 * 1024 < table.largest < FAR_BELOW


def test_a_heartbeat_with_a_hundred_runs_costs_at_most_four_units(world: World) -> None:
    worker = a_worker(Api(world), host="worker-1.example.com")
    stamped = [stamped_run_id(fresh_job_id(), FAR_AHEAD + n * 61_007) for n in range(MOST_RECENT)]
    worker.beat(running=[fresh_job_id() for _ in range(10)], ended=stamped)
    record = world.registry.find(worker.worker_id)
    assert record is not None
    assert record.load.recent == tuple(stamped)
    table = Table()
    WorkerRegistry(table.on_items(world.clock)).register(record)
    assert table.largest <= 4 * 1024


def test_the_limits_of_a_tenant_and_of_a_gate(world: World) -> None:
    table = Table()
    largest: Any = {"in_flight": 2**63, "per_second": 1.7976931348623157e308, "burst": 2**63, "paused": True}
    largest |= {"put_at": 10**13, "put_by": WIDE * LONGEST_NAME}
    assert {*largest} == {one.name for one in fields(GateLimits)}, "the limits have every value"
    LimitsStore(table.on_items(world.clock), world.clock).put(TENANT, TenantLimits(**largest, weight=1_000))
    limits = GateLimits(**largest)
    GateStore(table.on_items(world.clock), world.clock).put(TENANT, "n" * 64, limits)
    assert len(table.items) == 2
    assert table.largest < 2 * 1024


def test_a_page_of_holders_costs_one_unit(world: World) -> None:
    """Unless the names of tenant, gate and key are long: then a place costs two."""
    gate = GateId.of("acme-corporation", "customer:42")
    values = {"slot": keys_slot(gate), **dict.fromkeys(("due_at", "flagged_at"), FAR_AHEAD), "parts": 16}
    rates = {"next_start": 1_000 * FAR_AHEAD, "next_instant": 1_000 * FAR_AHEAD, "capacity": 1_000}
    assert {*values, *rates} == CHANGEABLE, "the state has every value"
    table = Table()
    store = GateStore(table.on_items(world.clock), world.clock)
    store.change(gate, GateChange(sets={**values, **rates}, priorities=frozenset(Priority)))
    for number in range(PAGE):
        run_id = event_run_id(fresh_job_id(), FAR_AHEAD - number, "e")
        holder = Holder(fresh_generation(), fresh_generation(), FAR_AHEAD, run_id)
        state = store.take(gate, 0, holder, room=PAGE, newcomer=False, capacity=None).state
    assert len(state.holders) == PAGE
    assert computed_units(table.items[0], table.items[0]) == 1


def test_the_largest_state_of_a_gate(world: World) -> None:
    """Eight holders of a key with the longest names."""
    gate = GateId(TENANT, "n" * 64, WIDE * MOST_KEY_CHARACTERS)
    table = Table()
    store = GateStore(table.on_items(world.clock), world.clock)
    store.change(gate, GateChange(sets={"slot": keys_slot(gate), "due_at": 1}))
    for number in range(PAGE):
        holder = Holder("t" * 12, "g" * 12, number, event_run_id(fresh_job_id(), 1, "e"))
        store.take(gate, 0, holder, room=PAGE, newcomer=False, capacity=None)
    assert len(table.items[0]["pk"]["S"].encode()) < 2_048, "DynamoDB takes no longer key"
    assert table.largest < 8 * 1024


def test_the_signing_keys_of_a_tenant_that_rotates_for_ever(api: Api, world: World) -> None:
    for _ in range(50):
        response = api.send("POST", "/v1/signing-keys/rotate", overlap_seconds=30 * 86_400)
        assert response.status == 200, response.body
    table = Table()
    SigningStore(table.on_items(world.clock), world.clock).replace(TENANT, (), world.signing.keys(TENANT))
    assert table.largest < 2 * 1024


def test_a_token_the_memory_of_an_event_the_progress_the_numbers_of_shards_and_the_state_of_the_stage(
    world: World,
) -> None:
    table = Table()
    tokens = TokenStore(table.on_items(world.clock), world.clock)
    create_token(tokens, world.clock, Principal(TENANT, "operator", TENANT), FAR_AHEAD)
    PatternStore(table.on_items(world.clock)).first_time(TENANT, WIDE * MAX_TEXT, 10**15, 10**12)
    assert table.largest < 2 * 1024
    assert len(progress_text(ShardProgress(10**9, 10**9, 10**9, 10**9, 10**9))) < 1024
    history = ShardHistory()
    for number in range(1, 1_025):
        history = history.announced(number, 10**9)
    assert len(shards.to_text(history)) < 2 * 1024
    name = DEAR * LONGEST_FREEZE_ID
    assert len(stage_state.to_text(StageState(StageMode.FROZEN, name, FAR_AHEAD, FAR_AHEAD, name))) < 2 * 1024


def test_the_counters_of_a_minute_with_every_number_from_many_shards_of_the_stream() -> None:
    """A shard of the stream is one of the table's partitions, and a hundred of them take 100,000 writes a second."""
    table = Table()
    writer = StatisticsWriter(table.on_items(VirtualClock()))
    ends = [
        EndedRun(TENANT, FAR_AHEAD // 60_000, priority, outcome, 10**9, 10**9, 10**9, bound + 1)
        for priority in Priority
        for outcome in OUTCOMES
        for bound in (0, *BOUNDS_MS)
    ]
    for shard in range(100):
        writer.add(f"shardId-{shard:020}-0123abcd", [PlacedEnd(10**20 + n, end) for n, end in enumerate(ends)])
    stored = {name for name in table.items[0] if not name.startswith("at_")}
    assert len(stored) == len(Priority) * len((*STORED, "max_ms")) + len(("pk", "sk", "ttl"))
    assert table.largest < 12 * 1024


def test_this_file_knows_every_kind_of_item() -> None:
    """A new kind needs its largest item here."""
    known = {
        "run",
        "gate",
        "gate_limits",
        "token",
        "listed_token",
        "limits",
        "progress",
        "shards",
        "stage",
        "worker",
        "signing",
        "pattern",
        "event",
        "statistics",
    }
    assert {name for name in vars(schema) if name.endswith("_key")} == {f"{kind}_key" for kind in known}


def test_a_call_of_aws_may_have_an_input_of_the_same_size() -> None:
    assert MAX_INPUT_BYTES <= MAX_ARGV_BYTES, "else the largest job has such a target"

"""Record everything that is no run: tokens, limits, gates, patterns, workers, counters and so on, of both engines.

`python -m tests.recorded.registries NAME` writes `NAME.aws.json` and `NAME.sqlite.json` beside this file: the items of
the table or the file, and the facts that the version read from them. Later versions read the same facts.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass, replace
from enum import Enum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import boto3

from localstack.ministack_process import running_ministack
from localstack.table import table_arguments
from onthedot.access.ports import Principal, Token
from onthedot.core import shards
from onthedot.core.choices import Priority
from onthedot.core.clock import NOON, VirtualClock
from onthedot.core.codec import stored_name
from onthedot.core.gate_names import GateId, keys_slot, look_slot
from onthedot.core.ids import event_digest
from onthedot.core.records import Status
from onthedot.engines.aws.dynamodb.items import DynamoItems
from onthedot.engines.sqlite.database import Database
from onthedot.events.ports import PatternEntry
from onthedot.gates.limits import GateLimits, TenantLimits
from onthedot.gates.state import GateChange, Holder
from onthedot.statistics.counters import EndedRun, PlacedEnd
from onthedot.statistics.store import StatisticsWriter
from onthedot.targets.webhooks import SigningKey
from onthedot.transfer import stage_state
from onthedot.transfer.entries import to_json
from onthedot.transfer.stage_state import StageMode, StageState
from onthedot.workers.records import Load, Resources, WorkerRecord
from tests import builders
from tests.recorded.record import DEPLOYMENT, HERE, PATTERN, TENANT, Stage, aws_stage

ODD = "ac#me:1/ü"
"""A tenant whose name has the characters that separate the parts of keys."""
GATES = (
    GateId(TENANT, "stripe", None),
    GateId(TENANT, "rate", None),
    GateId(TENANT, "customer", "4:2"),
    GateId(ODD, "customer", None),
)


def fill(stage: Stage, clock: VirtualClock) -> None:
    """Store something of every kind, with the values that are seldom set."""
    engine, now = stage.engine, clock.now()
    _settings(stage, now)
    event = stage.job(on_event=PATTERN, payload={"total": "$.detail.total"})
    recurring = stage.job(every=60, gates=["rate"])
    for _ in range(8):
        clock.advance(60)
        stage.tick()
        for run in stage.runs_of(recurring):
            if run.status is Status.DISPATCHED and run.due_at <= clock.now():
                stage.execute(run.run_id)
    for payload in ("fine", "fail"):
        stage.execute(stage.job(payload=payload, retry={"max_retries": 0}, priority="HIGH"))
    assert stage.tell("event #1:ü")
    assert engine.patterns.remember(ODD, event_digest("moved"), now, now // 1000 + 1_000_000)
    engine.patterns.put(ODD, ["s:a#b", "any"], PatternEntry(event, "n1", '{"source":["a"]}', now))
    _gates(stage, clock.now())
    frozen = StageState(StageMode.FROZEN, "frz_1", now, now + 1_000)
    assert engine.stage.replace(StageState(), frozen)
    assert engine.stage.replace(frozen, StageState(since=now, released="frz_1"))


def _settings(stage: Stage, now: int) -> None:
    engine = stage.engine
    engine.limits.put(TENANT, TenantLimits(in_flight=50, per_second=100, burst=50, weight=2, put_at=now, put_by="a"))
    engine.limits.put(ODD, TenantLimits(paused=True))
    engine.gates.put(TENANT, "stripe", GateLimits(in_flight=1))
    engine.gates.put(TENANT, "rate", GateLimits(per_second=5))
    engine.gates.put(ODD, "customer", GateLimits(in_flight=3, per_second=0.5, put_at=now, put_by="bob"))
    engine.tokens.add("hash-1", Token("tok_1", Principal(TENANT, "admin", "ada ü"), now))
    engine.tokens.add("hash-2", Token("tok_2", Principal(ODD, "viewer", "bob"), now, now + 90_000_001))
    engine.tokens.add("hash-3", Token("tok_3", Principal(TENANT, "worker", "gone"), now, now + 1_000))
    engine.signing.replace(TENANT, (), (SigningKey("whsec_BBBB", now), SigningKey("whsec_AAAA", now - 5, now + 9)))
    worker = WorkerRecord("w1", TENANT, "pull", frozenset({"http", "shell"}), Resources(4, 1.5, 64), now, now, host="h")
    engine.registry.register(worker)
    engine.registry.register(replace(worker, worker_id="w ü", tenant=None, assigned=frozenset({"job_a", "job_b.1"})))
    load = Load(("job_x",), Resources(1, 0.5), stopping=True, recent=("job_y", "job_z"))
    assert engine.registry.beat("w1", now + 5, load) is not None
    assert engine.registry.assign("w1", "job_c")


def _gates(stage: Stage, now: int) -> None:
    gates = stage.engine.gates
    stripe, rate, key, odd = GATES
    for number in range(3):
        holder = Holder(f"t{number}", "g1", now, f"job_{number}")
        assert gates.take(stripe, number % 2, holder, room=8, newcomer=False, capacity=None).done
    flag: dict[str, Any] = {"slot": look_slot(stripe, now, 2), "due_at": now + 120_000, "flagged_at": now, "parts": 4}
    assert gates.change(stripe, GateChange(sets=flag, priorities=frozenset({Priority.HIGH, Priority.LOW}))).done
    gates.change(rate, GateChange(sets={"next_instant": 1_000 * now + 7}))
    assert gates.change(key, GateChange(sets={**flag, "slot": keys_slot(key), "next_start": 1_000 * now})).done
    last = Holder("t9", "g9", now, "job_9.000001763467200")
    assert gates.take(odd, 0, last, room=1, newcomer=True, capacity=None).done


def facts(stage: Stage) -> dict[str, Any]:
    """Return all that the stores tell about it, in one order."""
    engine = stage.engine
    found: dict[str, Any] = {
        "entries": sorted((to_json(entry) for entry in _entries(stage)), key=lambda line: (line["kind"], line["id"])),
        "tokens": list(engine.tokens.page(100).items),
        "found_tokens": [engine.tokens.find(f"hash-{number}") for number in range(1, 4)],
        "limits": engine.limits.read().tenants,
        "found_limits": [engine.limits.find(tenant) for tenant in (TENANT, ODD, "nobody")],
        "gates": [list(engine.gates.names(tenant, 100).items) for tenant in (TENANT, ODD)],
        "states": [engine.gates.read(gate) for gate in GATES],
        "pages": [list(engine.gates.pages(gate)) for gate in GATES],
        "workers": sorted(engine.registry.workers(), key=lambda worker: worker.worker_id),
        "found_workers": [engine.registry.find(name) for name in ("w1", "w ü", "nobody")],
        "signing": [list(engine.signing.keys(tenant)) for tenant in (TENANT, ODD)],
        "patterns": sorted(_plain(list(engine.patterns.matching(ODD, ["s:a#b", "any", "none"]))), key=repr),
        "shards": shards.to_text(engine.shards.read()),
        "stage": stage_state.to_text(engine.stage.fresh()),
        "ticks": engine.tick_times.last_ticks(range(DEPLOYMENT.shards)),
        "statistics": sorted(_plain(engine.statistics.read(TENANT, NOON // 60_000, NOON // 60_000 + 100)), key=repr),
    }
    return {name: _plain(value) for name, value in found.items()}


def _entries(stage: Stage) -> Iterator[Any]:
    transfer, cursor = stage.engine.transfer, None
    assert transfer is not None
    while True:
        page = transfer.entries.page(7, cursor)
        yield from (one.entry for one in page.items)
        cursor = page.cursor
        if cursor is None:
            return


def _plain(value: Any) -> Any:
    """Return the value as JSON has it. Sets are lists in order."""
    if is_dataclass(value) and not isinstance(value, type):
        value = {stored_name(name): one for name, one in asdict(value).items()}
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in sorted(value.items(), key=lambda item: str(item[0]))}
    if isinstance(value, frozenset):
        return sorted(map(_plain, value), key=repr)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(one) for one in value]
    return value.value if isinstance(value, Enum) else value


def record_aws() -> dict[str, Any]:
    clock = VirtualClock()
    session = boto3.Session("test", "test", region_name="us-east-1")
    with TemporaryDirectory() as folder, running_ministack(Path(folder)) as url, Database() as database:
        dynamodb, sqs = session.client("dynamodb", endpoint_url=url), session.client("sqs", endpoint_url=url)
        dynamodb.create_table(**table_arguments("jobs"))
        stage = aws_stage(dynamodb, sqs, "jobs", clock, database)
        fill(stage, clock)
        _count(StatisticsWriter(DynamoItems(dynamodb, "jobs", clock)), clock.now() // 60_000)
        marks = {"pk": {"S": "limits"}, "sk": {"S": "throttled#0"}, "throttled": {"S": "{}"}}
        dynamodb.put_item(TableName="jobs", Item=marks)
        items = dynamodb.scan(TableName="jobs")["Items"]
        items.sort(key=lambda item: (item["pk"]["S"], item["sk"]["S"]))
        return {"at": clock.now(), "facts": facts(stage), "items": items}


def _count(writer: StatisticsWriter, minute: int) -> None:
    """Count ends as the consumer of the table's stream does. The embedded engine counts its own."""
    for number, shard in enumerate(("shard-1", "shard-2", "shard-1")):
        priority = Priority.HIGH if number else Priority.LOW
        writer.add(shard, [PlacedEnd(number, EndedRun(TENANT, minute, priority, "succeeded", 2, 1, 0, 1_234))])


def sqlite_stage(database: Database, clock: VirtualClock) -> Stage:
    embedded = builders.World.on(database, clock, DEPLOYMENT)
    return Stage(embedded.engine, embedded.progress, embedded.tokens, embedded.ticks)


def record_sqlite() -> dict[str, Any]:
    clock = VirtualClock()
    with Database() as database:
        stage = sqlite_stage(database, clock)
        fill(stage, clock)
        with database.transaction() as connection:
            connection.execute("INSERT INTO limits VALUES ('throttled#0', '{}')")
            dump = [line for line in connection.iterdump() if line not in ("BEGIN TRANSACTION;", "COMMIT;")]
            number = connection.execute("PRAGMA user_version").fetchone()[0]
        return {"at": clock.now(), "facts": facts(stage), "sql": [*dump, f"PRAGMA user_version = {number};"]}


def write(name: str) -> None:
    engines: Mapping[str, Callable[[], dict[str, Any]]] = {"aws": record_aws, "sqlite": record_sqlite}
    for engine, record in engines.items():
        text = json.dumps(record(), indent=1, sort_keys=True, ensure_ascii=False)
        (HERE / f"{name}.{engine}.json").write_text(text + "\n")


if __name__ == "__main__":
    write(sys.argv[1])

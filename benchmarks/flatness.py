"""Measure whether a tick costs the same with a thousand and with a million stored jobs.

One tick of one group of shards always finds the same due load, on stores with more and more jobs that are not due.
The stores take turns, so that other programs on the machine affect all of them alike.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import boto3
from botocore.config import Config

from benchmarks.common import TENANT, Bar, begin_now, console, cpu_of, finish, one_off, recurring, show, spread
from benchmarks.stored_jobs import fill_dynamodb, fill_sqlite
from localstack.ministack_process import running_ministack
from localstack.table import table_arguments
from localstack.write_units import computed_units
from onthedot.core import schema
from onthedot.core.clock import VirtualClock
from onthedot.core.moves import Move
from onthedot.core.pass_progress import ProgressStore
from onthedot.core.ports import Clock, Deadline, Moved, Refused, Tick, Undecided
from onthedot.core.records import Record
from onthedot.core.slots import BUCKET_MS, DIRECT_MARGIN, Deployment, bucket_of, queue_key
from onthedot.core.tick import dispatch_due
from onthedot.engine import Engine
from onthedot.engines.aws.dynamodb.items import DynamoItems
from onthedot.engines.aws.dynamodb.keys import run_key
from onthedot.engines.aws.dynamodb.store import DynamoRunStore
from onthedot.engines.sqlite.database import MEMORY, Database
from onthedot.jobs.submit import submit_job
from onthedot.wiring.aws_engine import aws_engine
from onthedot.wiring.sqlite import SqliteEngine

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient


_READS: Final = frozenset({"Query", "GetItem", "BatchGetItem"})
_WRITES: Final = frozenset({"PutItem", "UpdateItem"})

Outcomes = Sequence[Moved | Refused | Undecided]


@dataclass
class Spent:
    """The requests and units that clients have used.

    The units of PartiQL come from `MeasuringStore`, because MiniStack reports 1 for any statement.
    """

    requests: Counter[str] = field(default_factory=Counter)
    """By operation."""
    read_units: float = 0.0
    write_units: float = 0.0

    def count_request(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        self.requests[model.name] += 1
        if model.name in _READS | _WRITES:
            params["ReturnConsumedCapacity"] = "INDEXES"

    def count_units(self, parsed: Mapping[str, Any], model: Any, **_: Any) -> None:
        reported = parsed.get("ConsumedCapacity", [])
        units = sum(_units(each) for each in ([reported] if isinstance(reported, Mapping) else reported))
        if model.name in _READS:
            self.read_units += units
        elif model.name in _WRITES:
            self.write_units += units


def _units(consumed: Mapping[str, Any]) -> float:
    indexes = consumed.get("GlobalSecondaryIndexes", {}).values()
    return float(consumed["Table"]["CapacityUnits"]) + sum(float(index["CapacityUnits"]) for index in indexes)


@contextmanager
def spending(*clients: Any) -> Iterator[Spent]:
    """Count the requests of these clients while this context lasts."""
    spent = Spent()
    for client in clients:
        client.meta.events.register("provide-client-params.*.*", spent.count_request, unique_id="request")
        client.meta.events.register("after-call.*.*", spent.count_units, unique_id="units")
    try:
        yield spent
    finally:
        for client in clients:
            client.meta.events.unregister("provide-client-params.*.*", unique_id="request")
            client.meta.events.unregister("after-call.*.*", unique_id="units")


class MeasuringStore(DynamoRunStore):
    """A store that also sums up the write units of its batches.

    It computes them from each item before and after, which it reads by another client.
    """

    def __init__(self, client: "DynamoDBClient", table: str, clock: Clock, observer: "DynamoDBClient") -> None:
        super().__init__(client, table, clock)
        self._observed = table
        self._observer = observer
        self.batch_units = 0.0

    def create_many(self, records: Sequence[Record], deadline: Deadline) -> Outcomes:
        outcomes = super().create_many(records, deadline)
        self.batch_units += sum(computed_units(None, self._item(record.run_id)) for record in records)
        return outcomes

    def move_many(self, moves: Sequence[Move], deadline: Deadline) -> Outcomes:
        before = [self._item(move.run_id) for move in moves]
        outcomes = super().move_many(moves, deadline)
        after = [self._item(move.run_id) for move in moves]
        self.batch_units += sum(computed_units(old, new) for old, new in zip(before, after, strict=True))
        return outcomes

    def _item(self, run_id: str) -> Any:
        key = run_key(run_id)
        return self._observer.get_item(TableName=self._observed, Key=key, ConsistentRead=True).get("Item")


DEPLOYMENT: Final = Deployment(shards=4, lookahead=3, history_days=7)
SHARDS: Final = tuple(range(DEPLOYMENT.shards))
ONE_OFFS: Final = 50
RECURRING: Final = 20
WARM_UP_ROUNDS: Final = 2
COUNTED_ROUNDS: Final = 2
SQLITE_SIZES: Final = (1_000, 100_000, 1_000_000)
MINISTACK_SIZES: Final = (1_000, 20_000, 100_000)
LARGE: Final = 1_000_000
VM_STEPS_PER_COUNT: Final = 10
ROUNDS: Final = {"memory": 60, "file": 60, "ministack": 15}
MOST_COUNTED: Final = 1.05
MOST_CPU: Final = 1.1

Counts = dict[str, float]


@dataclass
class Subject:
    """A store of a certain size: its engine, how one tick on it is counted, and how to delete the runs of a tick."""

    size: int
    clock: VirtualClock
    engine: Engine
    progress: ProgressStore
    count: Callable[["Subject"], Counts]
    forget: Callable[[set[str]], None]
    cpu_ms: list[float] = field(default_factory=list)
    counts: list[Counts] = field(default_factory=list)
    ticks: int = 0
    loads: int = 0

    def __post_init__(self) -> None:
        begin_now(self.progress, SHARDS, self.clock.now())

    def warm_up(self) -> None:
        self._with_fresh_load(lambda: self.tick(self.engine))

    def measure_counts(self) -> None:
        self._with_fresh_load(lambda: self.counts.append(self.count(self)))

    def measure_cpu(self) -> None:
        self._with_fresh_load(lambda: self.cpu_ms.append(cpu_of(lambda: self.tick(self.engine)).calm_ms))

    def tick(self, engine: Engine) -> None:
        now = self.clock.now()
        self.ticks += 1
        tick = Tick(0, SHARDS, now, f"tick-{self.ticks}")
        counts = dispatch_due(engine, self.progress, tick, Deadline.after(now, 60_000))
        done = tuple(counts[what] for what in ("claimed", "stamped", "advanced", "sent", "unsent"))
        if done != (ONE_OFFS, RECURRING, RECURRING, ONE_OFFS + RECURRING, 0):
            raise RuntimeError(f"measured the wrong tick: {counts}")

    def _with_fresh_load(self, act: Callable[[], None]) -> None:
        """Submit the load, let time pass until it enters the window, act, and delete it."""
        due = self._submit()
        self.clock.advance((DIRECT_MARGIN + 1) * BUCKET_MS / 1000)
        act()
        self.forget(due)

    def _submit(self) -> set[str]:
        """Submit the load into the first bucket that is not sent directly.

        Idempotency keys give the jobs the same ids on every subject. A tick makes one more batch of writes for each
        shard that has a recurring job, so random ids would change its cost now and then.
        """
        self.loads += 1
        start = (bucket_of(self.clock.now()) + DEPLOYMENT.lookahead + DIRECT_MARGIN + 1) * BUCKET_MS
        requests = [one_off(start + i * BUCKET_MS // ONE_OFFS) for i in range(ONE_OFFS)]
        requests += [recurring(i, start) for i in range(RECURRING)]
        keyed = [replace(request, idempotency_key=f"{self.loads}/{i}") for i, request in enumerate(requests)]
        return {submit_job(self.engine, TENANT, request).run_id for request in keyed}


# --- SQLite ----------------------------------------------------------------------------------------------------------


@contextmanager
def sqlite_subjects(sizes: Sequence[int], folder: Path | None) -> Iterator[list[Subject]]:
    """Fill a store of each size, in memory or as a file in the folder."""
    with ExitStack() as stack:
        yield [_sqlite_subject(stack, size, MEMORY if folder is None else folder / f"{size}.db") for size in sizes]


def _sqlite_subject(stack: ExitStack, size: int, path: str | Path) -> Subject:
    clock = VirtualClock()
    database = stack.enter_context(Database(path))
    wired = SqliteEngine.on(database, clock, DEPLOYMENT)
    engine = wired.engine
    with _telling(f"stored {size:,} jobs in SQLite"):
        fill_sqlite(database, engine, size)

    def forget(jobs: set[str]) -> None:
        with database.transaction() as connection:
            for job_id in jobs:
                connection.execute("DELETE FROM runs WHERE run_id >= ? AND run_id < ?", (job_id, f"{job_id}/"))

    def count(subject: Subject) -> Counts:
        return _counted_by_sqlite(database, lambda: subject.tick(engine))

    return Subject(size, clock, engine, wired.progress, count, forget)


def _counted_by_sqlite(database: Database, act: Callable[[], None]) -> Counts:
    """Count statements and steps of SQLite's virtual machine. They do not depend on the load of the machine."""
    counts = {"statements": 0.0, "vm steps": 0.0}

    def statement(_text: str) -> None:
        counts["statements"] += 1

    def steps() -> int:
        counts["vm steps"] += VM_STEPS_PER_COUNT
        return 0

    with database.transaction() as connection:
        connection.set_trace_callback(statement)
        connection.set_progress_handler(steps, VM_STEPS_PER_COUNT)
    try:
        act()
    finally:
        with database.transaction() as connection:
            connection.set_trace_callback(None)
            connection.set_progress_handler(None, VM_STEPS_PER_COUNT)
    return counts


# --- MiniStack -------------------------------------------------------------------------------------------------------


@contextmanager
def ministack_subjects(sizes: Sequence[int]) -> Iterator[list[Subject]]:
    """Fill one table for each size, on one MiniStack."""
    with tempfile.TemporaryDirectory() as home, running_ministack(Path(home)) as url:
        session = boto3.Session("test", "test", region_name="us-east-1")
        options = Config(parameter_validation=False, read_timeout=120)
        dynamodb = session.client("dynamodb", endpoint_url=url, config=options)
        observer = session.client("dynamodb", endpoint_url=url, config=options)
        sqs = session.client("sqs", endpoint_url=url, config=options)
        yield [_ministack_subject(dynamodb, observer, sqs, size) for size in sizes]


def _ministack_subject(dynamodb: Any, observer: Any, sqs: Any, size: int) -> Subject:
    """Fill one table. `observer` is a client for all calls that are not the dispatcher's."""
    clock = VirtualClock()
    table = f"flat-{size}"
    observer.create_table(**table_arguments(table))
    keys = [queue_key(schema.DEFAULT_POOL, priority) for priority in schema.PRIORITIES]
    urls = {key: sqs.create_queue(QueueName=f"{table}-{key}")["QueueUrl"] for key in keys}
    engine = aws_engine(dynamodb, sqs, table, urls, clock=clock, deployment=DEPLOYMENT)
    with _telling(f"stored {size:,} jobs in MiniStack"):
        fill_dynamodb(observer, table, engine, size)

    def count(subject: Subject) -> Counts:
        store = MeasuringStore(dynamodb, table, clock, observer)
        with spending(dynamodb, sqs) as spent:
            subject.tick(replace(engine, store=store))
        return {
            "requests": spent.requests.total(),
            "read units": spent.read_units,
            "write units": spent.write_units + store.batch_units,
        }

    def forget(jobs: set[str]) -> None:
        for job_id in jobs:
            stamped = DynamoRunStore(observer, table, clock).runs_of(job_id, 10).items
            for run_id in (job_id, *(run.run_id for run in stamped)):
                observer.delete_item(TableName=table, Key=run_key(run_id))

    return Subject(size, clock, engine, ProgressStore(DynamoItems(dynamodb, table, clock)), count, forget)


# --- the measurement -------------------------------------------------------------------------------------------------


@contextmanager
def _telling(what: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    console.print(f"[dim]{what} ({time.monotonic() - began:.1f} s)[/]")


def measure(subjects: Sequence[Subject], rounds: int) -> None:
    """Measure the subjects in turns, so that noise affects all of them alike."""
    steps = [Subject.warm_up] * WARM_UP_ROUNDS + [Subject.measure_counts] * COUNTED_ROUNDS
    for step in steps + [Subject.measure_cpu] * rounds:
        for subject in subjects:
            step(subject)


def figures(subject: Subject) -> Counts:
    counted = {name: statistics.median(each[name] for each in subject.counts) for name in subject.counts[0]}
    return {**counted, "cpu ms": statistics.median(subject.cpu_ms)}


def report(engine: str, subjects: Sequence[Subject]) -> tuple[dict[str, Any], list[Bar]]:
    by_size = {subject.size: figures(subject) for subject in subjects}
    smallest, largest = by_size[subjects[0].size], by_size[subjects[-1].size]
    names = list(smallest)
    rows: list[list[object]] = [
        [f"{s.size:,}", *by_size[s.size].values(), f"± {spread(s.cpu_ms):.0%}"] for s in subjects
    ]
    rows.append(["ratio", *(largest[name] / smallest[name] for name in names), ""])
    load = f"{ONE_OFFS} one-off runs, {RECURRING} recurring jobs due"
    show(f"One tick on {engine}: {load}", ["stored jobs", *names, "noise"], rows)
    scale = f"{subjects[0].size:,} → {subjects[-1].size:,} stored"
    bars = [
        Bar(
            f"{engine}: {name}, {scale}", largest[name] / smallest[name], MOST_CPU if name == "cpu ms" else MOST_COUNTED
        )
        for name in names
    ]
    return {engine: {**{str(s): f for s, f in by_size.items()}, "cpu": {s.size: s.cpu_ms for s in subjects}}}, bars


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", choices=list(ROUNDS), action="append", help="default: all")
    parser.add_argument(
        "--rounds", type=int, help="measured ticks for each size; default: 60 on SQLite, 15 on MiniStack"
    )
    parser.add_argument("--large", action="store_true", help="a million items on MiniStack too: 2.4 GB, minutes")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    bars: list[Bar] = []
    for engine in options.engine or ROUNDS:
        with ExitStack() as stack:
            if engine == "ministack":
                sizes = (*MINISTACK_SIZES, LARGE) if options.large else MINISTACK_SIZES
                subjects = stack.enter_context(ministack_subjects(sizes))
            else:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory())) if engine == "file" else None
                subjects = stack.enter_context(sqlite_subjects(SQLITE_SIZES, folder))
            measure(subjects, options.rounds or ROUNDS[engine])
            found, missed = report(engine, subjects)
            results |= found
            bars += missed
    return finish("flatness", results, bars)


if __name__ == "__main__":
    sys.exit(main())

"""Simulate a midnight: very many cron jobs due in one minute, on the default deployment, with latencies of AWS.

All decisions are those of the product. The store is SQLite in memory, and every call takes virtual time. Each group of
shards has a clock of its own, because groups run side by side. A dispatcher has 80 seconds for a tick, and a tick that
runs out of time is continued at once. Workers are not part of it: the question is when the last message is sent.

The latencies are assumptions, not measurements on AWS: see `AWS`.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from benchmarks.common import TENANT, Bar, finish, show
from benchmarks.slow_calls import Latency, Meter, SlowQueues, SlowStore
from onthedot.core.choices import Priority
from onthedot.core.clock import NOON, VirtualClock
from onthedot.core.moves import Move
from onthedot.core.ports import Deadline, RunMessage, Tick
from onthedot.core.records import Definition, Record
from onthedot.core.schema import DEFAULT_POOL
from onthedot.core.slots import BUCKET_MS, Deployment, SlotKind, bucket_of, shard_of, slot_name, slot_shard
from onthedot.core.tick import dispatch_due
from onthedot.engines.sqlite.database import Database
from onthedot.jobs.submit import JobRequest, submit_job
from onthedot.schedules.schedule import CronSchedule, Recurrence, Schedule
from onthedot.targets.types import HttpTarget
from onthedot.wiring.sqlite import SqliteEngine

JOBS: Final = 333_000
DEFAULT: Final = Deployment(shards=16, lookahead=3, history_days=30)
SHARDS_PER_GROUP: Final = 4
TICK_MS: Final = 80_000
"""The timeout of the dispatcher, less the ten seconds that the handler spares."""
REDELIVERY_MS: Final = 100_000
"""The time after which the queue delivers a tick again that could not send all runs."""
CPU_SHARE: Final = 0.29
"""The share of a core that a function with 512 MB gets."""
AWS: Final = Latency(write=20, read=15, page=10, send=8, cpu_per_stamp=0.35 / CPU_SHARE)
START: Final = NOON
MIDNIGHT: Final = NOON + 20 * BUCKET_MS
SLOT_PAGE: Final = 2_500
PARTITION_LIMIT: Final = 1_000
"""Writes a second of one partition of an index."""
ON_DEMAND_LIMIT: Final = 4_000
"""Writes a second that a new on-demand table or index takes at once."""


@dataclass
class Group:
    jobs: int
    sent_ids: set[str] = field(default_factory=set)
    first_sent: int = 0
    last_sent: int = 0
    late: int = 0
    ticks: int = 0
    continued: int = 0
    redelivered: int = 0
    table: Counter[int] = field(default_factory=Counter)
    """Writes on the table, by second."""
    index: Counter[int] = field(default_factory=Counter)
    """Writes on the due index, by second."""
    partitions: Counter[tuple[str, int]] = field(default_factory=Counter)
    """Writes on one partition of the due index, by second."""
    requests: Counter[str] = field(default_factory=Counter)

    @property
    def sent(self) -> int:
        return len(self.sent_ids)

    def note_sent(self, at: int, messages: Sequence[RunMessage]) -> None:
        """Note the messages of runs that were not sent before."""
        new = [message for message in messages if message.run_id not in self.sent_ids]
        if new:
            self.first_sent, self.last_sent = self.first_sent or at, at
        self.late += sum(message.due_at <= at for message in new)
        self.sent_ids.update(message.run_id for message in new)

    def wrote(self, at: int, batch: Sequence[Any]) -> None:
        second = at // 1000
        for write in batch:
            self.table[second] += 1
            for slot in _slots(write):
                self.index[second] += 1
                self.partitions[slot, second] += 1


def _slots(write: Record | Move) -> list[str]:
    """Return the partitions of the due index that a write changes. An advance leaves one slot and enters another."""
    if isinstance(write, Record):
        return [write.slot] if write.slot else []
    entered, position = write.changes.get("slot"), write.expect.equals.get("due_at")
    if entered is None:
        return []
    left = [] if position is None else [slot_name(SlotKind.FIRE, slot_shard(entered), bucket_of(position))]
    return [*left, entered]


@dataclass
class Queues:
    """Queues that only note when messages are sent."""

    clock: VirtualClock
    group: Group

    def send(self, messages: Sequence[RunMessage], deadline: Deadline) -> Sequence[RunMessage]:  # noqa: ARG002
        self.group.note_sent(self.clock.now(), messages)
        return []

    def visible(self, pool: str, priority: Priority) -> int:  # noqa: ARG002
        return 0


def ids_by_shard(jobs: int, shards: int) -> dict[int, list[str]]:
    """Return ids of jobs, spread over the shards by their hashes, as in the product."""
    ids: dict[int, list[str]] = {shard: [] for shard in range(shards)}
    for number in range(jobs):
        job_id = f"job_midnight{number:014d}"
        ids[shard_of(job_id, shards)].append(job_id)
    return ids


def fill(database: Database, engine: SqliteEngine, ids: dict[int, list[str]]) -> None:
    """Store the jobs as copies of one that the API accepted."""
    at = Schedule(CronSchedule(f"{MIDNIGHT // BUCKET_MS % 60} {MIDNIGHT // 3_600_000 % 24} * * *"))
    definition = Definition(HttpTarget("https://api.example.com/v1/report"), payload={"kind": "daily"})
    request = JobRequest(definition, "f" * 64, Priority.MEDIUM, DEFAULT_POOL, recurrence=Recurrence(at))
    template = submit_job(engine.engine, TENANT, request)
    with database.transaction() as connection:
        columns = [row["name"] for row in connection.execute("PRAGMA table_info(runs)")]
        changed = {"run_id": ":id", "job_id": ":id", "slot": ":slot"}
        names = ", ".join(f'"{name}"' for name in columns)
        values = ", ".join(changed.get(name, f'"{name}"') for name in columns)
        copy = f"INSERT INTO runs ({names}) SELECT {values} FROM runs WHERE run_id = :template"  # noqa: S608 - names only
        for shard, job_ids in ids.items():
            slot = slot_name(SlotKind.FIRE, shard, bucket_of(MIDNIGHT))
            connection.executemany(copy, [{"id": i, "slot": slot, "template": template.run_id} for i in job_ids])
        connection.execute("DELETE FROM runs WHERE run_id = ?", (template.run_id,))


def simulate(group: int, ids: dict[int, list[str]], deployment: Deployment = DEFAULT, latency: Latency = AWS) -> Group:
    """Run the ticks of one group until its time has come."""
    clock = VirtualClock(START)
    result = Group(sum(len(job_ids) for job_ids in ids.values()))
    with Database() as database:
        world = SqliteEngine.on(database, clock, deployment, SLOT_PAGE)
        fill(database, world, ids)
        meter = Meter(clock, latency, result.requests)
        store = SlowStore(world.store, meter, result.wrote)
        engine = replace(world.engine, store=store, queues=SlowQueues(Queues(clock, result), meter))
        again: list[tuple[int, Tick]] = []
        while clock.now() < MIDNIGHT + 5 * BUCKET_MS and result.sent < result.jobs:
            now = clock.now()
            tick = Tick(group, tuple(ids), now, f"tick-{group}-{result.ticks}")
            if again and again[0][0] <= now:
                tick = replace(again.pop(0)[1], redelivered=True)
            counts = dispatch_due(engine, world.progress, tick, Deadline.after(now, TICK_MS))
            result.ticks += 1
            result.continued += bool(counts["out_of_time"])
            result.redelivered += tick.redelivered
            if counts["unsent"]:
                again.append((now + REDELIVERY_MS, tick))
            if not counts["out_of_time"] and not (again and again[0][0] <= clock.now()):
                clock.sleep_until((bucket_of(now) + 1) * BUCKET_MS)
    return result


def merged(counters: Sequence[Counter[Any]]) -> Counter[Any]:
    """Add the writes of groups that ran side by side."""
    return sum(counters, Counter())


def report(groups: Sequence[Group], jobs: int) -> tuple[dict[str, Any], list[Bar]]:
    """Print the table, and return the results with their bars."""
    table, index = merged([g.table for g in groups]), merged([g.index for g in groups])
    partition = max(max(g.partitions.values()) for g in groups)
    last = max(g.last_sent for g in groups)
    busy = max(g.last_sent - g.first_sent for g in groups) / 1000
    window = (MIDNIGHT - min(g.first_sent for g in groups)) / 1000
    rows = [
        [f"group {n}", g.jobs, g.sent, (MIDNIGHT - g.first_sent) / 1000, (MIDNIGHT - g.last_sent) / 1000, g.continued]
        for n, g in enumerate(groups)
    ]
    columns = ["", "jobs", "sent", "first, s before", "last, s before", "continued"]
    show(f"{jobs:,} cron jobs in one minute", columns, rows)
    used = [
        ("time of a dispatcher, s", busy, window),
        ("table, writes/s", max(table.values()), ON_DEMAND_LIMIT),
        ("due index, writes/s", max(index.values()), ON_DEMAND_LIMIT),
        ("one partition of the index, writes/s", partition, PARTITION_LIMIT),
    ]
    columns = ["resource", "used at most", "limit", "share"]
    show("what limits next", columns, [[name, most, limit, f"{most / limit:.0%}"] for name, most, limit in used])
    results = {
        "jobs": jobs,
        "last sent, s before": (MIDNIGHT - last) / 1000,
        "table writes/s": max(table.values()),
        "index writes/s": max(index.values()),
        "partition writes/s": partition,
        "requests": dict(merged([g.requests for g in groups])),
        "latency ms": {name: getattr(AWS, name) for name in ("write", "read", "page", "send", "cpu_per_stamp")},
    }
    bars = [
        Bar("runs that were not sent", sum(g.jobs - g.sent for g in groups), 0),
        Bar("runs that were sent at or after their time", sum(g.late for g in groups), 0),
        Bar("last message, seconds after the minute began", (last - MIDNIGHT) / 1000, 0, "s"),
        Bar("writes/s on one partition of the due index", partition, PARTITION_LIMIT),
        Bar("writes/s on the due index", max(index.values()), ON_DEMAND_LIMIT),
    ]
    return results, bars


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=JOBS)
    jobs = parser.parse_args().jobs
    ids = ids_by_shard(jobs, DEFAULT.shards)
    firsts = range(0, DEFAULT.shards, SHARDS_PER_GROUP)
    shares = [{shard: ids[shard] for shard in range(first, first + SHARDS_PER_GROUP)} for first in firsts]
    results, bars = report([simulate(number, share) for number, share in enumerate(shares)], jobs)
    return finish("midnight", results, bars)


if __name__ == "__main__":
    sys.exit(main())

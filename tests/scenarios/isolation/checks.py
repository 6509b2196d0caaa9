"""What must be true after a story: each run of a healthy tenant is on time or explained, and no shard is stuck."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from onthedot.core.gate_names import WAIT
from onthedot.core.ids import stamped_run_id
from onthedot.core.records import TERMINAL, Kind, Record, Status
from onthedot.core.schema import DEFAULT_POOL
from onthedot.core.slots import bucket_of, shard_of
from onthedot.jobs.explain_job import explain_job
from onthedot.schedules.choices import MisfirePolicy
from onthedot.schedules.schedule import fires_between
from onthedot.targets.types import WorkflowTarget
from tests.poison import UNREADABLE
from tests.scenarios.isolation.story import MINUTE, Poisoned, Story
from tests.scenarios.kits.latency import RETRIED_MS, Trouble
from tests.scenarios.kits.poisoning import raw_fields
from tests.scenarios.kits.workflows import DIAMOND

ON_TIME_MS: Final = 1_000
AFTER_FAILURE: Final = 5 * MINUTE
"""Runs that are due so long after a service failed may have needed it: they are claimed and sent ahead of time."""
AFTER_CALL: Final = MINUTE
"""Parts that noted the failure, or wait for their next try, go on so long after the service has come back."""
AFTER_OUTAGE: Final = 3 * MINUTE
"""Runs that are due so long after ticks were away may be late: the next tick must come, and the index may lag."""
ASIDE_FIELDS: Final = {"slot", "aside_from", "aside_since", "aside_why"}
STUCK: Final = 10
"""Buckets after which a live record in a past slot was forgotten."""


@dataclass(frozen=True)
class Due:
    """One time at which a run of a healthy tenant must start."""

    run_id: str
    job: Record
    at: int

    @property
    def direct(self) -> bool:
        """Whether the API sent it, so that it needs no tick."""
        return self.job.kind is not Kind.RECURRING and self.job.status is Status.DISPATCHED

    @property
    def by_api(self) -> bool:
        """Whether the request that made the job may have been the one that sent the run, so soon is it due."""
        return self.direct or self.at < self.job.created_at + 2 * RETRIED_MS


@dataclass(frozen=True)
class Checks:
    """The checks of one story."""

    story: Story

    def all_due(self) -> Iterator[Due]:
        """Yield all times of healthy tenants' jobs."""
        for job in self.story.accepted.values():
            if job.kind is not Kind.RECURRING:
                yield Due(job.run_id, job, max(job.fire_time, job.created_at))
                continue
            assert job.recurrence is not None
            for time in fires_between(job.recurrence.schedule, job.created_at, self.story.troubled.clock.now(), 10_000):
                yield Due(stamped_run_id(job.run_id, time), job, time)

    def excuse(self, due: Due) -> str | None:
        """Return the trouble for which the run may be late: one that it needs to end."""
        troubled = self.story.troubled
        shard = shard_of(due.job.job_id, troubled.world.deployment.shards)
        for trouble in troubled.services.troubles:
            if _delays(trouble, due):
                return f"{trouble.port} failed"
            if trouble.about == f"fire#{shard}#" and trouble.first <= due.at < trouble.last + AFTER_OUTAGE:
                return "its slots could not be read"
        group = shard // troubled.shards_per_group
        for outage in troubled.outages:
            in_time = outage.first <= due.at < outage.last + AFTER_OUTAGE
            if not due.direct and outage.group in (None, group) and in_time:
                return "no ticks"
        return None

    def faults(self) -> list[str]:
        """Return everything that is wrong with the runs of healthy tenants."""
        return [fault for due in self.all_due() for fault in self._faults_of(due)]

    def _faults_of(self, due: Due) -> Iterator[str]:
        troubled, excuse = self.story.troubled, self.excuse(due)
        calls = troubled.calls.get(due.run_id, [])
        run = troubled.world.store.get(due.run_id)
        name = f"{due.run_id} of {due.job.tenant}, due {_clock(due.at)}, excuse: {excuse}"
        if calls and calls[0] < due.at:
            yield f"{name}: early"
        if len(calls) > 1 and excuse != "store failed":
            yield f"{name}: called {len(calls)} times"
        if not calls:
            yield from self._why_never(due, run, name, excuse)
            return
        if run is None or run.status is not Status.SUCCEEDED:
            yield f"{name}: it is {run and run.status}"
        allowed = ON_TIME_MS + 6 * troubled.services.slowest_ms() + RETRIED_MS * due.by_api
        if excuse is None and calls[0] > due.at + allowed:
            yield f"{name}: {(calls[0] - due.at) / 1000} s late"

    def _why_never(self, due: Due, run: Record | None, name: str, excuse: str | None) -> Iterator[str]:
        """A time without a call was skipped by its misfire policy, and only because of the trouble."""
        recurrence = due.job.recurrence
        if recurrence is None or recurrence.misfire.policy is MisfirePolicy.RUN_ALL or excuse is None:
            yield f"{name}: never called, it is {run and run.status}, {run and run.slot}"
        elif run is None and not self._in_skipped_range(due):
            yield f"{name}: no outcome"
        elif run is not None and run.status is not Status.SKIPPED:
            yield f"{name}: never called, it is {run.status}"

    def _in_skipped_range(self, due: Due) -> bool:
        records = self.story.troubled.world.store.runs_of(due.job.job_id, 10_000).items
        ranges = [record for record in records if record.kind is Kind.SKIPPED_RANGE]
        return any(one.fire_time <= due.at <= (one.skipped_until or 0) and one.reason for one in ranges)

    def graphs(self) -> list[str]:
        """Return the jobs of healthy tenants' workflows that have not succeeded."""
        makers = [job.run_id for job in self.story.accepted.values() if _makes_graph(job)]
        with self.story.troubled.world.database.transaction() as connection:
            query = "SELECT run_id, workflow, status FROM runs WHERE workflow IS NOT NULL AND workflow <> run_id"
            rows = connection.execute(query).fetchall()
        made = Counter(row["workflow"] for row in rows)
        torn = [f"{maker} made {made[maker]} jobs" for maker in makers if made[maker] != len(DIAMOND)]
        return torn + [f"{row['run_id']}: {row['status']}" for row in rows if row["status"] != "SUCCEEDED"]

    def stuck(self) -> list[str]:
        """Return the records that are left in slots which no tick will read again soon."""
        past = bucket_of(self.story.troubled.clock.now()) - STUCK
        with self.story.troubled.world.database.transaction() as connection:
            rows = connection.execute("SELECT run_id, slot FROM runs WHERE slot IS NOT NULL").fetchall()
        slots = {row["run_id"]: row["slot"].split("#") for row in rows if not row["slot"].startswith("aside#")}
        return [f"{run_id} in {slot}" for run_id, slot in slots.items() if slot[0] == WAIT or int(slot[2]) < past]

    def progress(self) -> list[str]:
        """Return the shards whose passes are not complete up to the present."""
        with self.story.troubled.world.database.transaction() as connection:
            rows = connection.execute(
                "SELECT substr(partition, 10) AS shard, content FROM items WHERE partition LIKE 'progress#%'"
            ).fetchall()
        done = {int(row["shard"]): json.loads(json.loads(row["content"])["done"]) for row in rows}
        present = bucket_of(self.story.troubled.clock.now()) - 1
        behind = [f"shard {shard}: {at}" for shard, at in done.items() if min(at["fire"], at["watch"]) < present]
        missing = set(range(self.story.troubled.world.deployment.shards)) - set(done)
        return behind + [f"shard {shard} has no progress" for shard in missing]

    def poisons(self) -> list[str]:
        """Return the poisoned records that were not set aside, were changed or are not explained, or did not run."""
        return [
            fault
            for poison in self.story.poisons
            for fault in (self._unreadable if poison.kind in UNREADABLE else self._readable)(poison)
        ]

    def _unreadable(self, poison: Poisoned) -> Iterator[str]:
        world = self.story.troubled.world
        stored = raw_fields(world, poison.run_id)
        if not (stored["slot"] or "").startswith("aside#"):
            yield f"{poison.kind}: in slot {stored['slot']}"
        changed = {name for name, value in poison.stored.items() if stored[name] != value} - ASIDE_FIELDS
        if changed:
            yield f"{poison.kind}: {changed} changed"
        codes = [reason.code for reason in explain_job(world.engine, "bad", poison.run_id).reasons]
        if "unreadable" not in codes:
            yield f"{poison.kind}: explained as {codes}"

    def _readable(self, poison: Poisoned) -> Iterator[str]:
        started = [run_id for run_id in self.story.troubled.calls if run_id.startswith(poison.run_id)]
        if not started:
            yield f"{poison.kind}: never called, it is {raw_fields(self.story.troubled.world, poison.run_id)}"


def note_waiting(story: Story) -> None:
    """Ask `explain` about the healthy jobs that are late now. Each must have a reason."""
    troubled = story.troubled
    now = troubled.clock.now()
    for job in story.accepted.values():
        run = troubled.world.store.get(job.run_id)
        assert run is not None, f"{job.run_id} is lost"
        if run.status not in TERMINAL and run.due_at < now - 2 * MINUTE:
            reasons = explain_job(troubled.world.engine, job.tenant, job.run_id).reasons
            assert reasons, f"{job.run_id} is late without a reason"
            story.waits.update([reasons[0].code])


def _delays(trouble: Trouble, due: Due) -> bool:
    """Return whether the run needed the service while it failed: for the call, or before it, to be claimed and sent."""
    if trouble.slow_ms or trouble.about is not None or trouble.first > due.at + ON_TIME_MS:
        return False
    # No attempt starts without its tenant's limits, because it might break them.
    if trouble.port in ("signing", "limits") or (trouble.port == "blobs" and _makes_graph(due.job)):
        return due.at < trouble.last + AFTER_CALL
    needed = trouble.port == "store" or (trouble.port == "queues" and trouble.pool == DEFAULT_POOL)
    return needed and max(due.job.created_at, due.at - AFTER_FAILURE) < trouble.last + AFTER_CALL


def _makes_graph(job: Record) -> bool:
    return job.definition is not None and isinstance(job.definition.target, WorkflowTarget)


def _clock(at: int) -> str:
    seconds = at // 1000 % 86_400
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"

"""Check calls and file after the kills: each acknowledged job ran, none early, and twice only around a kill."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from onthedot.core.clock import SystemClock
from onthedot.core.lifecycle import MAX_LOSSES
from onthedot.core.ports import Deadline
from onthedot.core.records import Record, Status
from onthedot.engines.sqlite.database import Database
from onthedot.engines.sqlite.store import SqliteRunStore
from tests.durability.kills.clients import Acknowledged
from tests.durability.kills.listener import NotedCall


@dataclass(frozen=True, slots=True)
class Kill:
    """The death of a server, in epoch milliseconds of the target's machine."""

    dead_at: int
    heard_at: int
    """When the target had noted every call that the server made."""


@dataclass
class Verdict:
    """The findings about one load with kills."""

    faults: list[str] = field(default_factory=list)
    duplicates: int = 0
    lateness_ms: list[int] = field(default_factory=list)

    def judge_calls(
        self, jobs: Sequence[Acknowledged], calls: Mapping[int, list[NotedCall]], kills: list[Kill]
    ) -> None:
        """Compare the calls of the target with the acknowledged jobs."""
        for job in jobs:
            noted = sorted(calls.get(job.number, []), key=lambda call: call.at)
            if not noted:
                self.faults.append(f"lost: {job}")
                continue
            if noted[0].at < job.fire_at:
                self.faults.append(f"early by {job.fire_at - noted[0].at} ms: {job}")
            if {call.key for call in noted} != {job.job_id}:
                self.faults.append(f"other idempotency keys {noted}: {job}")
            self._judge_repeats(job, noted, kills)
            self.lateness_ms.append(noted[0].at - max(job.fire_at, job.acknowledged_at))

    def _judge_repeats(self, job: Acknowledged, noted: list[NotedCall], kills: list[Kill]) -> None:
        for one, other in pairwise(noted):
            self.duplicates += 1
            if not any(one.at <= kill.heard_at and kill.dead_at <= other.at for kill in kills):
                self.faults.append(f"twice without a kill, at {one.at} and {other.at}: {job}")

    def judge_file(self, path: Path, jobs: Sequence[Acknowledged], calls: Mapping[int, list[NotedCall]]) -> None:
        """Open the file, and compare its records with the acknowledged jobs and with their calls."""
        clock = SystemClock()
        with Database(path) as database:
            with database.reading() as connection:
                (integrity,) = connection.execute("PRAGMA integrity_check").fetchone()
            if integrity != "ok":
                self.faults.append(f"integrity_check: {integrity}")
            ids = [job.job_id for job in jobs]
            if len(set(ids)) != len(ids):
                self.faults.append("two jobs have one id")
            found = SqliteRunStore(database, clock).get_many(ids, Deadline.after(clock.now(), 60_000)).found
        for job in jobs:
            fault = fault_of(job, found.get(job.job_id), len(calls.get(job.number, [])))
            self.faults += [] if fault is None else [fault]


def fault_of(job: Acknowledged, run: Record | None, calls: int) -> str | None:
    """Return the fault of a record, or None. A call is repeated only after an attempt that died with its process."""
    if run is None:
        return f"not stored: {job}"
    if is_given_up(run):
        return None
    if run.status is not Status.SUCCEEDED or run.slot is not None:
        return f"{run.status} in slot {run.slot} (attempt {run.attempt}, {run.losses} lost, {run.reason}): {job}"
    if run.started_at is not None and run.started_at < job.fire_at:
        return f"started {job.fire_at - run.started_at} ms early: {job}"
    outcomes = [attempt.outcome for attempt in run.attempts]
    processes = {attempt.worker for attempt in run.attempts}
    is_right = outcomes == ["lost"] * run.losses + ["succeeded"] and len(processes) == len(outcomes)
    if not (is_right and calls <= len(outcomes)):
        return f"{calls} calls, but the attempts {[(x.outcome, x.worker) for x in run.attempts]}: {job}"
    return None


def is_given_up(run: Record) -> bool:
    """Say whether the run failed as it must: five processes in turn had it, and each was killed.

    On a busy machine an attempt takes as long as a process lives.
    """
    killed = {attempt.worker for attempt in run.attempts if attempt.outcome == "lost"}
    return run.status is Status.FAILED and run.slot is None and len(killed) == len(run.attempts) == MAX_LOSSES

"""The runs of a recurring job: which fire times are stamped, which are skipped, and to which time the job advances.

`plan_stamps` is a pure decision. The dispatcher carries it out in this order: stamps, advance, send. It may crash
anywhere: stamps are put-if-absent under ids that are derived from their times, so the next dispatcher makes the same
stamps. When times were missed, the next dispatcher also gives the records that exist to the plan, so that no time gets
two outcomes and none runs against the misfire policy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from onthedot.core import lifecycle
from onthedot.core.ids import extra_run_id, fresh_generation, is_scheduled, nominal_of, stamped_run_id
from onthedot.core.lifecycle import closed, completed
from onthedot.core.moves import Expect, Move
from onthedot.core.records import SCHEDULED, Kind, Record, Status
from onthedot.core.slots import Deployment, fire_slot, horizon, place, shard_of
from onthedot.core.start_window import last_start
from onthedot.schedules.misfires import Recorded, Settled, settle_missed, spans_without
from onthedot.schedules.schedule import (
    Recurrence,
    Schedule,
    contains,
    fires_between,
    jittered,
    next_fire,
    skipped_between,
)

STAMPS_PER_PASS: Final = 400
"""The most runs of one job in one pass: enough for a job that fires every second in the whole window."""
SKIPPED_WHY: Final = "skipped"
_OTHER_PLAN: Final = "misfire: another dispatcher skipped this time"


@dataclass(frozen=True, slots=True)
class Stamping:
    """The plan of one pass for one job.

    Put `runs` and `skipped` if absent, apply `ends`, apply `advance`, then send the runs.
    """

    runs: tuple[Record, ...]
    skipped: tuple[Record, ...]
    ends: tuple[Move, ...]
    """The moves of stamped runs that have not started and that the misfire policy does not run."""
    advance: Move

    @property
    def writes(self) -> int:
        return len(self.runs) + len(self.skipped) + len(self.ends)


def has_missed(job: Record, now: int) -> bool:
    """Return whether the job has missed times. Then `plan_stamps` needs the records that exist."""
    return job.recurrence is not None and job.due_at < _missed_before(job.recurrence, now)


def plan_stamps(
    job: Record,
    *,
    now: int,
    claim_token: str,
    deployment: Deployment,
    until: int | None = None,
    existing: Sequence[Record] = (),
    unreadable: Sequence[str] = (),
) -> Stamping | None:
    """Plan all fire times from the job's position to the horizon, or to `until` if that is later.

    `existing` has the job's records from its position on, and `unreadable` the ids of records that cannot be read. They
    are needed only if the job has missed times. Return None when there is nothing to plan yet.
    """
    recurrence = _recurrence(job)
    until = max(until or 0, horizon(now, deployment.lookahead))
    if job.due_at >= until:
        return None
    runs, recorded = _recorded(job, existing, unreadable)
    missed = settle_missed(recurrence, job.due_at, _missed_before(recurrence, now), recorded)
    due = _due(recurrence.schedule, job.due_at, until, missed)
    kept, ended = _not_planned(runs, missed)
    left = None if recurrence.max_runs is None else max(0, recurrence.max_runs - (job.stamped or 0) - kept)
    times = (*missed.run, *(at for at in due if recorded.skipped_until(at) is None))[:left]
    exhausted = left is not None and len(times) >= left
    if exhausted:  # behind the last of `max_runs` runs no time is settled
        last = times[-1] if times else max((span.last for span in missed.skip), default=None)
    else:
        last = due[-1] if due else missed.last
    # Without a time before `until`, the data of its zone have moved the fire time of the job: it has a later one.
    following = None if exhausted else next_fire(recurrence.schedule, until - 1 if last is None else last)
    why = f"misfire: missed by more than {recurrence.misfire.grace_seconds} s (policy {recurrence.misfire.policy})"
    ranges = [skipped_range(job, [s.first, s.last], why, now, deployment, s.count) for s in missed.skip]
    return Stamping(
        runs=tuple(
            new_run(
                job,
                stamped_run_id(job.job_id, at),
                at,
                jittered(job.job_id, at, recurrence.schedule.jitter_seconds),
                now=now,
                claim_token=claim_token,
                deployment=deployment,
                until=until,
            )
            for at in times
        ),
        skipped=(*ranges, *_jumped_over(job, last if last is not None else until, now, deployment)),
        ends=tuple(lifecycle.skip_missed(run, now, why, deployment) for run in ended),
        advance=_advance(job, following, last, len(times) + kept, now, deployment),
    )


@dataclass(frozen=True, slots=True)
class Repair:
    """The writes after which no time of a job has two outcomes: put `ranges`, then apply `moves`."""

    ranges: tuple[Record, ...]
    moves: tuple[Move, ...]


def repair(job: Record, plan: Stamping, records: Sequence[Record], now: int, deployment: Deployment) -> Repair:
    """Return the writes that undo a part of a plan, because another dispatcher settled the same times otherwise.

    A run of this plan inside the other's skipped range does not run. A range of this plan is cut around the other's
    runs.
    """
    own = {record.generation for record in plan.skipped}
    ranges = [record for record in records if record.kind is Kind.SKIPPED_RANGE]
    mine = [record for record in ranges if record.generation in own]
    others = Recorded(ranges=tuple(_bounds(record) for record in ranges if record.generation not in own))
    runs = [record for record in records if is_scheduled(record.run_id) and record.status is not Status.SKIPPED]
    planned = {run.run_id for run in plan.runs}
    lost = [run for run in runs if run.run_id in planned and others.skipped_until(run.fire_time) is not None]
    ends = [lifecycle.skip_missed(run, now, _OTHER_PLAN, deployment) for run in lost if not run.attempt]
    cuts = [cut for record in mine if (cut := _cut(job, record, runs, others, now, deployment)) is not None]
    return Repair(tuple(put for puts, _ in cuts for put in puts), (*ends, *(move for _, move in cuts)))


def _cut(  # noqa: PLR0917
    job: Record, record: Record, runs: Sequence[Record], others: Recorded, now: int, deployment: Deployment
) -> tuple[list[Record], Move] | None:
    first, last = _bounds(record)
    inside = [(run.fire_time, run.fire_time) for run in runs if first <= run.fire_time <= last]
    if not inside:
        return None
    spans = spans_without(_recurrence(job).schedule, first, last, [*inside, *others.ranges])
    why = record.reason or ""
    puts = [skipped_range(job, [s.first, s.last], why, now, deployment, s.count) for s in spans if s.first != first]
    until, count = next(((s.last, s.count) for s in spans if s.first == first), (first - 1, 0))
    return puts, lifecycle.resize_range(record, until, count)


def _bounds(record: Record) -> tuple[int, int]:
    return record.fire_time, record.skipped_until or 0


def _missed_before(recurrence: Recurrence, now: int) -> int:
    return now - recurrence.misfire.grace_seconds * 1000


def _recorded(job: Record, existing: Sequence[Record], unreadable: Sequence[str]) -> tuple[dict[int, Record], Recorded]:
    schedule = _recurrence(job).schedule
    ranges = tuple(_bounds(record) for record in existing if record.kind is Kind.SKIPPED_RANGE)
    own = (r for r in existing if is_scheduled(r.run_id) and r.fire_time >= job.due_at)
    runs = {run.fire_time: run for run in own if contains(schedule, run.fire_time)}
    others = (nominal_of(run_id) for run_id in unreadable if is_scheduled(run_id))
    return runs, Recorded(frozenset({*runs, *others}), ranges)


def _due(schedule: Schedule, position: int, until: int, missed: Settled) -> list[int]:
    """Return the times after the missed ones. There are none yet while missed times are left for a later pass."""
    after = position - 1 if missed.last is None else missed.last
    return [] if missed.more else fires_between(schedule, after, until, STAMPS_PER_PASS)


def _not_planned(runs: Mapping[int, Record], missed: Settled) -> tuple[int, list[Record]]:
    """Return how many runs of missed times stay alongside the plan, and the runs that must end without a start."""
    last = -1 if missed.last is None else missed.last
    # A run with a trigger is not a stamp of a dispatcher: a client asked for it (backfill), so no policy ends it.
    stamped = {at: run for at, run in runs.items() if run.trigger is None}
    others = [run for at, run in stamped.items() if at <= last and at not in missed.run]
    ended = [run for run in others if run.status in SCHEDULED and run.attempt == 0]
    stopped = sum(run.status in (Status.SKIPPED, Status.DELETED) for run in others)
    return len(others) - len(ended) - stopped, ended


def new_run(
    job: Record,
    run_id: str,
    nominal: int,
    due_at: int,
    *,
    now: int,
    deployment: Deployment,
    claim_token: str | None = None,
    trigger: str | None = None,
    until: int | None = None,
    trace: str | None = None,
) -> Record:
    placed = place(job.job_id, due_at, now, deployment, until)
    return Record(
        run_id=run_id,
        job_id=job.job_id,
        tenant=job.tenant,
        definition=None,
        priority=job.priority,
        pool=job.pool,
        created_at=now,
        fire_time=nominal,
        due_at=due_at,
        status=placed.status,
        slot=placed.slot,
        generation=fresh_generation(),
        kind=Kind.STAMPED,
        claim_token=claim_token if placed.status is Status.DISPATCHED else None,
        trigger=trigger,
        trace=trace,
        workflow=run_id if job.workflow is not None and job.workflow == job.run_id else None,
        start_within_seconds=job.start_within_seconds,
        start_by=last_start(due_at, job.start_within_seconds),
    )


def _jumped_over(job: Record, last: int, now: int, deployment: Deployment) -> list[Record]:
    schedule = _recurrence(job).schedule
    after = job.due_at - 1 if job.accounted_until is None else job.accounted_until
    why = "dst: clocks jumped over this time (policy skip)"
    times = skipped_between(schedule, after, last + 1, STAMPS_PER_PASS)
    return [skipped_range(job, [nominal], why, now, deployment) for nominal in times]


def skipped_range(  # noqa: PLR0917
    job: Record, fires: list[int], why: str, now: int, deployment: Deployment, count: int | None = None
) -> Record:
    """Return one record for these fire times that are not run. With `count` only the first and the last are given."""
    return Record(
        run_id=extra_run_id(job.job_id, fires[0], SKIPPED_WHY),
        job_id=job.job_id,
        tenant=job.tenant,
        definition=None,
        priority=job.priority,
        pool=job.pool,
        created_at=now,
        fire_time=fires[0],
        due_at=fires[0],
        status=Status.SKIPPED,
        generation=fresh_generation(),
        kind=Kind.SKIPPED_RANGE,
        skipped_until=fires[-1],
        skipped_count=count or len(fires),
        reason=why,
        finished_at=now,
        expires_at=closed(now, deployment)["expires_at"],
    )


def _advance(  # noqa: PLR0917
    job: Record, following: int | None, last: int | None, stamped: int, now: int, deployment: Deployment
) -> Move:
    """Move the job to its next fire time, or end it, as long as it has the planned position and schedule."""
    expect = Expect(frozenset({Status.ACTIVE}), {"due_at": job.due_at, "schedule_version": job.schedule_version})
    count = {"stamped": (job.stamped or 0) + stamped, "accounted_until": last or job.accounted_until}
    if following is None:
        behind_the_last = job.due_at if last is None else last + 1
        changes = {**count, **completed(now, deployment), "due_at": behind_the_last}
        return Move(job.run_id, expect, Status.COMPLETED, changes)
    slot = fire_slot(shard_of(job.job_id, deployment.shards), following, now)
    return Move(job.run_id, expect, Status.ACTIVE, {**count, "due_at": following, "slot": slot})


def _recurrence(job: Record) -> Recurrence:
    if job.recurrence is None:
        raise ValueError(f"{job.run_id} does not recur")
    return job.recurrence

"""The runs of a recurring job: which fire times are stamped, which are skipped, and to which time the job advances.

`plan_stamps` is a pure decision. The dispatcher carries it out in this order: stamps, advance, send. It may crash
anywhere: stamps are put-if-absent under ids that are derived from their times, so the next dispatcher makes the same
stamps.
"""

from dataclasses import dataclass
from typing import Final

from onthedot.domain.deployment import Deployment
from onthedot.domain.ids import extra_run_id, fresh_generation, stamped_run_id
from onthedot.domain.runs.endings import closed, completed
from onthedot.domain.runs.moves import Expect, Move
from onthedot.domain.runs.placement import place
from onthedot.domain.runs.records import Kind, Record, Status
from onthedot.domain.runs.slots import fire_slot, horizon, shard_of
from onthedot.domain.schedules.recurrence import Misfire, MisfirePolicy, Recurrence
from onthedot.domain.schedules.schedule import Schedule, fires_between, jittered, next_fire, skipped_between

STAMPS_PER_PASS: Final = 400
"""Most runs of one job in one pass: enough for a job that fires every second in the whole window."""
CATCH_UP_PER_PASS: Final = 60
"""Most missed runs of one job in one pass: catching up must not flood the queues beside runs that are due now."""
MISSED_PER_PASS: Final = 20_000
"""Most missed fire times of one job that one pass computes."""
SKIPPED_WHY: Final = "skipped"
"""The last part of the id of a skipped range."""


@dataclass(frozen=True, slots=True)
class Stamping:
    """The plan of one pass for one job: put `runs` and `skipped` if absent, apply `advance`, then send the runs."""

    runs: tuple[Record, ...]
    skipped: tuple[Record, ...]
    advance: Move


@dataclass(frozen=True, slots=True)
class _FireTimes:
    """The fire times that one pass settles."""

    run: tuple[int, ...]
    skip: tuple[int, ...]
    """The missed times that are not run."""
    last: int | None
    """The last time that this pass settles. None when there is none."""
    why: str = ""
    """The reason for skipping."""


def plan_stamps(job: Record, *, now: int, claim_token: str, deployment: Deployment) -> Stamping | None:
    """Plan all fire times from the job's position to the horizon. Return None when there are none yet."""
    recurrence = _recurrence(job)
    until = horizon(now, deployment.lookahead)
    if job.fire_at >= until:
        return None
    fires = _fires(recurrence, job.fire_at, now, until)
    left = None if recurrence.max_runs is None else max(0, recurrence.max_runs - (job.stamped or 0))
    run = fires.run if left is None else fires.run[:left]
    exhausted = left is not None and len(run) >= left
    last = run[-1] if exhausted and run else fires.last
    following = None if exhausted or last is None else next_fire(recurrence.schedule, last)
    return Stamping(
        runs=tuple(_stamp(job, nominal, now=now, claim_token=claim_token, deployment=deployment) for nominal in run),
        skipped=_skipped(job, fires, last if last is not None else until, now, deployment),
        advance=_advance(job, following, last, len(run), now, deployment),
    )


def _fires(recurrence: Recurrence, position: int, now: int, until: int) -> _FireTimes:
    missed_before = min(now - recurrence.misfire.grace_seconds * 1000, until)
    missed = fires_between(recurrence.schedule, position - 1, missed_before, MISSED_PER_PASS)
    settled = _settle_missed(recurrence.misfire, tuple(missed))
    if settled.last is not None and settled.last != missed[-1]:
        return settled  # some missed times are left: a later pass stamps them, and the times that are due now
    if len(missed) == MISSED_PER_PASS:
        return settled
    after = position - 1 if settled.last is None else settled.last
    due = fires_between(recurrence.schedule, after, until, STAMPS_PER_PASS)
    last = due[-1] if due else settled.last
    return _FireTimes((*settled.run, *due), settled.skip, last, settled.why)


def _settle_missed(misfire: Misfire, missed: tuple[int, ...]) -> _FireTimes:
    """Apply the misfire policy to fire times that are past by more than the grace."""
    if not missed:
        return _FireTimes((), (), None)
    if misfire.policy is MisfirePolicy.RUN_ALL:
        return _FireTimes(missed[:CATCH_UP_PER_PASS], (), missed[:CATCH_UP_PER_PASS][-1])
    why = f"misfire: missed by more than {misfire.grace_seconds} s (policy {misfire.policy})"
    if misfire.policy is MisfirePolicy.RUN_LATEST and len(missed) < MISSED_PER_PASS:
        return _FireTimes(missed[-1:], missed[:-1], missed[-1], why)
    return _FireTimes((), missed, missed[-1], why)


def _stamp(job: Record, nominal: int, *, now: int, claim_token: str, deployment: Deployment) -> Record:
    fire_at = jittered(job.job_id, nominal, _recurrence(job).schedule.jitter_seconds)
    return new_run(
        job,
        stamped_run_id(job.job_id, nominal),
        nominal,
        fire_at,
        now=now,
        claim_token=claim_token,
        deployment=deployment,
    )


def new_run(
    job: Record,
    run_id: str,
    nominal: int,
    fire_at: int,
    *,
    now: int,
    deployment: Deployment,
    claim_token: str | None = None,
    trigger: str | None = None,
) -> Record:
    """Return a new run of a recurring job or an event job, placed as any run is."""
    placed = place(job.job_id, fire_at, now, deployment)
    return Record(
        run_id=run_id,
        job_id=job.job_id,
        tenant=job.tenant,
        definition=None,
        priority=job.priority,
        pool=job.pool,
        created_at=now,
        nominal_at=nominal,
        fire_at=fire_at,
        status=placed.status,
        slot=placed.slot,
        generation=fresh_generation(),
        kind=Kind.STAMPED,
        claim_token=claim_token if placed.status is Status.DISPATCHED else None,
        trigger=trigger,
        workflow=run_id if job.workflow is not None and job.workflow == job.run_id else None,
    )


def _skipped(job: Record, fires: _FireTimes, last: int, now: int, deployment: Deployment) -> tuple[Record, ...]:
    """Return the records of the times that are not run, each with the reason. A long gap is one record."""
    schedule = _recurrence(job).schedule
    records = [skipped_range(job, list(fires.skip), fires.why, now, deployment)] if fires.skip else []
    after = job.fire_at - 1 if job.accounted_until is None else job.accounted_until
    for nominal in skipped_between(schedule, after, last + 1, STAMPS_PER_PASS):
        why = "dst: clocks jumped over this time (policy skip)"
        records.append(skipped_range(job, [nominal], why, now, deployment))
    return tuple(records)


def skipped_range(job: Record, fires: list[int], why: str, now: int, deployment: Deployment) -> Record:
    """Return one record for these fire times that are not run."""
    return Record(
        run_id=extra_run_id(job.job_id, fires[0], SKIPPED_WHY),
        job_id=job.job_id,
        tenant=job.tenant,
        definition=None,
        priority=job.priority,
        pool=job.pool,
        created_at=now,
        nominal_at=fires[0],
        fire_at=fires[0],
        status=Status.SKIPPED,
        generation=fresh_generation(),
        kind=Kind.SKIPPED_RANGE,
        skipped_until=fires[-1],
        skipped_count=len(fires),
        reason=why,
        finished_at=now,
        expires_at=closed(now, deployment)["expires_at"],
    )


def _advance(  # noqa: PLR0917
    job: Record, following: int | None, last: int | None, stamped: int, now: int, deployment: Deployment
) -> Move:
    """Move the job to its next fire time, or end it.

    The move expects the position and the schedule for which the stamps were planned.
    """
    expect = Expect(frozenset({Status.ACTIVE}), {"fire_at": job.fire_at, "schedule_version": job.schedule_version})
    count = {"stamped": (job.stamped or 0) + stamped, "accounted_until": last or job.accounted_until}
    if following is None:
        behind_the_last = job.fire_at if last is None else last + 1
        changes = {**count, **completed(now, deployment), "fire_at": behind_the_last}
        return Move(job.run_id, expect, Status.COMPLETED, changes)
    slot = fire_slot(shard_of(job.job_id, deployment.shards), following, now)
    return Move(job.run_id, expect, Status.ACTIVE, {**count, "fire_at": following, "slot": slot})


def expected_times(schedule: Schedule, after: int, until: int, limit: int) -> list[int]:
    """Return every time that must have an outcome: the fire times, and the times that a DST policy skips."""
    return sorted({*fires_between(schedule, after, until, limit), *skipped_between(schedule, after, until, limit)})


def _recurrence(job: Record) -> Recurrence:
    if job.recurrence is None:
        raise ValueError(f"{job.run_id} does not recur")
    return job.recurrence

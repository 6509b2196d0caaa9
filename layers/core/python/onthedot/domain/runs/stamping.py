"""What a recurring job does when its time comes: which runs it stamps, which times it skips, where it goes next.

A pure plan. Carried out in this order (stamps, advance, send) it may die anywhere: stamps are put-if-absent under
ids derived from their times, so whoever comes next makes the same ones.
"""

from dataclasses import dataclass
from typing import Final

from onthedot.domain.deployment import Deployment
from onthedot.domain.ids import extra_run_id, fresh_generation, stamped_run_id
from onthedot.domain.runs.endings import closed
from onthedot.domain.runs.placement import place
from onthedot.domain.runs.records import Expect, Kind, Move, Record, Status
from onthedot.domain.runs.slots import fire_slot, horizon, shard_of
from onthedot.domain.schedules.recurrence import Misfire, MisfirePolicy, Recurrence
from onthedot.domain.schedules.schedule import Schedule, fires_between, jittered, next_fire, skipped_between

STAMPS_PER_PASS: Final = 400
"""Of one job: every second for the whole window, and some."""
CATCH_UP_PER_PASS: Final = 60
"""Missed runs of one job that one pass brings back: catching up must not flood what is due now."""
MISSED_PER_PASS: Final = 20_000
SKIPPED_WHY: Final = "skipped"


@dataclass(frozen=True, slots=True)
class Stamping:
    """`runs` and `skipped` are put if absent, then `advance` is applied, then the runs are sent."""

    runs: tuple[Record, ...]
    skipped: tuple[Record, ...]
    advance: Move


@dataclass(frozen=True, slots=True)
class _Fires:
    """The times of one pass: to run, to skip as missed, and the last one that was looked at."""

    run: tuple[int, ...]
    skip: tuple[int, ...]
    last: int | None
    why: str = ""


def plan_stamps(job: Record, *, now: int, claim_token: str, deployment: Deployment) -> Stamping | None:
    """All of the job's fires from its position to the horizon, or None when there is nothing to do yet."""
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


def _fires(recurrence: Recurrence, position: int, now: int, until: int) -> _Fires:
    missed_before = min(now - recurrence.misfire.grace_seconds * 1000, until)
    missed = fires_between(recurrence.schedule, position - 1, missed_before, MISSED_PER_PASS)
    settled = _settle_missed(recurrence.misfire, tuple(missed))
    if settled.last is not None and settled.last != missed[-1]:
        return settled  # more to catch up with: what is due now comes in a later pass
    if len(missed) == MISSED_PER_PASS:
        return settled
    after = position - 1 if settled.last is None else settled.last
    due = fires_between(recurrence.schedule, after, until, STAMPS_PER_PASS)
    last = due[-1] if due else settled.last
    return _Fires((*settled.run, *due), settled.skip, last, settled.why)


def _settle_missed(misfire: Misfire, missed: tuple[int, ...]) -> _Fires:
    """What the policy makes of times that are past by more than the grace."""
    if not missed:
        return _Fires((), (), None)
    if misfire.policy is MisfirePolicy.RUN_ALL:
        return _Fires(missed[:CATCH_UP_PER_PASS], (), missed[:CATCH_UP_PER_PASS][-1])
    why = f"misfire: missed by more than {misfire.grace_seconds} s (policy {misfire.policy})"
    if misfire.policy is MisfirePolicy.RUN_LATEST and len(missed) < MISSED_PER_PASS:
        return _Fires(missed[-1:], missed[:-1], missed[-1], why)
    return _Fires((), missed, missed[-1], why)


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
    """A run of a recurring job, placed as any run is."""
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


def _skipped(job: Record, fires: _Fires, last: int, now: int, deployment: Deployment) -> tuple[Record, ...]:
    """Every time that is not run has a record that says why; a long gap is one record."""
    schedule = _recurrence(job).schedule
    records = [skipped_range(job, list(fires.skip), fires.why, now, deployment)] if fires.skip else []
    after = job.fire_at - 1 if job.accounted_until is None else job.accounted_until
    for nominal in skipped_between(schedule, after, last + 1, STAMPS_PER_PASS):
        why = "dst: clocks jumped over this time (policy skip)"
        records.append(skipped_range(job, [nominal], why, now, deployment))
    return tuple(records)


def skipped_range(job: Record, fires: list[int], why: str, now: int, deployment: Deployment) -> Record:
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
    """To the next fire time, if the job is still where and what it was when the stamps were planned."""
    expect = Expect(frozenset({Status.ACTIVE}), {"fire_at": job.fire_at, "schedule_version": job.schedule_version})
    count = {"stamped": (job.stamped or 0) + stamped, "accounted_until": last or job.accounted_until}
    if following is None:
        behind_the_last = job.fire_at if last is None else last + 1
        changes = {**count, **closed(now, deployment), "fire_at": behind_the_last}
        return Move(job.run_id, expect, Status.COMPLETED, changes)
    slot = fire_slot(shard_of(job.job_id, deployment.shards), following, now)
    return Move(job.run_id, expect, Status.ACTIVE, {**count, "fire_at": following, "slot": slot})


def expected_times(schedule: Schedule, after: int, until: int, limit: int) -> list[int]:
    """Every time that must have an outcome: those that fire, and those that a DST policy skips."""
    return sorted({*fires_between(schedule, after, until, limit), *skipped_between(schedule, after, until, limit)})


def given_up(before: Record, after: Record, now: int, deployment: Deployment) -> Record | None:
    """The record of past times that nobody came to settle before the job was changed or stopped."""
    if before.recurrence is None or before.status is not Status.ACTIVE or after.status is Status.PAUSED:
        return None
    if after.status is Status.ACTIVE and after.schedule_version == before.schedule_version:
        return None
    missed = fires_between(before.recurrence.schedule, before.fire_at - 1, now + 1, MISSED_PER_PASS)
    what = "changed" if after.status is Status.ACTIVE else "stopped"
    why = f"the job was {what} before these missed times were settled"
    return skipped_range(before, missed, why, now, deployment) if missed else None


def _recurrence(job: Record) -> Recurrence:
    if job.recurrence is None:
        raise ValueError(f"{job.run_id} does not recur")
    return job.recurrence

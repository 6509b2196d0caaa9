"""The moves that clients ask for: pause, resume, cancel, change and assign a job.

Each function raises JobConflict when the status of the job does not allow the move.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from onthedot.core.choices import Priority
from onthedot.core.errors import JobConflict
from onthedot.core.ids import fresh_generation
from onthedot.core.lifecycle import concluded, is_redriven
from onthedot.core.listing import listed_under
from onthedot.core.moves import Expect, Move
from onthedot.core.records import SCHEDULED, STAMPING, Definition, Kind, Record, Status
from onthedot.core.slots import Deployment, Placement, fire_slot, place, shard_of
from onthedot.core.start_window import last_start
from onthedot.schedules.schedule import Recurrence, fires_between, next_fire

MOST_STAMPED_AHEAD: Final = 10_000


@dataclass(frozen=True, slots=True)
class JobChange:
    """The part of a job that a PATCH request changes. A field that is None stays as it is."""

    definition: Definition | None = None
    priority: Priority | None = None
    pool: str | None = None
    at: int | None = None
    """The new fire time of a one-off job."""
    recurrence: Recurrence | None = None
    """The new schedule and policies of a recurring job."""
    pattern: str | None = None
    """The new pattern of an event job."""
    record: Mapping[str, Any] = field(default_factory=dict)
    """New values of other fields of the record: `gates` and `start_within_seconds`."""


def pause(job: Record, now: int) -> Move | None:
    """Take the job out of its slot. Return None when it is paused already.

    The position of a recurring job becomes its first fire time after now: runs that are stamped for later times do not
    run.
    """
    if job.status is Status.PAUSED:
        return None
    if job.status is Status.ACTIVE or _has_runs_ahead(job, now):
        changes = {**_touched(job), **_moved_back(job, now), "slot": None, "finished_at": None, "expires_at": None}
        return Move(job.run_id, _as_read(job), Status.PAUSED, changes)
    if job.status in SCHEDULED:
        changes = {**_touched(job), "slot": None, "generation": fresh_generation()}
        return Move(job.run_id, _as_read(job), Status.PAUSED, changes)
    raise JobConflict(f"a job that is {job.status} cannot be paused")


def resume(job: Record, now: int, deployment: Deployment) -> Move | None:
    """Schedule a paused job again. Return None when it is live already.

    The misfire policy decides about fire times that a recurring job missed meanwhile. A one-off job is not late because
    of its pause: the time for its first start counts from now, if that is later than its fire time.
    """
    if job.status in (*SCHEDULED, Status.ACTIVE, Status.RUNNING):
        return None
    if job.status is not Status.PAUSED:
        raise JobConflict(f"a job that is {job.status} cannot be resumed")
    if job.kind is Kind.RECURRING:
        slot = fire_slot(shard_of(job.job_id, deployment.shards), job.due_at, now)
        return Move(job.run_id, _as_read(job), Status.ACTIVE, {**_touched(job), "slot": slot})
    if job.kind is Kind.EVENT:
        return Move(job.run_id, _as_read(job), Status.ACTIVE, _touched(job))
    placed = place(job.job_id, job.due_at, now, deployment)
    changes = {**_touched(job), **_placed_anew(placed), **counted_from_now(job, now)}
    return Move(job.run_id, _as_read(job), placed.status, changes)


def cancel(job: Record, now: int, deployment: Deployment) -> Move | None:
    """End the job, or ask its running attempt to stop. Return None when that is done already."""
    if job.status is Status.CANCELLED or (job.status is Status.RUNNING and job.cancel_requested):
        return None
    if job.status is Status.RUNNING:
        return Move(job.run_id, _as_read(job), Status.RUNNING, {**_touched(job), "cancel_requested": now})
    if job.status in (*SCHEDULED, Status.WAITING, Status.PAUSED, Status.ACTIVE, Status.COMPLETED):
        changes = {**concluded(job, now, deployment), "generation": fresh_generation(), "reason": "cancelled"}
        expect = _as_read(job, dependents=job.dependents)
        return Move(job.run_id, expect, Status.CANCELLED, {**_touched(job), **changes})
    raise JobConflict(f"a job that is {job.status} cannot be cancelled")


def change(job: Record, patch: JobChange, now: int, deployment: Deployment) -> Move:
    changes: dict[str, Any] = _touched(job)
    if patch.definition is not None:
        changes["definition"] = patch.definition
    if patch.priority is not None:
        changes["priority"] = patch.priority
    if patch.pool is not None:
        changes["pool"] = patch.pool
    changes |= patch.record
    if job.kind is Kind.RECURRING:
        return _change_recurring(job, patch, changes, now, deployment)
    if job.kind is Kind.EVENT:
        return _change_event_job(job, patch, changes)
    return _change_one_off(job, patch, changes, now, deployment)


def assign(job: Record, pool: str, now: int, deployment: Deployment) -> Move:
    """Make a waiting one-off job due now, for a worker of this pool. Its earlier messages become void."""
    placed = place(job.job_id, now, now, deployment)
    changes = {**_touched(job), **_placed_anew(placed), **counted_from_now(job, now)}
    changes |= {"due_at": now, "pool": pool}
    return Move(job.run_id, _as_read(job), placed.status, changes)


def _change_recurring(job: Record, patch: JobChange, changes: dict[str, Any], now: int, deployment: Deployment) -> Move:
    if job.status not in (Status.ACTIVE, Status.PAUSED, Status.COMPLETED, Status.WAITING):
        raise JobConflict(f"a job that is {job.status} cannot be changed")
    if patch.recurrence is None:
        return Move(job.run_id, _as_read(job), job.status, changes)
    if _fires_alike(job, patch.recurrence):
        changes["recurrence"] = patch.recurrence
        return Move(job.run_id, _as_read(job), job.status, changes)
    first = next_fire(patch.recurrence.schedule, now)
    if first is None:
        raise JobConflict("the changed schedule has no fire time left")
    changes |= {
        **_moved_back(job, now),
        "recurrence": patch.recurrence,
        "schedule_version": (job.schedule_version or 1) + 1,
        "due_at": first,
        "scheduled_since": first,
        "accounted_until": now,
    }
    if job.status in (Status.PAUSED, Status.WAITING):
        return Move(job.run_id, _as_read(job), job.status, changes)
    changes |= {
        "slot": fire_slot(shard_of(job.job_id, deployment.shards), first, now),
        "finished_at": None,
        "expires_at": None,
    }
    return Move(job.run_id, _as_read(job), Status.ACTIVE, changes)


def _change_event_job(job: Record, patch: JobChange, changes: dict[str, Any]) -> Move:
    if job.status not in (Status.ACTIVE, Status.PAUSED, Status.WAITING):
        raise JobConflict(f"a job that is {job.status} cannot be changed")
    if patch.pattern not in (None, job.pattern):
        changes |= {"pattern": patch.pattern, "pattern_entry": fresh_generation()}
    return Move(job.run_id, _as_read(job), job.status, changes)


def _fires_alike(job: Record, patch: Recurrence) -> bool:
    """Return whether only policies change. Then the runs that are stamped already stay as they are."""
    present = job.recurrence
    return present is not None and (present.schedule, present.max_runs) == (patch.schedule, patch.max_runs)


def _has_runs_ahead(job: Record, now: int) -> bool:
    """Return whether a COMPLETED job has runs to come: it is COMPLETED some minutes before its last run fires."""
    if job.status is not Status.COMPLETED or job.recurrence is None:
        return False
    following = next_fire(job.recurrence.schedule, now)
    return following is not None and following < job.due_at


def _moved_back(job: Record, now: int) -> dict[str, Any]:
    """Return the fields that move a recurring job back to its first fire time after now.

    Runs that are stamped for later times are subtracted from the count: they will be stamped and counted again.
    """
    if job.recurrence is None:
        return {}
    ahead = fires_between(job.recurrence.schedule, now, job.due_at, MOST_STAMPED_AHEAD)
    first = ahead[0] if ahead else job.due_at
    return {
        "due_at": first,
        "stamped": max(0, (job.stamped or 0) - len(ahead)),
        "accounted_until": min(now, job.accounted_until or now),
    }


def _change_one_off(job: Record, patch: JobChange, changes: dict[str, Any], now: int, deployment: Deployment) -> Move:
    if job.status not in (*SCHEDULED, Status.PAUSED, Status.WAITING):
        raise JobConflict(f"a job that is {job.status} cannot be changed")
    at = job.due_at if patch.at is None else patch.at
    if patch.at is not None:
        changes |= {"due_at": at, "fire_time": at}
    changes |= _start_window(job, patch)
    if job.status in (Status.PAUSED, Status.WAITING):
        return Move(job.run_id, _as_read(job), job.status, changes)
    in_message = [(getattr(job, name), value) for name, value in patch.record.items()]
    is_same = patch.pool in (None, job.pool) and all(before == after for before, after in in_message)
    if patch.at is None and patch.priority is None and is_same:
        return Move(job.run_id, _as_read(job), job.status, changes)  # the message that was sent stays valid
    placed = place(job.job_id, at, now, deployment)
    return Move(job.run_id, _as_read(job), placed.status, {**changes, **_placed_anew(placed)})


def _start_window(job: Record, patch: JobChange) -> dict[str, Any]:
    """Return the new time for the first start, unless the job has started once, is redriven or waits for parents."""
    is_free = job.attempt > 0 or (is_redriven(job) and patch.at is None) or job.status is Status.WAITING
    if is_free or (patch.at is None and "start_within_seconds" not in patch.record):
        return {}
    seconds = patch.record.get("start_within_seconds", job.start_within_seconds)
    return changed_limit(job, patch.at, seconds)


def _as_read(job: Record, **more: Any) -> Expect:
    """Expect that the job is as it was read: no change, no claim, no start and no advance since then."""
    seen = {"version": job.version, "generation": job.generation, "due_at": job.due_at, **more}
    return Expect(frozenset({job.status}), seen)


def _touched(job: Record) -> dict[str, Any]:
    """Return the fields that every change of a job writes. A job from an earlier version gets its current partition."""
    version = {"version": (job.version or 1) + 1}
    under = listed_under(job.tenant, job.job_id, job.kind)
    is_listed = job.kind not in STAMPING or job.listed_under in (None, under)
    return version if is_listed else {**version, "listed_under": under}


def _placed_anew(placed: Placement) -> dict[str, Any]:
    """Return the fields of a job that is placed again. At its gates it queues as a new run."""
    anew = {"slot": placed.slot, "generation": fresh_generation(), "claim_token": None, "resends": 0}
    return {**anew, "woken": None, "reason": None}


def counted_from_now(run: Record, now: int) -> dict[str, Any]:
    """Return the changes of a run that a client resumes or assigns: its time counts from now, if it has one."""
    if run.start_by is None:
        return {}
    return {"start_by": max(run.start_by, last_start(now, run.start_within_seconds) or 0)}


def changed_limit(run: Record, at: int | None, seconds: int | None) -> dict[str, Any]:
    """Return the changes of a run that gets this limit, from its new time `at` or the same instant as before."""
    before = run.start_within_seconds
    if at is None:
        at = run.fire_time if run.start_by is None or before is None else run.start_by - before * 1000
    return {"start_by": last_start(at, seconds)}

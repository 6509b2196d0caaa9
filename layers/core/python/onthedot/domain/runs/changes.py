"""What people do to a job: pause, resume, cancel, change. Pure moves; which is legal depends on where it stands."""

from dataclasses import dataclass
from typing import Any, Final

from onthedot.domain.deployment import Deployment
from onthedot.domain.errors import JobConflict
from onthedot.domain.ids import fresh_generation
from onthedot.domain.runs.endings import concluded
from onthedot.domain.runs.placement import Placement, place
from onthedot.domain.runs.records import Definition, Expect, Kind, Move, Priority, Record, Status
from onthedot.domain.runs.slots import fire_slot, shard_of
from onthedot.domain.schedules.recurrence import Recurrence
from onthedot.domain.schedules.schedule import fires_between, next_fire

MOST_STAMPED_AHEAD: Final = 10_000
SCHEDULED: Final = frozenset({Status.PENDING, Status.DISPATCHED})


@dataclass(frozen=True, slots=True)
class JobChange:
    """What a PATCH asks for; None leaves a thing as it is.

    `at` is for one-off jobs, `recurrence` for recurring ones, `pattern` for event jobs.
    """

    definition: Definition | None = None
    priority: Priority | None = None
    pool: str | None = None
    at: int | None = None
    recurrence: Recurrence | None = None
    pattern: str | None = None


def pause(job: Record, now: int) -> Move | None:
    """Out of every slot; a recurring job goes back to the first time that the pause holds up. None: it is paused."""
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
    """Back to work; what was missed meanwhile is the misfire policy's. None: it is not paused."""
    if job.status in (*SCHEDULED, Status.ACTIVE, Status.RUNNING):
        return None
    if job.status is not Status.PAUSED:
        raise JobConflict(f"a job that is {job.status} cannot be resumed")
    if job.kind is Kind.RECURRING:
        slot = fire_slot(shard_of(job.job_id, deployment.shards), job.fire_at, now)
        return Move(job.run_id, _as_read(job), Status.ACTIVE, {**_touched(job), "slot": slot})
    if job.kind is Kind.EVENT:
        return Move(job.run_id, _as_read(job), Status.ACTIVE, _touched(job))
    placed = place(job.job_id, job.fire_at, now, deployment)
    return Move(job.run_id, _as_read(job), placed.status, {**_touched(job), **_placed_anew(placed)})


def cancel(job: Record, now: int, deployment: Deployment) -> Move | None:
    """Never fires again; a running attempt is asked to stop. None: that is so already."""
    if job.status is Status.CANCELLED or (job.status is Status.RUNNING and job.cancel_requested):
        return None
    if job.status is Status.RUNNING:
        return Move(job.run_id, _as_read(job), Status.RUNNING, {**_touched(job), "cancel_requested": now})
    if job.status in (*SCHEDULED, Status.WAITING, Status.PAUSED, Status.ACTIVE, Status.COMPLETED):
        changes = {**concluded(job, now, deployment), "generation": fresh_generation(), "reason": "cancelled"}
        expect = _as_read(job, dependents=job.dependents)
        return Move(job.run_id, expect, Status.CANCELLED, {**_touched(job), **changes})
    raise JobConflict(f"a job that is {job.status} cannot be cancelled")


def change(job: Record, wanted: JobChange, now: int, deployment: Deployment) -> Move:
    """A PATCH, for everything that has not started."""
    changes: dict[str, Any] = _touched(job)
    if wanted.definition is not None:
        changes["definition"] = wanted.definition
    if wanted.priority is not None:
        changes["priority"] = wanted.priority
    if wanted.pool is not None:
        changes["pool"] = wanted.pool
    if job.kind is Kind.RECURRING:
        return _change_recurring(job, wanted, changes, now, deployment)
    if job.kind is Kind.EVENT:
        return _change_event_job(job, wanted, changes)
    return _change_one_off(job, wanted, changes, now, deployment)


def assign(job: Record, pool: str, now: int, deployment: Deployment) -> Move:
    """A one-off that waits is due now, for a worker of this pool; whatever message stands for it is void."""
    placed = place(job.job_id, now, now, deployment)
    changes = {**_touched(job), **_placed_anew(placed), "fire_at": now, "pool": pool}
    return Move(job.run_id, _as_read(job), placed.status, changes)


def _change_recurring(
    job: Record, wanted: JobChange, changes: dict[str, Any], now: int, deployment: Deployment
) -> Move:
    if job.status not in (Status.ACTIVE, Status.PAUSED, Status.COMPLETED, Status.WAITING):
        raise JobConflict(f"a job that is {job.status} cannot be changed")
    if wanted.recurrence is None:
        return Move(job.run_id, _as_read(job), job.status, changes)
    if _fires_alike(job, wanted.recurrence):
        changes["recurrence"] = wanted.recurrence
        return Move(job.run_id, _as_read(job), job.status, changes)
    first = next_fire(wanted.recurrence.schedule, now)
    if first is None:
        raise JobConflict("the changed schedule has no fire time left")
    changes |= {
        **_moved_back(job, now),
        "recurrence": wanted.recurrence,
        "schedule_version": (job.schedule_version or 1) + 1,
        "fire_at": first,
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


def _change_event_job(job: Record, wanted: JobChange, changes: dict[str, Any]) -> Move:
    if job.status not in (Status.ACTIVE, Status.PAUSED, Status.WAITING):
        raise JobConflict(f"a job that is {job.status} cannot be changed")
    if wanted.pattern not in (None, job.pattern):
        changes |= {"pattern": wanted.pattern, "pattern_entry": fresh_generation()}
    return Move(job.run_id, _as_read(job), job.status, changes)


def _fires_alike(job: Record, wanted: Recurrence) -> bool:
    """Only policies change: what is stamped stays as it is."""
    present = job.recurrence
    return present is not None and (present.schedule, present.max_runs) == (wanted.schedule, wanted.max_runs)


def _has_runs_ahead(job: Record, now: int) -> bool:
    """A job is COMPLETED when its last run is stamped, some minutes before that runs."""
    if job.status is not Status.COMPLETED or job.recurrence is None:
        return False
    following = next_fire(job.recurrence.schedule, now)
    return following is not None and following < job.fire_at


def _moved_back(job: Record, now: int) -> dict[str, Any]:
    """To the first time that is still to come; those that are stamped already will be counted again."""
    if job.recurrence is None:
        return {}
    ahead = fires_between(job.recurrence.schedule, now, job.fire_at, MOST_STAMPED_AHEAD)
    first = ahead[0] if ahead else job.fire_at
    return {
        "fire_at": first,
        "stamped": max(0, (job.stamped or 0) - len(ahead)),
        "accounted_until": min(now, job.accounted_until or now),
    }


def _change_one_off(job: Record, wanted: JobChange, changes: dict[str, Any], now: int, deployment: Deployment) -> Move:
    if job.status not in (*SCHEDULED, Status.PAUSED, Status.WAITING):
        raise JobConflict(f"a job that is {job.status} cannot be changed")
    at = job.fire_at if wanted.at is None else wanted.at
    if wanted.at is not None:
        changes |= {"fire_at": at, "nominal_at": at}
    if job.status in (Status.PAUSED, Status.WAITING):
        return Move(job.run_id, _as_read(job), job.status, changes)
    if wanted.at is None and wanted.priority is None and wanted.pool in (None, job.pool):
        return Move(job.run_id, _as_read(job), job.status, changes)  # its message stays good
    placed = place(job.job_id, at, now, deployment)
    return Move(job.run_id, _as_read(job), placed.status, {**changes, **_placed_anew(placed)})


def _as_read(job: Record, **more: Any) -> Expect:
    """Only if nothing happened to the job since it was read: no change, no claim, no start, no advance."""
    seen = {"version": job.version, "generation": job.generation, "fire_at": job.fire_at, **more}
    return Expect(frozenset({job.status}), seen)


def _touched(job: Record) -> dict[str, Any]:
    return {"version": (job.version or 1) + 1}


def _placed_anew(placed: Placement) -> dict[str, Any]:
    return {"slot": placed.slot, "generation": fresh_generation(), "claim_token": None, "resends": 0, "reason": None}

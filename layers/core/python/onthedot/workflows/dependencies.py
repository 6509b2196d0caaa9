"""The moves between parents and children: a child waits without a slot until each of its parents has ended.

A record with an unfinished step has a watch slot: a new child until all its parents know of it, an ended parent until
all its children are notified. So the sweep finishes the step after a crash. Each step may be repeated: removing a
parent from a set that it has left already changes nothing.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from onthedot.core.choices import OnParentFailure
from onthedot.core.lifecycle import closed, concluded, cut, tombstone_expiry
from onthedot.core.listing import failed_under
from onthedot.core.moves import Expect, Move
from onthedot.core.records import Kind, Record, Status
from onthedot.core.slots import Deployment, fire_slot, place, shard_of, watch_slot
from onthedot.core.start_window import last_start
from onthedot.schedules.schedule import next_fire

MOST_CHILDREN: Final = 1_000
"""The most jobs that may wait for one job. Their ids are in its record, and each is notified when the job ends."""
UNREADABLE_MS: Final = 3_600_000
"""Time after which a parent tries again to notify a child that could not be read."""
_ENDS: Final = {
    Status.FAILED: "failed",
    Status.SKIPPED: "was skipped",
    Status.CANCELLED: "was cancelled",
    Status.DELETED: "was deleted",
}
TOO_MANY_CHILDREN: Final = f"{MOST_CHILDREN:,} jobs wait for it already; let some of them wait for a job in between"


def called(job: Record) -> str:
    """Return the name of a job with its id: its key in a workflow, else its own name. Without both, only the id."""
    name = job.key or (None if job.definition is None else job.definition.name)
    return job.run_id if name is None else f"{name} ({job.run_id})"


def waiting(run: Record, parents: Sequence[str], policy: OnParentFailure, now: int, deployment: Deployment) -> Record:
    """Return the new job as it waits for its parents, in a watch slot until all of them know of it."""
    return replace(
        run,
        status=Status.WAITING,
        slot=watch_slot(shard_of(run.job_id, deployment.shards), now, now),
        parents=tuple(parents),
        waits_for=frozenset(parents),
        start_by=None,
        on_parent_failure=None if policy is OnParentFailure.FAIL else policy.value,
    )


def has_room_for(parent: Record, more: int = 1) -> bool:
    return len(parent.children) + more <= MOST_CHILDREN


def needs_link(parent: Record, child_id: str) -> bool:
    return child_id not in parent.children and has_room_for(parent)


def link_child(parent: Record, child_id: str) -> Move:
    """Record a child in a parent that has not ended and has room for it.

    This increments the parent's `dependents`, so a move that ends the parent without knowing this child is refused. It
    expects that no more children were added since the parent was read than there was room for.
    """
    room = MOST_CHILDREN - len(parent.children)
    unlinked = parent.dependents is None
    return Move(
        parent.run_id,
        Expect(
            frozenset({parent.status}),
            {"dependents": None} if unlinked else {},
            {} if unlinked else {"dependents": (parent.dependents or 0) + room - 1},
        ),
        parent.status,
        {},
        increments={"dependents": 1},
        adds={"children": frozenset({child_id})},
    )


def linked_to_all(child: Record) -> Move:
    """Take a child out of its watch slot, because every parent knows of it now."""
    return Move(child.run_id, Expect(frozenset({Status.WAITING}), {"slot": child.slot}), Status.WAITING, {"slot": None})


def remove_parent(child_id: str, parent_id: str) -> Move:
    return Move(
        child_id,
        Expect(frozenset({Status.WAITING})),
        Status.WAITING,
        {},
        removes={"waits_for": frozenset({parent_id})},
    )


def end_by_policy(child: Record, parent: Record | None, parent_id: str, now: int, deployment: Deployment) -> Move:
    """End a child that does not run, because this parent did not succeed or is gone."""
    to = Status.SKIPPED if child.on_parent_failure == OnParentFailure.SKIP else Status.FAILED
    return end_waiting(child, to, _why(parent, parent_id), now, deployment)


def end_unlinked(child: Record, parent: Record, now: int, deployment: Deployment) -> Move:
    """Fail a child for which this parent has no room."""
    why = f"it cannot wait for its parent {called(parent)}: {TOO_MANY_CHILDREN}"
    return end_waiting(child, Status.FAILED, why, now, deployment)


def end_waiting(child: Record, to: Status, why: str, now: int, deployment: Deployment) -> Move:
    ended = {**concluded(child, now, deployment), "reason": why, "waits_for": None}
    if to is Status.FAILED:
        ended["failed_under"] = failed_under(child.tenant, child.run_id)
    return Move(child.run_id, Expect(frozenset({Status.WAITING}), {"dependents": child.dependents}), to, ended)


def _why(parent: Record | None, parent_id: str) -> str:
    if parent is None:
        return f"its parent {parent_id} is gone"
    last = parent.attempts[-1] if parent.attempts else None
    # The reason of a failed run counts its attempts, which would read as if they were the child's.
    has_error = parent.status is Status.FAILED and last is not None and last.outcome == "failed"
    reason = last.error if has_error and last is not None and last.error else parent.reason
    return cut(f"its parent {called(parent)} {_ENDS.get(parent.status, 'ended')}{f': {reason}' if reason else ''}")


def schedule(child: Record, now: int, *, generation: str, deployment: Deployment) -> Move:
    """Schedule a child that has no parent left to wait for.

    A run is due now, or at its own time if that is later, and the time for its first start counts from then. A
    recurring job begins its schedule, an event job becomes ACTIVE.
    """
    expect = Expect(frozenset({Status.WAITING}), {"generation": child.generation})
    if child.kind is Kind.RECURRING and child.recurrence is not None:
        return _begin_schedule(child, expect, now, deployment)
    if child.kind is Kind.EVENT:
        return Move(child.run_id, expect, Status.ACTIVE, {"slot": None})
    at = max(child.fire_time, now)
    placed = place(child.job_id, at, now, deployment)
    changes = {
        "slot": placed.slot,
        "generation": generation,
        "fire_time": at,
        "due_at": at,
        "start_by": last_start(at, child.start_within_seconds),
        "reason": None,
    }
    return Move(child.run_id, expect, placed.status, changes)


def _begin_schedule(child: Record, expect: Expect, now: int, deployment: Deployment) -> Move:
    first = None if child.recurrence is None else next_fire(child.recurrence.schedule, now)
    if first is None:
        why = "its schedule had ended before its parents did"
        return Move(child.run_id, expect, Status.SKIPPED, {**concluded(child, now, deployment), "reason": why})
    changes: dict[str, Any] = {
        "slot": fire_slot(shard_of(child.job_id, deployment.shards), first, now),
        "fire_time": first,
        "due_at": first,
        "scheduled_since": first,
        "accounted_until": now,
    }
    return Move(child.run_id, expect, Status.ACTIVE, changes)


def all_notified(run: Record, now: int, deployment: Deployment) -> Move:
    """Take an ended run out of its watch slot, because all its children are notified."""
    is_deleted = run.status is Status.DELETED
    expires_at = tombstone_expiry(now) if is_deleted else closed(now, deployment)["expires_at"]
    expect = Expect(frozenset({run.status}), {"notify_pending": 1, "dependents": run.dependents})
    return Move(run.run_id, expect, run.status, {"slot": None, "notify_pending": None, "expires_at": expires_at})


def notify_later(run: Record, now: int, deployment: Deployment) -> Move:
    """Move an ended run to a later watch slot, because a child of it cannot be read now and so not be notified."""
    expect = Expect(frozenset({run.status}), {"notify_pending": 1, "slot": run.slot})
    slot = watch_slot(shard_of(run.job_id, deployment.shards), now + UNREADABLE_MS, now)
    return Move(run.run_id, expect, run.status, {"slot": slot})

"""The moves of a run that has ended, or that a client deletes."""

from typing import Final

from onthedot.domain.deployment import Deployment
from onthedot.domain.runs.endings import all_children, dead, kept_for_run, must_notify, notifying, tombstone_expiry
from onthedot.domain.runs.moves import Expect, Move
from onthedot.domain.runs.placement import place, rescheduled
from onthedot.domain.runs.records import Record, Status

PAUSED_WHY: Final = "paused"
CHANGED_WHY: Final = "schedule changed"
REDRIVEN_WHY: Final = "redriven from the dead letters"


def redrive(run: Record, at: int, now: int, *, generation: str, deployment: Deployment) -> Move:
    """Run a dead letter again. Its attempts stay on record, its counts of failures and losses begin again.

    It may start at any time, because a client asked for it.
    """
    placed = place(run.job_id, at, now, deployment)
    return Move(
        run.run_id,
        Expect(
            frozenset({Status.FAILED}),
            {"generation": run.generation, "finished_at": run.finished_at, "notify_pending": None},
        ),
        placed.status,
        {
            **rescheduled(at, generation, placed),
            "failures": 0,
            "losses": 0,
            "reason": REDRIVEN_WHY,
            "failed_under": None,
            "finished_at": None,
            "expires_at": None,
            "start_by": None,
        },
    )


def is_redriven(run: Record) -> bool:
    """Return whether a client redrove the run, and it has not started since."""
    return (run.reason or "").startswith(REDRIVEN_WHY)


def fail_again(run: Record, now: int, why: str, deployment: Deployment) -> Move:
    """Make a redriven run that must not start a dead letter again, so that its failure is not forgotten."""
    expect = Expect(frozenset({Status.DISPATCHED}), {"generation": run.generation, **all_children(run)})
    return Move(
        run.run_id, expect, Status.FAILED, dead(run, now, f"{REDRIVEN_WHY}, but not started: {why}", deployment)
    )


def keep_for_run(job: Record, now: int, deployment: Deployment) -> Move | None:
    """Extend the expiry of an ended job, so that it outlives the run that starts now. None: it does already."""
    expires_at = kept_for_run(job, now, deployment)
    if expires_at is None or job.status is Status.DELETED:
        return None
    expect = Expect(frozenset({job.status}), {"expires_at": job.expires_at})
    return Move(job.run_id, expect, job.status, {"expires_at": expires_at})


def may_be_revived(run: Record) -> bool:
    """Return whether the run was skipped for a reason that a later change of its job can undo."""
    return run.reason in (PAUSED_WHY, CHANGED_WHY)


def revive(run: Record, stamp: Record, now: int, *, generation: str, deployment: Deployment) -> Move:
    """Schedule a skipped run again, because its job's schedule contains its time again.

    `stamp` is the run as the job makes it now: it has the fire time, and the time for the first start.
    """
    placed = place(run.job_id, stamp.fire_at, now, deployment)
    return Move(
        run.run_id,
        Expect(frozenset({Status.SKIPPED}), {"generation": run.generation}),
        placed.status,
        {
            **rescheduled(stamp.fire_at, generation, placed),
            "start_within_seconds": stamp.start_within_seconds,
            "start_by": stamp.start_by,
            "reason": None,
            "finished_at": None,
            "expires_at": None,
        },
    )


def resize_range(record: Record, until: int, count: int) -> Move:
    """Let a skipped range end at another fire time. A range without a time ends before it begins."""
    expect = Expect(frozenset({Status.SKIPPED}), {"skipped_until": record.skipped_until})
    return Move(record.run_id, expect, Status.SKIPPED, {"skipped_until": until, "skipped_count": count})


def delete(run: Record, now: int, generation: str, deployment: Deployment) -> Move:
    """Turn the record into a tombstone that keeps its id taken. Messages and attempts under way are fenced off.

    A recurring job must be as it was read, because its position says which times it gives up.
    """
    as_read = {} if run.recurrence is None else {"version": run.version, "fire_at": run.fire_at}
    tombstone = {"slot": None, "expires_at": tombstone_expiry(now)}
    return Move(
        run.run_id,
        Expect(frozenset(Status) - {Status.DELETED}, {**all_children(run), **as_read}),
        Status.DELETED,
        {
            **(notifying(run, now, deployment) if must_notify(run) else tombstone),
            "listed_under": None,
            "failed_under": None,
            "generation": generation,
            "lease_until": None,
            "finished_at": run.finished_at or now,
        },
    )

"""The moves of an attempt: it starts, its lease is extended, and it ends.

Every move after the start expects the attempt number and the attempt token. So neither a worker with an older attempt
nor a second worker with the same message can write.
"""

import re
from dataclasses import dataclass, replace
from typing import Any, Final

from onthedot.domain.deployment import Deployment
from onthedot.domain.runs.endings import all_children, closed, concluded, dead
from onthedot.domain.runs.moves import Expect, Move
from onthedot.domain.runs.placement import place, rescheduled
from onthedot.domain.runs.progress import ProgressReport
from onthedot.domain.runs.records import Attempt, Record, Status
from onthedot.domain.runs.slots import WATCH_DISTANCE, SlotKind, bucket_of, shard_of, slot_name

LEASE_MS: Final = 30_000
CLOCK_MARGIN_MS: Final = 2_000
"""The clocks of two machines may differ by this much, so a lease counts as over only this long after its end."""
MAX_LOSSES: Final = 5
KEPT_ATTEMPTS: Final = 10
_KILLED: Final = re.compile(r"\bsignal 9\b")
NEVER_BEGUN: Final = "never_begun"
"""The error class of an attempt that its worker never began."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The cause of an attempt that did not succeed."""

    error: str
    """A sentence for the user, bounded and without secrets."""
    error_class: str | None = None
    """The kind of error as a short stable word."""


def start(
    run_id: str,
    generation: str,
    *,
    now: int,
    worker: str,
    attempt_token: str,
    held: tuple[str, ...] = (),
    timeout_seconds: int | None = None,
) -> Move:
    """Begin an attempt: never early, never for an old generation, never beside another attempt.

    `held` are the places that the attempt has got at gates. `timeout_seconds` is for a run that does not carry its own
    definition. The progress of the attempt before is forgotten.
    """
    begun: dict[str, Any] = {"held": held, "woken": None} if held else {}
    if timeout_seconds is not None:
        begun["timeout_seconds"] = timeout_seconds
    return Move(
        run_id,
        Expect(frozenset({Status.DISPATCHED}), {"generation": generation}, {"fire_at": now}),
        Status.RUNNING,
        {
            "worker": worker,
            "attempt_token": attempt_token,
            "started_at": now,
            "lease_until": now + LEASE_MS,
            "progress": None,
            **begun,
        },
        {"attempt": 1},
    )


def extend_lease(run: Record, now: int, progress: ProgressReport | None = None) -> Move:
    """Extend the lease of an attempt that is alive, and store its report, if it has one. This costs no index write."""
    reported = {} if progress is None else {"progress": progress.as_stored(now)}
    return Move(run.run_id, _this_attempt(run), Status.RUNNING, {"lease_until": now + LEASE_MS, **reported})


def deadline_of(run: Record) -> int | None:
    """Return when the running attempt reaches its time-out. None: the run is not running, or it is not known."""
    seconds = run.timeout_seconds if run.definition is None else run.definition.timeout_seconds
    if run.status is not Status.RUNNING or run.started_at is None or seconds is None:
        return None
    return run.started_at + seconds * 1000


def lease_is_over(run: Record, now: int) -> bool:
    """Return whether the lease has ended by any machine's clock."""
    return (run.lease_until or 0) + CLOCK_MARGIN_MS < now


def repark(run: Record, now: int, deployment: Deployment) -> Move:
    """Move a long attempt that is alive to the watch slot soon after the end of its lease."""
    bucket = max(bucket_of((run.lease_until or now) + CLOCK_MARGIN_MS) + 1, bucket_of(now) + WATCH_DISTANCE)
    slot = slot_name(SlotKind.WATCH, shard_of(run.job_id, deployment.shards), bucket)
    return Move(run.run_id, _this_attempt(run), Status.RUNNING, {"slot": slot})


def succeed(
    run: Record, now: int, result: str | None, deployment: Deployment, *, result_ref: str | None = None
) -> Move:
    """End the run with success."""
    return Move(
        run.run_id,
        _this_attempt(run, **all_children(run)),
        Status.SUCCEEDED,
        {
            **_ended(run, now, "succeeded", None),
            **(concluded(run, now, deployment) if run.children else closed(now, deployment)),
            "result": result,
            "result_ref": result_ref,
            "reason": None,
            "progress": None,
        },
    )


def retry(run: Record, now: int, *, at: int, failure: Failure, generation: str, deployment: Deployment) -> Move:
    """Schedule the next attempt after a failure, under a new generation, unless a client asked to cancel the run."""
    placed = place(run.job_id, at, now, deployment)
    return Move(
        run.run_id,
        _this_attempt(run, cancel_requested=None),
        placed.status,
        {
            **_ended(run, now, "failed", failure),
            **rescheduled(at, generation, placed),
            "failures": run.failures + 1,
            "reason": failure.error,
        },
    )


def fail(run: Record, now: int, *, failure: Failure, why: str, deployment: Deployment) -> Move:
    """End the run as a dead letter with its cause, unless a client asked to cancel it."""
    return Move(
        run.run_id,
        _this_attempt(run, cancel_requested=None, **all_children(run)),
        Status.FAILED,
        {
            **_ended(run, now, "failed", failure),
            **dead(run, now, why, deployment),
            "failures": run.failures + 1,
        },
    )


def stop(run: Record, now: int, failure: Failure, deployment: Deployment) -> Move:
    """End the run as cancelled: its attempt ended without success after a client asked to cancel it."""
    ended = _ended(run, now, "cancelled", failure)
    changes = {**ended, **concluded(run, now, deployment), "reason": f"cancelled; {failure.error}"}
    return Move(run.run_id, _this_attempt(run, **all_children(run)), Status.CANCELLED, changes)


def hand_back(
    run: Record, now: int, failure: Failure, *, generation: str, deployment: Deployment, after_ms: int = 0
) -> Move:
    """Give back an attempt that ended before its target did: the worker had to end, or the call could not be made.

    Another worker tries again, at once or `after_ms`. The attempt counts neither as a failure nor as a loss.
    """
    placed = place(run.job_id, now + after_ms, now, deployment)
    ended = _ended(run, now, "released", Failure(failure.error, failure.error_class or "released"))
    changes = {**ended, **rescheduled(now + after_ms, generation, placed), "reason": failure.error}
    return Move(run.run_id, _this_attempt(run, cancel_requested=None), placed.status, changes)


def take_back(run: Record, now: int, *, generation: str, deployment: Deployment) -> Move:
    """Take back an attempt that was leased to a worker which never began it: the reply to its lease was lost.

    Another worker tries again at once. The attempt counts neither as a failure nor as a loss.
    """
    why = f"worker {run.worker} never began attempt {run.attempt}: the reply to its lease was lost"
    move = hand_back(run, now, Failure(why, NEVER_BEGUN), generation=generation, deployment=deployment)
    return replace(move, expect=_this_attempt(run, lease_until=run.lease_until, cancel_requested=None))


def lose(run: Record, now: int, *, generation: str, deployment: Deployment, how: str | None = None) -> Move:
    """Record that the attempt was lost: its lease is over, or its process died (`how`).

    The run is tried again at once, in a pool that runs it alone. After `MAX_LOSSES` losses it becomes a dead letter.
    A run that a client asked to cancel ends as cancelled.
    """
    losses = run.losses + 1
    why = how or f"worker {run.worker} was lost in attempt {run.attempt}"
    # The worker that reports the death of a process does not know how far its heartbeats extended the lease.
    lease = {} if how else {"lease_until": run.lease_until}
    expect = _this_attempt(run, **lease, cancel_requested=run.cancel_requested, **all_children(run))
    ended = {**_ended(run, now, "lost", Failure(why, "lost")), "losses": losses}
    if run.cancel_requested is not None:
        changes = {**ended, **concluded(run, now, deployment), "reason": f"cancelled; {why}"}
        return Move(run.run_id, expect, Status.CANCELLED, changes)
    if losses >= MAX_LOSSES:
        usual = ", usually out of memory" if _KILLED.search(why) else ""
        lost_for_good = f"{losses} attempts were lost; the last: {why}{usual}"
        return Move(run.run_id, expect, Status.FAILED, {**ended, **dead(run, now, lost_for_good, deployment)})
    placed = place(run.job_id, now, now, deployment)
    moved = {} if (pool := deployment.pools.alone(run.pool)) == run.pool else {"pool": pool}
    changes = {**ended, **rescheduled(now, generation, placed), **moved, "reason": why}
    return Move(run.run_id, expect, placed.status, changes)


def _this_attempt(run: Record, **more: Any) -> Expect:
    """Expect the attempt and its token, so that neither an older attempt nor a second start of this one can write."""
    return Expect(frozenset({Status.RUNNING}), {"attempt": run.attempt, "attempt_token": run.attempt_token, **more})


def _ended(run: Record, now: int, outcome: str, failure: Failure | None) -> dict[str, Any]:
    """Return the fields that record the end of the present attempt."""
    error, error_class = (None, None) if failure is None else (failure.error, failure.error_class)
    attempt = Attempt(run.attempt, run.worker or "", run.started_at or now, now, outcome, error, error_class)
    # A retry may start at any time, and has to ask its gates again.
    begun = {name: None for name in ("held", "start_by", "woken") if getattr(run, name)}
    return {"attempts": (*run.attempts, attempt)[-KEPT_ATTEMPTS:], "lease_until": None, **begun}

"""The moves of a run's life, as pure functions: each takes the facts that the caller knows and returns a `Move`.

The moves of a worker's attempt, of a run that no worker has started yet, of a run that has ended, and of a run that was
set aside or whose pool is gone. Use cases choose the move, the store applies it. Moves that only one feature makes are
in its package (`gates.run_moves`, `jobs.changes`).
"""

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from onthedot.core.listing import failed_under
from onthedot.core.moves import Expect, Move
from onthedot.core.progress import ProgressReport
from onthedot.core.records import SCHEDULED, TERMINAL, Attempt, Record, Status
from onthedot.core.slots import (
    BUCKET_MS,
    WATCH_DISTANCE,
    Deployment,
    SlotKind,
    bucket_of,
    fire_slot,
    place,
    rescheduled,
    shard_of,
    slot_name,
    slot_shard,
    watch_slot,
)
from onthedot.core.start_window import why_expired

if TYPE_CHECKING:
    pass

TOMBSTONE_DAYS: Final = 14
"""An idempotency key stays taken for this many days after its job has ended."""
LONGEST_WHY: Final = 300
"""The most characters of a reason that repeats another text, such as the reason of a parent."""
_DAY_SECONDS: Final = 86_400
_SPARE_DAYS: Final = 2
"""A job that has ended is kept for this many days longer than a run of it that ends now. One of them covers the longest
attempt (11 hours). On the other, the next start needs no write."""


def cut(why: str) -> str:
    return why if len(why) <= LONGEST_WHY else f"{why[: LONGEST_WHY - 1]}…"


def tombstone_expiry(now: int) -> int:
    return now // 1000 + TOMBSTONE_DAYS * _DAY_SECONDS


def all_children(run: Record) -> dict[str, Any]:
    """Expect that no child was added since the run was read: the move that ends a run must know all children."""
    return {"dependents": run.dependents}


def has_graph(run: Record) -> bool:
    """Return whether the run makes the jobs of a workflow, and some of them may exist already."""
    return run.workflow == run.run_id and run.attempt > 0


def must_notify(run: Record) -> bool:
    """Return whether jobs that depend on the run have still to be notified when a client deletes it."""
    if run.notify_pending is not None:
        return True
    if run.status is Status.SUCCEEDED:
        return has_graph(run)
    return (bool(run.children) or has_graph(run)) and run.status not in TERMINAL


def notifying(run: Record, now: int, deployment: Deployment) -> dict[str, Any]:
    """Return the fields that keep an ended run in a watch slot until its children are notified, maybe by the sweep."""
    slot = watch_slot(shard_of(run.job_id, deployment.shards), now, now)
    return {"slot": slot, "notify_pending": 1, "expires_at": None}


def closed(now: int, deployment: Deployment) -> dict[str, Any]:
    """Return the fields of every ended record: no slot, its end, and its expiry."""
    return {"slot": None, "finished_at": now, "expires_at": _expiry(now, deployment)}


def completed(now: int, deployment: Deployment) -> dict[str, Any]:
    """Return the fields of a job whose last run is stamped. Its runs read their definition from it."""
    return {**closed(now, deployment), "expires_at": _expiry(now, deployment, _SPARE_DAYS)}


def _expiry(now: int, deployment: Deployment, spare_days: int = 0) -> int:
    """Return the epoch seconds at which a record that ends now expires: no earlier than an idempotency key."""
    days = max(deployment.history_days, TOMBSTONE_DAYS) + spare_days
    return now // 1000 + days * _DAY_SECONDS


def concluded(run: Record, now: int, deployment: Deployment) -> dict[str, Any]:
    """Return the fields of an ended run.

    It keeps a watch slot until its children are notified, and while its unfinished graph has jobs to end.
    """
    return {**closed(now, deployment), **(notifying(run, now, deployment) if run.children or has_graph(run) else {})}


def dead(run: Record, now: int, why: str, deployment: Deployment) -> dict[str, Any]:
    ended = {**concluded(run, now, deployment), "lease_until": None, "reason": why}
    return {**ended, "failed_under": failed_under(run.tenant, run.run_id)}


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
    error: str
    error_class: str | None = None


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
    """Begin an attempt: never early, never for an old generation, never alongside another attempt.

    `held` are its places at gates. `timeout_seconds` is for a run that does not carry its own definition.
    """
    begun: dict[str, Any] = {"held": held, "woken": None} if held else {}
    if timeout_seconds is not None:
        begun["timeout_seconds"] = timeout_seconds
    begun |= {"worker": worker, "attempt_token": attempt_token, "started_at": now, "lease_until": now + LEASE_MS}
    expect = Expect(frozenset({Status.DISPATCHED}), {"generation": generation}, {"due_at": now})
    return Move(run_id, expect, Status.RUNNING, {**begun, "progress": None}, {"attempt": 1})


def extend_lease(run: Record, now: int, progress: ProgressReport | None = None) -> Move:
    """Extend the lease of an attempt that is alive, and store its report, if it has one. This costs no index write."""
    reported = {} if progress is None else {"progress": progress.as_stored(now)}
    return Move(run.run_id, _this_attempt(run), Status.RUNNING, {"lease_until": now + LEASE_MS, **reported})


def deadline_of(run: Record) -> int | None:
    """Return when the running attempt reaches its timeout. None: the run is not running, or it is not known."""
    seconds = run.timeout_seconds if run.definition is None else run.definition.timeout_seconds
    if run.status is not Status.RUNNING or run.started_at is None or seconds is None:
        return None
    return run.started_at + seconds * 1000


def lease_is_over(run: Record, now: int) -> bool:
    return (run.lease_until or 0) + CLOCK_MARGIN_MS < now


def repark(run: Record, now: int, deployment: Deployment) -> Move:
    """Move a long attempt that is alive to the watch slot soon after the end of its lease."""
    bucket = max(bucket_of((run.lease_until or now) + CLOCK_MARGIN_MS) + 1, bucket_of(now) + WATCH_DISTANCE)
    slot = slot_name(SlotKind.WATCH, shard_of(run.job_id, deployment.shards), bucket)
    return Move(run.run_id, _this_attempt(run), Status.RUNNING, {"slot": slot})


def succeed(
    run: Record, now: int, result: str | None, deployment: Deployment, *, result_ref: str | None = None
) -> Move:
    end = concluded(run, now, deployment) if run.children else closed(now, deployment)
    changes = {**_ended(run, now, "succeeded", None), **end, "reason": None, "progress": None}
    changes |= {"result": result, "result_ref": result_ref}
    return Move(run.run_id, _this_attempt(run, **all_children(run)), Status.SUCCEEDED, changes)


def retry(run: Record, now: int, *, at: int, failure: Failure, generation: str, deployment: Deployment) -> Move:
    """Schedule the next attempt after a failure, under a new generation, unless a client asked to cancel the run."""
    placed = place(run.job_id, at, now, deployment)
    changes = {**_ended(run, now, "failed", failure), **rescheduled(at, generation, placed)}
    changes |= {"failures": run.failures + 1, "reason": failure.error}
    return Move(run.run_id, _this_attempt(run, cancel_requested=None), placed.status, changes)


def fail(run: Record, now: int, *, failure: Failure, why: str, deployment: Deployment) -> Move:
    """End the run as a dead letter with its cause, unless a client asked to cancel it."""
    expect = _this_attempt(run, cancel_requested=None, **all_children(run))
    ended = {**_ended(run, now, "failed", failure), **dead(run, now, why, deployment)}
    return Move(run.run_id, expect, Status.FAILED, {**ended, "failures": run.failures + 1})


def stop(run: Record, now: int, failure: Failure, deployment: Deployment) -> Move:
    """End the run as cancelled: its attempt ended without success after a client asked to cancel it."""
    ended = _ended(run, now, "cancelled", failure)
    changes = {**ended, **concluded(run, now, deployment), "reason": f"cancelled; {failure.error}"}
    return Move(run.run_id, _this_attempt(run, **all_children(run)), Status.CANCELLED, changes)


def hand_back(
    run: Record, now: int, failure: Failure, *, generation: str, deployment: Deployment, after_ms: int = 0
) -> Move:
    """Give back an attempt that ended before its target did: another worker tries again, at once or `after_ms`.

    It counts neither as a failure nor as a loss.
    """
    placed = place(run.job_id, now + after_ms, now, deployment)
    ended = _ended(run, now, "released", Failure(failure.error, failure.error_class or "released"))
    changes = {**ended, **rescheduled(now + after_ms, generation, placed), "reason": failure.error}
    return Move(run.run_id, _this_attempt(run, cancel_requested=None), placed.status, changes)


def take_back(run: Record, now: int, *, generation: str, deployment: Deployment) -> Move:
    """Take back an attempt that was leased to a worker which never began it: the reply to its lease was lost."""
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
    error, error_class = (None, None) if failure is None else (failure.error, failure.error_class)
    attempt = Attempt(run.attempt, run.worker or "", run.started_at or now, now, outcome, error, error_class)
    # A retry may start at any time, and has to ask its gates again.
    begun = {name: None for name in ("held", "start_by", "woken") if getattr(run, name)}
    return {"attempts": (*run.attempts, attempt)[-KEPT_ATTEMPTS:], "lease_until": None, **begun}


MAX_RESENDS: Final = 6
QUEUE_AWAY_PART: Final = 4
"""A run whose queue fails is checked again after this part of its wait, so that it is sent soon after the outage."""
LONGEST_LOOK_MS: Final = 60 * BUCKET_MS


def claim(run_id: str, slot: str, generation: str, due_at: int, *, now: int, claim_token: str) -> Move:
    """Move a PENDING run from its fire slot to a watch slot. The dispatcher with this claim token sends it."""
    changes = {"slot": watch_slot(slot_shard(slot), due_at, now), "claim_token": claim_token}
    return Move(run_id, Expect(frozenset({Status.PENDING}), {"generation": generation}), Status.DISPATCHED, changes)


def resend(run: Record, now: int, *, claim_token: str, deployment: Deployment) -> Move:
    """Move a run that no worker has started to a later watch slot, because its message is sent again.

    The distance of the slot doubles with each resend, up to an hour. The generation stays, so the earlier message is as
    valid as the new one.
    """
    wait = min((WATCH_DISTANCE << run.resends) * BUCKET_MS, LONGEST_LOOK_MS)
    slot = _watch_slot_after(run, now, wait, deployment)
    changes = {"slot": slot, "claim_token": claim_token, "resends": run.resends + 1}
    return Move(run.run_id, _not_started(run), Status.DISPATCHED, changes)


def renew(run: Record, generation: str) -> Move:
    """Make all messages of a waiting run stale except the one that carries this new generation."""
    return Move(run.run_id, sent(run.generation), Status.DISPATCHED, {"generation": generation})


def look_later(run: Record, now: int, deployment: Deployment, part: int = 1) -> Move:
    """Move a run to a later watch slot without a resend: its message may still wait, or its queue cannot be asked.

    The distance is as long as the run has waited so far, or a `part` of it, at most an hour.
    """
    wait = min(max((now - run.due_at) // part, WATCH_DISTANCE * BUCKET_MS), LONGEST_LOOK_MS)
    slot = _watch_slot_after(run, now, wait, deployment)
    return Move(run.run_id, _not_started(run), Status.DISPATCHED, {"slot": slot})


def uncount_resend(run: Record, now: int, deployment: Deployment) -> Move:
    later = look_later(run, now, deployment, QUEUE_AWAY_PART)
    return replace(later, changes={**later.changes, "resends": run.resends - 1})


def undeliverable(run: Record, now: int, deployment: Deployment) -> Move:
    why = f"undeliverable: sent {run.resends + 1} times, never started by any worker of pool {run.pool}"
    return Move(run.run_id, _not_started(run, **all_children(run)), Status.FAILED, dead(run, now, why, deployment))


def reroute(run: Record, pool: str, now: int, why: str, *, generation: str, deployment: Deployment) -> Move:
    placed = place(run.job_id, now, now, deployment)
    changes = {**rescheduled(now, generation, placed), "pool": pool, "reason": why}
    return Move(run.run_id, sent(run.generation), placed.status, changes)


def skip(
    run_id: str, generation: str, now: int, why: str, deployment: Deployment, *, half_done: Record | None = None
) -> Move:
    """End a run that must not start. `half_done` is the run itself if it may have made a part of its graph."""
    ended = closed(now, deployment)
    if half_done is not None and has_graph(half_done):
        # A run with this reason is not revived later, because the jobs of its graph end with it.
        ended, why = concluded(half_done, now, deployment), f"{why}, before all jobs of its graph were made"
    return Move(run_id, sent(generation), Status.SKIPPED, {**ended, "reason": why})


def skip_missed(run: Record, now: int, why: str, deployment: Deployment) -> Move:
    """End a stamped run that has not started, because the misfire policy does not run its missed time."""
    expect = Expect(SCHEDULED, {"generation": run.generation})
    return Move(run.run_id, expect, Status.SKIPPED, {**closed(now, deployment), "reason": why})


def skip_expired(run: Record, now: int, deployment: Deployment) -> Move:
    expect = Expect(frozenset({run.status}), {"generation": run.generation, **all_children(run)})
    ended = {**concluded(run, now, deployment), "reason": why_expired(run)}
    return Move(run.run_id, expect, Status.SKIPPED, ended)


def name_last_started(job: Record, run_id: str) -> Move:
    """Record in a job that this run starts, so that the job's next run does not overlap it."""
    expect = Expect(frozenset({job.status}), {"last_started_run": job.last_started_run})
    return Move(job.run_id, expect, job.status, {"last_started_run": run_id})


def sent(generation: str) -> Expect:
    return Expect(frozenset({Status.DISPATCHED}), {"generation": generation})


def _not_started(run: Record, **more: Any) -> Expect:
    """Expect that neither a worker nor another sweep has moved the run since it was read."""
    seen = {"generation": run.generation, "resends": run.resends, "slot": run.slot}
    return Expect(frozenset({Status.DISPATCHED}), {**seen, **more})


def _watch_slot_after(run: Record, now: int, wait: int, deployment: Deployment) -> str:
    return slot_name(SlotKind.WATCH, shard_of(run.job_id, deployment.shards), bucket_of(now + wait))


def change_slot(run_id: str, generation: str, before: str, after: str) -> Move:
    """Move a PENDING run from a fire slot to a waiting list, or back, where the claim pass decides about it."""
    expect = Expect(frozenset({Status.PENDING}), {"generation": generation, "slot": before})
    return Move(run_id, expect, Status.PENDING, {"slot": after})


PAUSED_WHY: Final = "paused"
CHANGED_WHY: Final = "schedule changed"
REDRIVEN_WHY: Final = "redriven from the dead letters"


def redrive(run: Record, at: int, now: int, *, generation: str, deployment: Deployment) -> Move:
    """Run a dead letter again, at any time. Its counts of failures and losses begin again."""
    placed = place(run.job_id, at, now, deployment)
    as_read = {"generation": run.generation, "finished_at": run.finished_at, "notify_pending": None}
    gone = dict.fromkeys(("failed_under", "finished_at", "expires_at", "start_by"))
    changes = {**rescheduled(at, generation, placed), **gone, "failures": 0, "losses": 0, "reason": REDRIVEN_WHY}
    return Move(run.run_id, Expect(frozenset({Status.FAILED}), as_read), placed.status, changes)


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
    """Extend the expiry of an ended job, so that it outlives the run that starts now. None: it does already.

    The run may become a dead letter, and a client can redrive it until it expires. The last run of a schedule starts
    minutes after the job has ended, so its start needs no write. A retry, a redrive or a wait of days does.
    """
    if job.status is Status.DELETED:
        return None
    if job.expires_at is None or job.expires_at >= _expiry(now, deployment, _SPARE_DAYS - 1):
        return None
    expect = Expect(frozenset({job.status}), {"expires_at": job.expires_at})
    return Move(job.run_id, expect, job.status, {"expires_at": _expiry(now, deployment, _SPARE_DAYS)})


def may_be_revived(run: Record) -> bool:
    """Return whether the run was skipped for a reason that a later change of its job can undo."""
    return run.reason in (PAUSED_WHY, CHANGED_WHY)


def revive(run: Record, stamp: Record, now: int, *, generation: str, deployment: Deployment) -> Move:
    """Schedule a skipped run again as its job makes it now (`stamp`), because the schedule contains its time again."""
    placed = place(run.job_id, stamp.due_at, now, deployment)
    limit = {"start_within_seconds": stamp.start_within_seconds, "start_by": stamp.start_by}
    gone = dict.fromkeys(("reason", "finished_at", "expires_at"))
    changes = {**rescheduled(stamp.due_at, generation, placed), **limit, **gone}
    expect = Expect(frozenset({Status.SKIPPED}), {"generation": run.generation})
    return Move(run.run_id, expect, placed.status, changes)


def resize_range(record: Record, until: int, count: int) -> Move:
    expect = Expect(frozenset({Status.SKIPPED}), {"skipped_until": record.skipped_until})
    return Move(record.run_id, expect, Status.SKIPPED, {"skipped_until": until, "skipped_count": count})


def delete(run: Record, now: int, generation: str, deployment: Deployment) -> Move:
    """Turn the record into a tombstone that keeps its id taken, and fence off messages and attempts under way.

    A recurring job must be as it was read, because its position says which times it gives up.
    """
    as_read = {} if run.recurrence is None else {"version": run.version, "due_at": run.due_at}
    tombstone = {"slot": None, "expires_at": tombstone_expiry(now)}
    gone = dict.fromkeys(("listed_under", "failed_under", "lease_until"))
    end = notifying(run, now, deployment) if must_notify(run) else tombstone
    changes = {**end, **gone, "generation": generation, "finished_at": run.finished_at or now}
    expect = Expect(frozenset(Status) - {Status.DELETED}, {**all_children(run), **as_read})
    return Move(run.run_id, expect, Status.DELETED, changes)


LONGEST_WAIT_MS: Final = 60 * BUCKET_MS
_IN_FIRE_SLOTS: Final = frozenset({Status.PENDING, Status.ACTIVE})
_IN_NO_SLOT: Final = TERMINAL | {Status.PAUSED}


def put_back(run: Record, now: int, deployment: Deployment) -> Move:
    """Put a record that was set aside into the slot where the next pass reads it, if it belongs in one."""
    changes = {"slot": _proper_slot(run, now, deployment), "aside_from": None, "aside_since": None, "aside_why": None}
    return Move(run.run_id, _as_read(run), run.status, changes)


def _proper_slot(run: Record, now: int, deployment: Deployment) -> str | None:
    shard = shard_of(run.job_id, deployment.shards)
    if run.status in _IN_FIRE_SLOTS:
        return fire_slot(shard, run.due_at, now)
    is_done = run.status in _IN_NO_SLOT and run.notify_pending is None and run.given_up is None
    return None if is_done else watch_slot(shard, now, now)


def change_pool(run: Record, pool: str) -> Move:
    why = f"pool {run.pool} is gone, so the run moved to pool {pool}"
    return Move(run.run_id, _as_read(run), run.status, {"pool": pool, "reason": why})


def wait_for_pool(run: Record, now: int, why: str, deployment: Deployment) -> Move:
    """Move a PENDING run that no pool can run to a later fire slot.

    The distance is as long as the run has waited so far, at most an hour.
    """
    wait = min(max(now - run.due_at, WATCH_DISTANCE * BUCKET_MS), LONGEST_WAIT_MS)
    slot = fire_slot(shard_of(run.job_id, deployment.shards), run.due_at, now + wait)
    return Move(run.run_id, _as_read(run), run.status, {"slot": slot, "reason": why})


def _as_read(run: Record) -> Expect:
    return Expect(frozenset({run.status}), {"generation": run.generation, "slot": run.slot})

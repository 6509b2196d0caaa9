"""Every move of a run's life, as pure functions from what is known to a `Move`.

The store applies moves; the use cases decide which; nothing else writes a status.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from onthedot.domain.deployment import Deployment
from onthedot.domain.runs.endings import (
    TOMBSTONE_DAYS,
    all_children,
    closed,
    concluded,
    dead,
    has_graph,
    must_notify,
    notifying,
)
from onthedot.domain.runs.placement import Placement, place
from onthedot.domain.runs.records import Attempt, Expect, Move, Record, Status
from onthedot.domain.runs.slots import (
    BUCKET_MS,
    WATCH_DISTANCE,
    SlotKind,
    bucket_of,
    shard_of,
    slot_name,
    slot_shard,
    watch_slot,
)

LEASE_MS: Final = 30_000
CLOCK_MARGIN_MS: Final = 2_000
"""Clocks of two machines may differ by this much; a lease counts as over only after it."""
PAUSED_WHY: Final = "paused"
CHANGED_WHY: Final = "schedule changed"
MAX_RESENDS: Final = 6
LONGEST_LOOK_MS: Final = 60 * BUCKET_MS
MAX_LOSSES: Final = 5
KEPT_ATTEMPTS: Final = 10


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt ended without success: a bounded, redacted sentence, and what kind it is."""

    error: str
    error_class: str | None = None


def claim(run_id: str, slot: str, generation: str, fire_at: int, *, now: int, claim_token: str) -> Move:
    """Take a PENDING run out of its fire slot, to be sent by whoever holds the token."""
    return Move(
        run_id,
        Expect(frozenset({Status.PENDING}), {"generation": generation}),
        Status.DISPATCHED,
        {"slot": watch_slot(slot_shard(slot), fire_at, now), "claim_token": claim_token},
    )


def start(run_id: str, generation: str, *, now: int, worker: str, attempt_token: str) -> Move:
    """Begin an attempt: never early, never for an old generation, never beside another one."""
    return Move(
        run_id,
        Expect(frozenset({Status.DISPATCHED}), {"generation": generation}, {"fire_at": now}),
        Status.RUNNING,
        {"worker": worker, "attempt_token": attempt_token, "started_at": now, "lease_until": now + LEASE_MS},
        {"attempt": 1},
    )


def extend_lease(run: Record, now: int) -> Move:
    """A heartbeat: the attempt is alive. Costs no index write."""
    return Move(run.run_id, _this_attempt(run), Status.RUNNING, {"lease_until": now + LEASE_MS})


def succeed(
    run: Record, now: int, result: str | None, deployment: Deployment, *, result_ref: str | None = None
) -> Move:
    ended = _ended(run, now, "succeeded", None)
    return Move(
        run.run_id,
        _this_attempt(run, **all_children(run)),
        Status.SUCCEEDED,
        {
            **ended,
            **(concluded(run, now, deployment) if run.children else closed(now, deployment)),
            "result": result,
            "result_ref": result_ref,
            "reason": None,
        },
    )


def retry(run: Record, now: int, *, at: int, failure: Failure, generation: str, deployment: Deployment) -> Move:
    """Park the run for its next attempt after a failure, under a new generation, unless a cancel was asked for."""
    placed = place(run.job_id, at, now, deployment)
    return Move(
        run.run_id,
        _this_attempt(run, cancel_requested=None),
        placed.status,
        {
            **_ended(run, now, "failed", failure),
            **_rescheduled(at, generation, placed),
            "failures": run.failures + 1,
            "reason": failure.error,
        },
    )


def fail(run: Record, now: int, *, failure: Failure, why: str, deployment: Deployment) -> Move:
    """End the run: it becomes a dead letter with its cause, unless a cancel was asked for."""
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
    """The attempt ended without success after a cancel was asked for: it is not tried again."""
    ended = _ended(run, now, "cancelled", failure)
    changes = {**ended, **concluded(run, now, deployment), "reason": f"cancelled; {failure.error}"}
    return Move(run.run_id, _this_attempt(run, **all_children(run)), Status.CANCELLED, changes)


def hand_back(run: Record, now: int, why: str, *, generation: str, deployment: Deployment) -> Move:
    """The worker has to end before its target did: another one tries again at once, and nothing is counted."""
    placed = place(run.job_id, now, now, deployment)
    ended = _ended(run, now, "released", Failure(why, "released"))
    changes = {**ended, **_rescheduled(now, generation, placed), "reason": why}
    return Move(run.run_id, _this_attempt(run, cancel_requested=None), placed.status, changes)


def lose(run: Record, now: int, *, generation: str, deployment: Deployment, how: str | None = None) -> Move:
    """The attempt's lease is over, or it took its process with it (`how`). Try again at once, alone, or give up."""
    losses = run.losses + 1
    why = how or f"worker {run.worker} was lost in attempt {run.attempt}"
    # Who reports the loss itself does not know how far its heartbeats extended the lease.
    lease = {} if how else {"lease_until": run.lease_until}
    expect = _this_attempt(run, **lease, cancel_requested=run.cancel_requested, **all_children(run))
    ended = {**_ended(run, now, "lost", Failure(why, "lost")), "losses": losses}
    if run.cancel_requested is not None:
        changes = {**ended, **concluded(run, now, deployment), "reason": f"cancelled; {why}"}
        return Move(run.run_id, expect, Status.CANCELLED, changes)
    if losses >= MAX_LOSSES:
        return Move(
            run.run_id,
            expect,
            Status.FAILED,
            {**ended, **dead(run, now, f"{losses} attempts were lost; the last: {why}", deployment)},
        )
    placed = place(run.job_id, now, now, deployment)
    moved = {} if (pool := deployment.pools.alone(run.pool)) == run.pool else {"pool": pool}
    changes = {**ended, **_rescheduled(now, generation, placed), **moved, "reason": why}
    return Move(run.run_id, expect, placed.status, changes)


def redrive(run: Record, at: int, now: int, *, generation: str, deployment: Deployment) -> Move:
    """Run a dead letter again: its attempts stay on record, its count of failures begins anew."""
    placed = place(run.job_id, at, now, deployment)
    return Move(
        run.run_id,
        Expect(
            frozenset({Status.FAILED}),
            {"generation": run.generation, "finished_at": run.finished_at, "notify_pending": None},
        ),
        placed.status,
        {
            **_rescheduled(at, generation, placed),
            "failures": 0,
            "losses": 0,
            "reason": "redriven from the dead letters",
            "failed_under": None,
            "finished_at": None,
            "expires_at": None,
        },
    )


def reroute(run: Record, pool: str, now: int, why: str, *, generation: str, deployment: Deployment) -> Move:
    """A run whose job needs other workers by now goes to their pool."""
    placed = place(run.job_id, now, now, deployment)
    return Move(
        run.run_id,
        Expect(frozenset({Status.DISPATCHED}), {"generation": run.generation}),
        placed.status,
        {**_rescheduled(now, generation, placed), "pool": pool, "reason": why},
    )


def resend(run: Record, now: int, *, claim_token: str, deployment: Deployment) -> Move:
    """Look again after twice the time, for a message that has not led to a start; its generation stays."""
    wait = (WATCH_DISTANCE << run.resends) * BUCKET_MS
    slot = slot_name(SlotKind.WATCH, shard_of(run.job_id, deployment.shards), bucket_of(now + wait))
    return Move(
        run.run_id,
        _not_started(run),
        Status.DISPATCHED,
        {"slot": slot, "claim_token": claim_token, "resends": run.resends + 1},
    )


def look_later(run: Record, now: int, deployment: Deployment) -> Move:
    """Its message still waits in a crowded queue: look again after as long as it has waited, at most an hour."""
    wait = min(max(now - run.fire_at, WATCH_DISTANCE * BUCKET_MS), LONGEST_LOOK_MS)
    slot = slot_name(SlotKind.WATCH, shard_of(run.job_id, deployment.shards), bucket_of(now + wait))
    return Move(run.run_id, _not_started(run), Status.DISPATCHED, {"slot": slot})


def undeliverable(run: Record, now: int, deployment: Deployment) -> Move:
    why = f"undeliverable: sent {run.resends + 1} times, never started by any worker of pool {run.pool}"
    return Move(run.run_id, _not_started(run, **all_children(run)), Status.FAILED, dead(run, now, why, deployment))


def repark(run: Record, now: int, deployment: Deployment) -> Move:
    """A long attempt that is alive: look again soon after its lease ends."""
    bucket = max(bucket_of((run.lease_until or now) + CLOCK_MARGIN_MS) + 1, bucket_of(now) + WATCH_DISTANCE)
    slot = slot_name(SlotKind.WATCH, shard_of(run.job_id, deployment.shards), bucket)
    return Move(run.run_id, _this_attempt(run), Status.RUNNING, {"slot": slot})


def skip(
    run_id: str, generation: str, now: int, why: str, deployment: Deployment, *, half_done: Record | None = None
) -> Move:
    """A run that is not to be started, with its reason. `half_done`: it has made a part of its graph."""
    ended = closed(now, deployment)
    if half_done is not None and has_graph(half_done):
        # With this reason nobody revives it: its jobs end with it.
        ended, why = concluded(half_done, now, deployment), f"{why}, before all jobs of its graph were made"
    return Move(
        run_id,
        Expect(frozenset({Status.DISPATCHED}), {"generation": generation}),
        Status.SKIPPED,
        {**ended, "reason": why},
    )


def postpone(run: Record, at: int, now: int, why: str, *, generation: str, deployment: Deployment) -> Move:
    """A run that has to wait its turn, under a new generation."""
    placed = place(run.job_id, at, now, deployment)
    return Move(
        run.run_id,
        Expect(frozenset({Status.DISPATCHED}), {"generation": run.generation}),
        placed.status,
        {**_rescheduled(at, generation, placed), "reason": why},
    )


def may_be_revived(run: Record) -> bool:
    """Skipped for what a change of its job can undo."""
    return run.reason in (PAUSED_WHY, CHANGED_WHY)


def revive(run: Record, fire_at: int, now: int, *, generation: str, deployment: Deployment) -> Move:
    """A skipped run whose time is meant to run again."""
    placed = place(run.job_id, fire_at, now, deployment)
    return Move(
        run.run_id,
        Expect(frozenset({Status.SKIPPED}), {"generation": run.generation}),
        placed.status,
        {**_rescheduled(fire_at, generation, placed), "reason": None, "finished_at": None, "expires_at": None},
    )


def grow_range(record: Record, until: int | None, count: int | None) -> Move:
    expect = Expect(frozenset({Status.SKIPPED}), {"skipped_until": record.skipped_until})
    return Move(record.run_id, expect, Status.SKIPPED, {"skipped_until": until, "skipped_count": count})


def name_last_started(job: Record, run_id: str) -> Move:
    """Make this run the one that the job's next run must not overlap."""
    return Move(
        job.run_id,
        Expect(frozenset({job.status}), {"last_started_run": job.last_started_run}),
        job.status,
        {"last_started_run": run_id},
    )


def delete(run: Record, now: int, generation: str, deployment: Deployment) -> Move:
    """Leave a tombstone that keeps the id taken; whatever message or attempt is under way is fenced off."""
    tombstone = {"slot": None, "expires_at": now // 1000 + TOMBSTONE_DAYS * 86_400}
    return Move(
        run.run_id,
        Expect(frozenset(Status) - {Status.DELETED}, all_children(run)),
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


def applied(run: Record, move: Move) -> Record:
    """The run as the move leaves it."""
    counted = {field: (getattr(run, field) or 0) + n for field, n in move.counts.items()}
    return replace(run, status=move.to, **{**_with_empty_sets(move.changes), **counted})


def _with_empty_sets(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Where a set is taken away, an empty one stands in the record."""
    return {f: frozenset() if f in ("waits_for", "children") and v is None else v for f, v in changes.items()}


def lease_is_over(run: Record, now: int) -> bool:
    return (run.lease_until or 0) + CLOCK_MARGIN_MS < now


def _this_attempt(run: Record, **more: Any) -> Expect:
    """Fencing: the attempt and its token, so that neither a stale worker nor a twin can write."""
    return Expect(frozenset({Status.RUNNING}), {"attempt": run.attempt, "attempt_token": run.attempt_token, **more})


def _not_started(run: Record, **more: Any) -> Expect:
    seen = {"generation": run.generation, "resends": run.resends, "slot": run.slot}
    return Expect(frozenset({Status.DISPATCHED}), {**seen, **more})


def _ended(run: Record, now: int, outcome: str, failure: Failure | None) -> dict[str, Any]:
    started = run.started_at or now
    told = (None, None) if failure is None else (failure.error, failure.error_class)
    record = Attempt(run.attempt, run.worker or "", started, now, outcome, *told)
    return {"attempts": (*run.attempts, record)[-KEPT_ATTEMPTS:], "lease_until": None}


def _rescheduled(at: int, generation: str, placed: Placement) -> dict[str, Any]:
    return {"fire_at": at, "generation": generation, "slot": placed.slot, "claim_token": None, "resends": 0}

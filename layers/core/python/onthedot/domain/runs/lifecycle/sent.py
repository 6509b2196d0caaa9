"""The moves of a run that the dispatcher claims and sends, and that no worker has started yet."""

from dataclasses import replace
from typing import Any, Final

from onthedot.domain.deployment import Deployment
from onthedot.domain.runs.endings import all_children, closed, concluded, dead, has_graph
from onthedot.domain.runs.moves import Expect, Move
from onthedot.domain.runs.placement import place, rescheduled
from onthedot.domain.runs.records import SCHEDULED, Record, Status
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
from onthedot.domain.runs.start_window import why_expired

MAX_RESENDS: Final = 6
QUEUE_AWAY_PART: Final = 4
"""A run whose queue fails is checked again after this part of its wait, so that it is sent soon after the outage."""
LONGEST_LOOK_MS: Final = 60 * BUCKET_MS
"""The longest time between two checks of the sweep on a run that no worker has started."""


def claim(run_id: str, slot: str, generation: str, fire_at: int, *, now: int, claim_token: str) -> Move:
    """Move a PENDING run from its fire slot to a watch slot. The dispatcher with this claim token sends it."""
    return Move(
        run_id,
        Expect(frozenset({Status.PENDING}), {"generation": generation}),
        Status.DISPATCHED,
        {"slot": watch_slot(slot_shard(slot), fire_at, now), "claim_token": claim_token},
    )


def resend(run: Record, now: int, *, claim_token: str, deployment: Deployment) -> Move:
    """Move a run that no worker has started to a later watch slot, because its message is sent again.

    The distance of the slot doubles with each resend, up to an hour.

    The generation stays, so the earlier message is as valid as the new message.
    """
    wait = min((WATCH_DISTANCE << run.resends) * BUCKET_MS, LONGEST_LOOK_MS)
    return Move(
        run.run_id,
        _not_started(run),
        Status.DISPATCHED,
        {
            "slot": _watch_slot_after(run, now, wait, deployment),
            "claim_token": claim_token,
            "resends": run.resends + 1,
        },
    )


def renew(run: Record, generation: str) -> Move:
    """Make all messages of a waiting run stale except the one that carries this new generation."""
    return Move(run.run_id, _sent(run.generation), Status.DISPATCHED, {"generation": generation})


def look_later(run: Record, now: int, deployment: Deployment, part: int = 1) -> Move:
    """Move a run to a later watch slot without a resend: its message may still wait, or its queue cannot be asked.

    The sweep checks the run again after as long as it has waited so far, or a `part` of it, at most after an hour.
    """
    wait = min(max((now - run.fire_at) // part, WATCH_DISTANCE * BUCKET_MS), LONGEST_LOOK_MS)
    slot = _watch_slot_after(run, now, wait, deployment)
    return Move(run.run_id, _not_started(run), Status.DISPATCHED, {"slot": slot})


def uncount_resend(run: Record, now: int, deployment: Deployment) -> Move:
    """Count one resend less, because the message could not be sent, and look later."""
    later = look_later(run, now, deployment, QUEUE_AWAY_PART)
    return replace(later, changes={**later.changes, "resends": run.resends - 1})


def undeliverable(run: Record, now: int, deployment: Deployment) -> Move:
    """End a run as a dead letter, because its message was sent many times and no worker started it."""
    why = f"undeliverable: sent {run.resends + 1} times, never started by any worker of pool {run.pool}"
    return Move(run.run_id, _not_started(run, **all_children(run)), Status.FAILED, dead(run, now, why, deployment))


def reroute(run: Record, pool: str, now: int, why: str, *, generation: str, deployment: Deployment) -> Move:
    """Move a run to another pool, because its job needs other workers now."""
    placed = place(run.job_id, now, now, deployment)
    return Move(
        run.run_id,
        _sent(run.generation),
        placed.status,
        {**rescheduled(now, generation, placed), "pool": pool, "reason": why},
    )


def skip(
    run_id: str, generation: str, now: int, why: str, deployment: Deployment, *, half_done: Record | None = None
) -> Move:
    """End a run that must not start, with the reason.

    `half_done` is the run itself if it may have made a part of its graph.
    """
    ended = closed(now, deployment)
    if half_done is not None and has_graph(half_done):
        # A run with this reason is not revived later, because the jobs of its graph end with it.
        ended, why = concluded(half_done, now, deployment), f"{why}, before all jobs of its graph were made"
    return Move(run_id, _sent(generation), Status.SKIPPED, {**ended, "reason": why})


def skip_missed(run: Record, now: int, why: str, deployment: Deployment) -> Move:
    """End a stamped run that has not started, because its time was missed and the misfire policy does not run it."""
    expect = Expect(SCHEDULED, {"generation": run.generation})
    return Move(run.run_id, expect, Status.SKIPPED, {**closed(now, deployment), "reason": why})


def skip_expired(run: Record, now: int, deployment: Deployment) -> Move:
    """End a run that has not started within the time for its first start, PENDING or DISPATCHED."""
    expect = Expect(frozenset({run.status}), {"generation": run.generation, **all_children(run)})
    ended = {**concluded(run, now, deployment), "reason": why_expired(run)}
    return Move(run.run_id, expect, Status.SKIPPED, ended)


def name_last_started(job: Record, run_id: str) -> Move:
    """Record in a job that this run starts, so that the job's next run does not overlap it."""
    return Move(
        job.run_id,
        Expect(frozenset({job.status}), {"last_started_run": job.last_started_run}),
        job.status,
        {"last_started_run": run_id},
    )


def _sent(generation: str) -> Expect:
    return Expect(frozenset({Status.DISPATCHED}), {"generation": generation})


def _not_started(run: Record, **more: Any) -> Expect:
    """Expect that neither a worker nor another sweep has moved the run since it was read."""
    seen = {"generation": run.generation, "resends": run.resends, "slot": run.slot}
    return Expect(frozenset({Status.DISPATCHED}), {**seen, **more})


def _watch_slot_after(run: Record, now: int, wait: int, deployment: Deployment) -> str:
    return slot_name(SlotKind.WATCH, shard_of(run.job_id, deployment.shards), bucket_of(now + wait))

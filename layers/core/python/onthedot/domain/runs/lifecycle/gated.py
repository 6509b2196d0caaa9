"""The moves of a run at a gate: it waits, it is taken off the list, or it gets an instant.

A run that waits at a gate is PENDING in a waiting list, which is a slot that no pass visits.
"""

from typing import Any

from onthedot.domain.deployment import Deployment
from onthedot.domain.ids import job_id_of
from onthedot.domain.runs.moves import Expect, Move
from onthedot.domain.runs.placement import Placement, rescheduled
from onthedot.domain.runs.records import Record, Status
from onthedot.domain.runs.slots import shard_of, watch_slot


def wait(
    run_id: str,
    generation: str,
    slot: str,
    now: int,
    *,
    gate: str,
    fresh_generation: str,
    refused: str | None = None,
    why: str | None = None,
) -> Move:
    """Put a run that found no place on the waiting list of a gate. Its messages become void.

    `refused` says why the gate refused it, and `why` is the reason of the run.
    """
    changes = {"slot": slot, "generation": fresh_generation, "claim_token": None, "resends": 0, "woken": None}
    changes |= {"waited_at": gate, "waited_since": now, "waited_why": refused}
    return Move(run_id, _sent(generation), Status.PENDING, changes if why is None else {**changes, "reason": why})


def wait_for_queue(run_id: str, generation: str, fire_slot: str, slot: str) -> Move:
    """Move a PENDING run from its fire slot to the waiting list of its queue."""
    expect = Expect(frozenset({Status.PENDING}), {"generation": generation, "slot": fire_slot})
    return Move(run_id, expect, Status.PENDING, {"slot": slot})


def leave_list(run_id: str, generation: str, slot: str, fire_slot: str) -> Move:
    """Move a run from a waiting list to a fire slot, where the claim pass decides about it."""
    expect = Expect(frozenset({Status.PENDING}), {"generation": generation, "slot": slot})
    return Move(run_id, expect, Status.PENDING, {"slot": fire_slot})


def wake(
    run_id: str,
    generation: str,
    slot: str,
    *,
    fire_at: int,
    now: int,
    deployment: Deployment,
    woken: str | None,
    at: int | None = None,
    claim_token: str | None = None,
) -> Move:
    """Take a run off a waiting list, to send it: now, or for the instant `at`."""
    due = max(fire_at, now) if at is None else at
    changes: dict[str, Any] = {
        "slot": watch_slot(shard_of(job_id_of(run_id), deployment.shards), due, now),
        "woken": woken,
        "claim_token": claim_token,
    }
    if at is not None:
        changes["fire_at"] = at
    expect = Expect(frozenset({Status.PENDING}), {"generation": generation, "slot": slot})
    return Move(run_id, expect, Status.DISPATCHED, changes)


def reserve(
    run_id: str, generation: str, at: int, now: int, *, woken: str, fresh_generation: str, deployment: Deployment
) -> Move:
    """Schedule a run that came too soon for the rate of a gate for the instant that it has got there.

    It is sent at once, however far the instant is. A claim pass would send it as a newcomer, without its instant.
    """
    placed = Placement(Status.DISPATCHED, watch_slot(shard_of(job_id_of(run_id), deployment.shards), at, now))
    changes = {**rescheduled(at, fresh_generation, placed), "woken": woken}
    changes |= {"waited_at": woken, "waited_since": now, "waited_why": None}
    return Move(run_id, _sent(generation), placed.status, changes)


def fence(run: Record, now: int, *, fresh_generation: str, deployment: Deployment) -> Move:
    """Give a run that got a place and never started a new generation, so that its place can be taken back."""
    slot = watch_slot(shard_of(run.job_id, deployment.shards), run.fire_at, now)
    changes = {"slot": slot, "generation": fresh_generation, "claim_token": None, "resends": 0, "woken": None}
    return Move(run.run_id, _sent(run.generation), Status.DISPATCHED, changes)


def release(run: Record, now: int, *, fresh_generation: str, deployment: Deployment) -> Move:
    """Take a run off the waiting list of a gate that its job no longer names, to send it as a newcomer."""
    changes = {
        "slot": watch_slot(shard_of(run.job_id, deployment.shards), max(run.fire_at, now), now),
        "generation": fresh_generation,
        "claim_token": None,
        "resends": 0,
        "woken": None,
    }
    expect = Expect(frozenset({Status.PENDING}), {"generation": run.generation, "slot": run.slot})
    return Move(run.run_id, expect, Status.DISPATCHED, changes)


def _sent(generation: str) -> Expect:
    return Expect(frozenset({Status.DISPATCHED}), {"generation": generation})

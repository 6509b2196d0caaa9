"""The moves of a run at a gate: it waits there, is woken, gets an instant for its start, or loses its place."""

from typing import Any

from onthedot.core.ids import job_id_of
from onthedot.core.lifecycle import sent
from onthedot.core.moves import Expect, Move
from onthedot.core.ports import SlotEntry
from onthedot.core.records import Record, Status
from onthedot.core.slots import Deployment, Placement, rescheduled, shard_of, watch_slot


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
    """Put a run that found no place on the waiting list of a gate. Its messages become void."""
    changes = {**_unsent(slot, fresh_generation), "waited_at": gate, "waited_since": now, "waited_why": refused}
    return Move(run_id, sent(generation), Status.PENDING, changes if why is None else {**changes, "reason": why})


def wake(
    run: Record | SlotEntry,
    now: int,
    *,
    deployment: Deployment,
    woken: str | None,
    at: int | None = None,
    claim_token: str | None = None,
) -> Move:
    """Take a run off a waiting list, to send it: now, or for the instant `at`."""
    due = max(run.due_at, now) if at is None else at
    slot = watch_slot(shard_of(job_id_of(run.run_id), deployment.shards), due, now)
    changes: dict[str, Any] = {"slot": slot, "woken": woken, "claim_token": claim_token}
    if at is not None:
        changes["due_at"] = at
    expect = Expect(frozenset({Status.PENDING}), {"generation": run.generation, "slot": run.slot})
    return Move(run.run_id, expect, Status.DISPATCHED, changes)


def reserve(
    run_id: str, generation: str, at: int, now: int, *, woken: str, fresh_generation: str, deployment: Deployment
) -> Move:
    """Schedule a run that came too soon for the rate of a gate for the instant that it has got there.

    It is sent at once, however far that is: a claim pass would send it as a newcomer, without its instant.
    """
    placed = Placement(Status.DISPATCHED, watch_slot(shard_of(job_id_of(run_id), deployment.shards), at, now))
    changes = {**rescheduled(at, fresh_generation, placed), "woken": woken}
    changes |= {"waited_at": woken, "waited_since": now, "waited_why": None}
    return Move(run_id, sent(generation), placed.status, changes)


def fence(run: Record, now: int, *, fresh_generation: str, deployment: Deployment) -> Move:
    """Give a run that got a place and never started a new generation, so that its place can be taken back."""
    slot = watch_slot(shard_of(run.job_id, deployment.shards), run.due_at, now)
    return Move(run.run_id, sent(run.generation), Status.DISPATCHED, _unsent(slot, fresh_generation))


def release(run: Record, now: int, *, fresh_generation: str, deployment: Deployment) -> Move:
    """Take a run off the waiting list of a gate that its job no longer names, to send it as a newcomer."""
    slot = watch_slot(shard_of(run.job_id, deployment.shards), max(run.due_at, now), now)
    expect = Expect(frozenset({Status.PENDING}), {"generation": run.generation, "slot": run.slot})
    return Move(run.run_id, expect, Status.DISPATCHED, _unsent(slot, fresh_generation))


def _unsent(slot: str, generation: str) -> dict[str, Any]:
    """Return the fields of a run that has another slot and no valid message."""
    return {"slot": slot, "generation": generation, "claim_token": None, "resends": 0, "woken": None}

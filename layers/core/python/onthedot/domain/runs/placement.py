"""Choose the status and the slot of a run that is scheduled now."""

from dataclasses import dataclass
from typing import Any

from onthedot.domain.deployment import Deployment
from onthedot.domain.runs.records import Status
from onthedot.domain.runs.slots import fire_slot, is_near, shard_of, watch_slot


@dataclass(frozen=True, slots=True)
class Placement:
    """The status and the slot that a run gets when it is scheduled, or scheduled again."""

    status: Status
    slot: str


def place(job_id: str, fire_at: int, now: int, deployment: Deployment, until: int | None = None) -> Placement:
    """Choose the direct path for a run that is near, else its fire slot.

    The caller sends a run on the direct path at once. A run in a fire slot waits for the claim pass. With `until`, the
    end of a slot that is claimed early, a run that is due before it goes the direct path too.
    """
    shard = shard_of(job_id, deployment.shards)
    if is_near(fire_at, now, deployment.lookahead) or fire_at < (until or 0):
        return Placement(Status.DISPATCHED, watch_slot(shard, fire_at, now))
    return Placement(Status.PENDING, fire_slot(shard, fire_at, now))


def rescheduled(at: int, generation: str, placed: Placement) -> dict[str, Any]:
    """Return the fields of a run that is scheduled again: a new generation makes all earlier messages void."""
    return {"fire_at": at, "generation": generation, "slot": placed.slot, "claim_token": None, "resends": 0}

"""Choose the slot of a run that is scheduled now."""

from dataclasses import dataclass

from onthedot.domain.deployment import Deployment
from onthedot.domain.runs.records import Status
from onthedot.domain.runs.slots import fire_slot, is_near, shard_of, watch_slot


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a run that is (re)scheduled now stands next."""

    status: Status
    slot: str


def place(job_id: str, fire_at: int, now: int, deployment: Deployment) -> Placement:
    """Near runs are handed over at once (the direct path); others wait in their fire slot for the claim pass."""
    shard = shard_of(job_id, deployment.shards)
    if is_near(fire_at, now, deployment.lookahead):
        return Placement(Status.DISPATCHED, watch_slot(shard, fire_at, now))
    return Placement(Status.PENDING, fire_slot(shard, fire_at, now))

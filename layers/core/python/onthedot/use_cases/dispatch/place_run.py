"""Where a new run goes, with the tenants' limits and the queues' backlog in mind: the same on every path."""

from dataclasses import replace

from onthedot.domain.runs.placement import Placement, place
from onthedot.domain.runs.records import Priority, Record, Status
from onthedot.domain.runs.slots import fire_slot, shard_of
from onthedot.ports import Engine


def place_run(
    engine: Engine, job_id: str, fire_at: int, now: int, *, tenant: str, pool: str, priority: Priority
) -> Placement:
    """The direct path for what is near, unless its tenant or queue is held back: then the claim pass decides."""
    placed = place(job_id, fire_at, now, engine.deployment)
    if placed.status is Status.DISPATCHED and engine.limits.read().why_throttled(tenant, pool, priority):
        return Placement(Status.PENDING, fire_slot(shard_of(job_id, engine.deployment.shards), fire_at, now))
    return placed


def parked(engine: Engine, run: Record, now: int) -> Record:
    """The run, waiting in its fire slot for the claim pass."""
    slot = fire_slot(shard_of(run.job_id, engine.deployment.shards), run.fire_at, now)
    return replace(run, status=Status.PENDING, slot=slot, claim_token=None)

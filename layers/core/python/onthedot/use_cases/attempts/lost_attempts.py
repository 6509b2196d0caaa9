"""Find out whether an attempt whose lease is over was lost, or was never begun because its worker never knew of it."""

from onthedot.domain.errors import Unavailable
from onthedot.domain.runs import lifecycle
from onthedot.domain.runs.moves import Move
from onthedot.domain.runs.records import Record, Status
from onthedot.domain.workers.never_begun import is_never_begun, may_be_never_begun
from onthedot.domain.workers.pools import PoolKind
from onthedot.ports import Engine


def was_never_begun(engine: Engine, run: Record, now: int) -> bool:
    """Return whether the worker of an attempt whose lease is over lives and never had the run.

    When the registry cannot be read, the attempt counts as lost.
    """
    pool = engine.deployment.pools.get(run.pool)
    if pool is None or pool.kind is not PoolKind.PULL or run.worker is None:
        return False
    if run.status is not Status.RUNNING or not lifecycle.lease_is_over(run, now) or not may_be_never_begun(run):
        return False
    try:
        return is_never_begun(run, engine.registry.find(run.worker))
    except Unavailable:
        return False


def end_lost_attempt(engine: Engine, run: Record, now: int, generation: str) -> Move:
    """Return the move that ends an attempt whose lease is over, and schedules the next one."""
    end = lifecycle.take_back if was_never_begun(engine, run, now) else lifecycle.lose
    return end(run, now, generation=generation, deployment=engine.deployment)

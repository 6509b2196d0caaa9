"""Which pool's workers a job goes to: the smallest that fits what it needs."""

from collections import defaultdict
from typing import Final

from onthedot.domain.errors import InvalidRequest, Problem
from onthedot.domain.runs.records import Definition
from onthedot.domain.workers.pools import Pool, PoolKind, needs_of
from onthedot.domain.workers.records import WorkerStatus
from onthedot.ports import Engine

_ADVICE: Final = {
    "requirements.capabilities": "start a worker that can (--capability, --shell, --app, --aws), or leave it out",
    "requirements.cpu": "ask for less, or add a larger pool to the stage",
    "requirements.memory_mb": "ask for less, or add a larger pool to the stage",
    "timeout_seconds": "give less, or add a pool to the stage that runs longer",
}


def choose_pool(engine: Engine, tenant: str, definition: Definition) -> str:
    """The pool's name. Raises InvalidRequest naming what no pool has, and Unavailable.

    Live workers are looked at only when no pool promises enough by itself.
    """
    needs = needs_of(definition.target, definition.requirements, definition.timeout_seconds)
    chosen = engine.deployment.pools.choose(needs)
    if not isinstance(chosen, Pool) and not needs.capabilities <= _promised(engine):
        chosen = engine.deployment.pools.choose(needs, _offered(engine, tenant))
    if isinstance(chosen, Pool):
        return chosen.name
    raise InvalidRequest(*(Problem(lack.field, f"{lack.message}; {_ADVICE[lack.field]}") for lack in chosen))


def _promised(engine: Engine) -> frozenset[str]:
    return frozenset().union(*(pool.capabilities for pool in engine.deployment.pools.all))


def _offered(engine: Engine, tenant: str) -> dict[str, frozenset[str]]:
    """What live workers of pull pools can do that their pools do not promise, by pool."""
    now = engine.clock.now()
    offered: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    for worker in engine.registry.workers():
        pool = engine.deployment.pools.get(worker.pool)
        ours = worker.tenant in (None, tenant) and worker.status(now) is WorkerStatus.ACTIVE
        if ours and pool is not None and pool.kind is PoolKind.PULL:
            offered[worker.pool] |= worker.capabilities
    return offered

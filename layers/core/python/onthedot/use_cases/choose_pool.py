"""Which pool's workers a job goes to: the smallest that fits what it needs."""

from collections import defaultdict

from onthedot.domain.errors import InvalidRequest, Problem
from onthedot.domain.pools import Needs, Pool, PoolKind, needs_of
from onthedot.domain.run import Definition
from onthedot.domain.workers import WorkerStatus
from onthedot.ports import Engine


def choose_pool(engine: Engine, tenant: str, definition: Definition) -> str:
    """The pool's name. Raises InvalidRequest naming what no pool has, and Unavailable.

    Live workers are looked at only when no pool promises enough by itself.
    """
    needs = needs_of(definition.target, definition.requirements, definition.timeout_seconds)
    chosen = engine.plan.pools.choose(needs)
    if not isinstance(chosen, Pool) and not needs.capabilities <= _promised(engine):
        chosen = engine.plan.pools.choose(needs, _offered(engine, tenant, needs))
    if isinstance(chosen, Pool):
        return chosen.name
    raise InvalidRequest(*(Problem(lack.field, f"{lack.what}; no pool fits") for lack in chosen))


def _promised(engine: Engine) -> frozenset[str]:
    return frozenset().union(*(pool.capabilities for pool in engine.plan.pools.all))


def _offered(engine: Engine, tenant: str, needs: Needs) -> dict[str, frozenset[str]]:
    """What live workers of pull pools can do that their pools do not promise, by pool."""
    now = engine.clock.now()
    offered: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    for worker in engine.registry.workers():
        pool = engine.plan.pools.get(worker.pool)
        ours = worker.tenant in (None, tenant) and worker.status(now) is WorkerStatus.ACTIVE
        if ours and pool is not None and pool.kind is PoolKind.PULL and worker.can_do(needs):
            offered[worker.pool] |= worker.capabilities
    return offered

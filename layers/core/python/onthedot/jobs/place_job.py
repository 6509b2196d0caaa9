"""Decide where a new job or run goes: whether the stage allows its target, which pool runs it, which slot it is in."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from onthedot.core.choices import Priority
from onthedot.core.errors import InvalidRequest, Problem
from onthedot.core.pools import Pool, PoolKind, needs_of
from onthedot.core.records import Definition
from onthedot.core.slots import Placement, place
from onthedot.engine import Engine
from onthedot.gates.waiting import place_near
from onthedot.targets.rules import AllowList
from onthedot.targets.types import AwsTarget, LambdaTarget, Target
from onthedot.workers.records import WorkerStatus

MOST_NAMED: Final = 10
_ADVICE: Final = {
    "requirements.capabilities": "start a worker that can (--capability, --shell, --app, --aws), or leave it out",
    "requirements.cpu": "ask for less, or add a larger pool to the stage",
    "requirements.memory_mb": "ask for less, or add a larger pool to the stage",
    "requirements.storage_mb": "ask for less, or add a larger pool to the stage",
    "timeout_seconds": "give less, or add a pool to the stage that runs longer",
}


def choose_pool(engine: Engine, tenant: str, definition: Definition) -> str:
    """Check that the stage allows the job's target, and return the name of the smallest pool that fits the job.

    Raise InvalidRequest that names the target when it is not allowed, or the need that no pool meets. Raise Unavailable
    when the workers cannot be read.
    """
    refuse_forbidden(engine.deployment.allow_list, definition.target)
    return smallest_pool(engine, tenant, definition)


def refuse_forbidden(allowed: AllowList, target: Target) -> None:
    """Raise InvalidRequest for a function or an AWS call that the stage does not allow."""
    if isinstance(target, LambdaTarget) and not allowed.allows_function(target.function):
        advice = _allowed_instead(allowed.functions, "functions", "lambda_functions")
        raise InvalidRequest(Problem("target.function", advice))
    if isinstance(target, AwsTarget) and not allowed.allows_call(target.service, target.action):
        calls = [f"{call.service}:{call.action}" for call in allowed.calls]
        raise InvalidRequest(Problem("target.action", _allowed_instead(calls, "AWS calls", "aws_calls")))


def smallest_pool(engine: Engine, tenant: str, definition: Definition) -> str:
    """Return the name of the smallest pool that meets the job's needs.

    Live workers are read only when no pool promises enough by itself. Raise InvalidRequest that names the need which no
    pool meets, and Unavailable.
    """
    needs = needs_of(definition.target, definition.requirements, definition.timeout_seconds)
    chosen = engine.deployment.pools.choose(needs)
    if not isinstance(chosen, Pool) and not needs.capabilities <= _promised(engine):
        chosen = engine.deployment.pools.choose(needs, _offered(engine, tenant))
    if isinstance(chosen, Pool):
        return chosen.name
    raise InvalidRequest(*(Problem(lack.field, f"{lack.message}; {_ADVICE[lack.field]}") for lack in chosen))


def place_run(engine: Engine, job_id: str, due_at: int, now: int, *, pool: str, priority: Priority) -> Placement:
    """Choose the slot of a new run: a watch slot when it is near, so that it is sent at once, else its fire slot.

    A near run goes on the waiting list of its queue while the queue is closed.
    """
    placed = place(job_id, due_at, now, engine.deployment)
    return place_near(engine, job_id, placed, now, pool=pool, priority=priority)


def _allowed_instead(allowed: Sequence[str], things: str, setting: str) -> str:
    if not allowed:
        return f"is not allowed: this stage allows no {things}; allow it with the context value {setting} of the stage"
    named = ", ".join([*allowed[:MOST_NAMED], *(["…"] if len(allowed) > MOST_NAMED else [])])
    return f"is not allowed; this stage allows {named} (context value {setting})"


def _promised(engine: Engine) -> frozenset[str]:
    return frozenset().union(*(pool.capabilities for pool in engine.deployment.pools.all))


def _offered(engine: Engine, tenant: str) -> dict[str, frozenset[str]]:
    """Return, by pool, the capabilities of live workers of pull pools, promised by their pools or not."""
    now = engine.clock.now()
    offered: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    for worker in engine.registry.workers():
        pool = engine.deployment.pools.get(worker.pool)
        serves = worker.tenant in (None, tenant) and worker.status(now) is WorkerStatus.ACTIVE
        if serves and pool is not None and pool.kind is PoolKind.PULL:
            offered[worker.pool] |= worker.capabilities
    return offered

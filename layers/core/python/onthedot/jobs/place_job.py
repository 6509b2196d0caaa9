"""Decide where a new job or run goes: whether the stage allows its target, which pool runs it, which slot it is in."""

from collections.abc import Sequence
from typing import Final

from onthedot.core.choices import Priority
from onthedot.core.errors import InvalidRequest, Problem
from onthedot.core.find_pool import smallest_pool
from onthedot.core.records import Definition
from onthedot.core.slots import Placement, place
from onthedot.engine import Engine
from onthedot.gates.waiting import place_near
from onthedot.targets.rules import AllowList
from onthedot.targets.types import AwsTarget, LambdaTarget, Target

MOST_NAMED: Final = 10


def choose_pool(engine: Engine, tenant: str, definition: Definition) -> str:
    """Raise InvalidRequest when the target is not allowed or no pool meets a need, and Unavailable."""
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

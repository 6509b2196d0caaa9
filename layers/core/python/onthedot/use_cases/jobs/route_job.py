"""Where a job goes: whether the stage lets it do what it wants, and which pool's workers do it."""

from collections.abc import Sequence
from typing import Final

from onthedot.domain.errors import InvalidRequest, Problem
from onthedot.domain.runs.records import Definition
from onthedot.domain.targets.allow_list import AllowList
from onthedot.domain.targets.types import AwsTarget, LambdaTarget, Target
from onthedot.ports import Engine
from onthedot.use_cases.jobs.choose_pool import choose_pool

MOST_NAMED: Final = 10


def route_job(engine: Engine, tenant: str, definition: Definition) -> str:
    """The pool's name. Raises InvalidRequest naming what is not allowed, or what no pool has, and Unavailable."""
    refuse_forbidden(engine.deployment.allow_list, definition.target)
    return choose_pool(engine, tenant, definition)


def refuse_forbidden(allowed: AllowList, target: Target) -> None:
    """Raises InvalidRequest for a function or an AWS call that the stage does not allow."""
    if isinstance(target, LambdaTarget) and not allowed.allows_function(target.function):
        raise InvalidRequest(Problem("target.function", _advice(allowed.functions, "functions", "lambda_functions")))
    if isinstance(target, AwsTarget) and not allowed.allows_call(target.service, target.action):
        calls = [f"{call.service}:{call.action}" for call in allowed.calls]
        raise InvalidRequest(Problem("target.action", _advice(calls, "AWS calls", "aws_calls")))


def _advice(allowed: Sequence[str], what: str, setting: str) -> str:
    if not allowed:
        return f"is not allowed: this stage allows no {what}; allow it with the context value {setting} of the stage"
    named = ", ".join([*allowed[:MOST_NAMED], *(["…"] if len(allowed) > MOST_NAMED else [])])
    return f"is not allowed; this stage allows {named} (context value {setting})"

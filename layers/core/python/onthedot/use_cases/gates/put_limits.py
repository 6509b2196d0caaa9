"""Set and remove the limits of a tenant."""

from dataclasses import replace

from onthedot.domain.access import NAME_RULE, RESERVED_TENANT, is_name
from onthedot.domain.errors import InvalidRequest, Problem
from onthedot.domain.gates.limits import TenantLimits, problems
from onthedot.domain.gates.names import tenant_gate
from onthedot.ports import Engine
from onthedot.use_cases.gates.change_limits import change_limits


def put_limits(engine: Engine, tenant: str, limits: TenantLimits, by: str | None = None) -> TenantLimits:
    """Set all limits of a tenant, in the name of a token, and return them. Then they are in force everywhere.

    Raise InvalidRequest or Unavailable.
    """
    if found := [*_tenant_problems(tenant), *problems(limits)]:
        raise InvalidRequest(*found)
    if tenant == RESERVED_TENANT:
        raise InvalidRequest(Problem("tenant", f"{RESERVED_TENANT} has the stage's own jobs, which have no limits"))

    stored = limits

    def write() -> None:
        nonlocal stored
        stored = replace(limits, put_at=engine.clock.now(), put_by=by)
        engine.limits.put(tenant, stored)

    change_limits(engine, tenant_gate(tenant), limits, write)
    return stored


def clear_limits(engine: Engine, tenant: str) -> bool:
    """Remove the limits of a tenant. Return whether it had any. Raise InvalidRequest or Unavailable."""
    if found := _tenant_problems(tenant):
        raise InvalidRequest(*found)
    had_limits = engine.limits.find(tenant) is not None
    change_limits(engine, tenant_gate(tenant), None, lambda: engine.limits.put(tenant, None))
    return had_limits


def _tenant_problems(tenant: str) -> list[Problem]:
    if is_name(tenant):
        return []
    return [Problem("tenant", f"is not the name of a tenant; {NAME_RULE}")]

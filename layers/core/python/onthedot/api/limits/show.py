"""Show the limits of tenants and their use."""

from collections.abc import Sequence

from onthedot.api.gates.show import limits_view, use_view
from onthedot.api.limits.views import AllLimitsView, TenantLimitsView
from onthedot.domain.gates.limits import TenantLimits
from onthedot.use_cases.gates.show_gates import GateUse


def tenant_limits_view(tenant: str, limits: TenantLimits, use: GateUse | None, now: int) -> TenantLimitsView:
    return {"tenant": tenant, **limits_view(limits), "weight": limits.weight, **use_view(use, now)}


def all_limits_view(
    tenants: Sequence[tuple[str, TenantLimits, GateUse | None]], next_cursor: str | None, now: int
) -> AllLimitsView:
    shown = [tenant_limits_view(tenant, limits, use, now) for tenant, limits, use in tenants]
    return {"limits": shown, "next_cursor": next_cursor}

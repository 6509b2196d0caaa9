"""Types of the answers about limits of tenants."""

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.
from typing_extensions import TypedDict

from onthedot.api.gates.views import LimitsView, UseView


class TenantLimitsView(LimitsView, UseView):
    """The limits of a tenant, and their use."""

    tenant: str
    weight: int


class AllLimitsView(TypedDict):
    """One page of the tenants that have limits, by name. Send `next_cursor` as `cursor` to get the next page."""

    limits: list[TenantLimitsView]
    next_cursor: str | None


class ClearedView(TypedDict):
    """The answer to a delete: whether the tenant had limits. It has none now."""

    deleted: bool

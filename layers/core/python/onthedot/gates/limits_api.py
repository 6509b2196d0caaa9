"""Limits of tenants, for admins."""

from collections.abc import Sequence
from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from onthedot.api.fields import PageQuery, describe_nulls
from onthedot.api.lists import open_cursor, sign_cursor
from onthedot.api.reading import SMALL_BODY, read_model, read_object, read_without_nulls
from onthedot.api.route import RequestContext, Route
from onthedot.core.gate_names import tenant_gate
from onthedot.gates import manage
from onthedot.gates import show as showing
from onthedot.gates.api import LimitsView, UseView, limits_view, use_view
from onthedot.gates.fields import NO_LIMIT, GateFields, describe_bounds
from onthedot.gates.limits import MOST_WEIGHT, TenantLimits
from onthedot.gates.show import GateUse

DEFAULTS: Final = NO_LIMIT | {"weight"}
"""Fields that may be null."""


def _with_nulls(schema: dict[str, Any]) -> None:
    describe_nulls(schema, DEFAULTS)


class TenantLimitsFields(GateFields):
    """The limits of a tenant. They replace all limits that it has. null, or a field that is left out: no limit."""

    model_config = ConfigDict(json_schema_extra=_with_nulls)

    weight: Annotated[
        int | None,
        Field(
            description="share of the tenant beside tenants of weight 1 (1)",
            json_schema_extra=describe_bounds(1, MOST_WEIGHT),
        ),
    ] = None

    def limits(self) -> TenantLimits:
        """Return the limits."""
        weight = 1 if self.weight is None else self.weight
        return TenantLimits(self.in_flight, self.per_second, self.burst, bool(self.paused), weight=weight)


def read_tenant_limits(body: bytes) -> TenantLimits:
    """Return the limits in a body. Raise ApiError or InvalidRequest."""
    return read_without_nulls(TenantLimitsFields, read_object(body, SMALL_BODY), DEFAULTS).limits()


# pydantic describes TypedDicts of `typing` only from Python 3.12 on.


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


def tenant_limits_view(tenant: str, limits: TenantLimits, use: GateUse | None, now: int) -> TenantLimitsView:
    return {"tenant": tenant, **limits_view(limits), "weight": limits.weight, **use_view(use, now)}


def all_limits_view(
    tenants: Sequence[tuple[str, TenantLimits, GateUse | None]], next_cursor: str | None, now: int
) -> AllLimitsView:
    shown = [tenant_limits_view(tenant, limits, use, now) for tenant, limits, use in tenants]
    return {"limits": shown, "next_cursor": next_cursor}


_PAGES: Final = "limits"
"""A cursor is the name of a tenant. An admin may read all of them, so it needs no secret."""


def list_limits(context: RequestContext) -> AllLimitsView:
    """Answer a page of the tenants that have limits."""
    query = read_model(PageQuery, context.request.query)
    page = showing.list_limits(context.engine, query.limit, open_cursor(_PAGES, query.cursor))
    return all_limits_view(page.items, sign_cursor(_PAGES, page.cursor), context.engine.clock.now())


def set_limits(context: RequestContext) -> TenantLimitsView:
    """Replace the limits of a tenant. Answer when they are in force."""
    tenant, limits = context.id, read_tenant_limits(context.request.body)
    limits = manage.put_limits(context.engine, tenant, limits, context.caller)
    use = showing.use_of(context.engine, tenant_gate(tenant))
    return tenant_limits_view(tenant, limits, use, context.engine.clock.now())


def clear_limits(context: RequestContext) -> ClearedView:
    """Remove the limits of a tenant."""
    return {"deleted": manage.clear_limits(context.engine, context.id)}


ROUTES: Final = (
    Route(
        "GET",
        "/v1/limits",
        list_limits,
        "List the tenants that have limits, with their use",
        AllLimitsView,
        query=PageQuery,
        for_admins=True,
        errors=(422,),
    ),
    Route(
        "PUT",
        "/v1/limits/{tenant}",
        set_limits,
        "Replace the limits of a tenant; answers when they are in force",
        TenantLimitsView,
        body=TenantLimitsFields,
        for_admins=True,
        errors=(400, 413, 422),
    ),
    Route(
        "DELETE",
        "/v1/limits/{tenant}",
        clear_limits,
        "Remove the limits of a tenant, which goes on without",
        ClearedView,
        for_admins=True,
        errors=(422,),
    ),
)

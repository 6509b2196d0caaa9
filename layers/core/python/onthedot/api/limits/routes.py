"""Routes of the limits of tenants, for admins: list, set and remove them."""

from typing import Final

from onthedot.api.core.cursors import open_cursor, sign_cursor
from onthedot.api.core.fields import PageQuery
from onthedot.api.core.reading import read_model
from onthedot.api.core.route import RequestContext, Route
from onthedot.api.limits import show
from onthedot.api.limits.fields import TenantLimitsFields, read_tenant_limits
from onthedot.api.limits.views import AllLimitsView, ClearedView, TenantLimitsView
from onthedot.domain.gates.names import tenant_gate
from onthedot.use_cases.gates import put_limits
from onthedot.use_cases.gates import show_gates as showing

_PAGES: Final = "limits"
"""A cursor is the name of a tenant. An admin may read all of them, so it needs no secret."""


def list_limits(context: RequestContext) -> AllLimitsView:
    """Answer a page of the tenants that have limits."""
    query = read_model(PageQuery, context.request.query)
    page = showing.list_limits(context.engine, query.limit, open_cursor(_PAGES, query.cursor))
    return show.all_limits_view(page.items, sign_cursor(_PAGES, page.cursor), context.engine.clock.now())


def set_limits(context: RequestContext) -> TenantLimitsView:
    """Replace the limits of a tenant. Answer when they are in force."""
    tenant, limits = context.id, read_tenant_limits(context.request.body)
    limits = put_limits.put_limits(context.engine, tenant, limits, context.caller)
    use = showing.use_of(context.engine, tenant_gate(tenant))
    return show.tenant_limits_view(tenant, limits, use, context.engine.clock.now())


def clear_limits(context: RequestContext) -> ClearedView:
    """Remove the limits of a tenant."""
    return {"deleted": put_limits.clear_limits(context.engine, context.id)}


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

"""Routes of gates: set, show, list and delete them."""

from typing import Final

from onthedot.api.core.cursors import open_cursor, sign_cursor
from onthedot.api.core.fields import PageQuery
from onthedot.api.core.reading import read_model
from onthedot.api.core.route import RequestContext, Route
from onthedot.api.gates import show
from onthedot.api.gates.fields import GateFields, read_limits
from onthedot.api.gates.views import GateDetailsView, GatesView
from onthedot.jobs.answers import DeletedView
from onthedot.use_cases.access.signing_keys import keys_of
from onthedot.use_cases.gates import delete_gate as deleting
from onthedot.use_cases.gates import show_gates as showing
from onthedot.use_cases.gates.put_gate import put_gate


def set_gate(context: RequestContext) -> GateDetailsView:
    """Make a gate, or replace its limits. Answer when they are in force."""
    put_gate(context.engine, context.tenant, context.id, read_limits(context.request.body), context.caller)
    return show_gate(context)


def show_gate(context: RequestContext) -> GateDetailsView:
    """Answer a gate or one key of it, with its use."""
    details = showing.show_gate(context.engine, context.tenant, context.id)
    return show.gate_details_view(details, context.engine.clock.now())


def list_gates(context: RequestContext) -> GatesView:
    """Answer a page of the tenant's gates."""
    query = read_model(PageQuery, context.request.query)
    # Viewers are not shown the signing key, so they cannot make a cursor.
    secret = keys_of(context.engine, context.tenant)[0].secret
    page = showing.list_gates(context.engine, context.tenant, query.limit, open_cursor(secret, query.cursor))
    return show.gates_view(page.items, sign_cursor(secret, page.cursor), context.engine.clock.now())


def delete_gate(context: RequestContext) -> DeletedView:
    """Delete a gate."""
    deleting.delete_gate(context.engine, context.tenant, context.id)
    return {"deleted": True}


ROUTES: Final = (
    Route(
        "PUT",
        "/v1/gates/{name}",
        set_gate,
        "Make a gate, or replace its limits; answers when they are in force",
        GateDetailsView,
        body=GateFields,
        errors=(400, 413, 422),
    ),
    Route("GET", "/v1/gates", list_gates, "List gates with their use", GatesView, query=PageQuery, errors=(422,)),
    Route(
        "GET",
        "/v1/gates/{name}",
        show_gate,
        "Get a gate, or one key of it as name:key, with its holders and the runs that wait",
        GateDetailsView,
        errors=(404,),
    ),
    Route(
        "DELETE",
        "/v1/gates/{name}",
        delete_gate,
        "Delete a gate; runs that wait there go on without it",
        DeletedView,
        errors=(404, 422),
    ),
)

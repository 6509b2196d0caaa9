"""Gates: set, show, list and delete them. Limits of tenants, for admins: set, list and clear them."""

from typing import Final

from typing_extensions import TypedDict

from onthedot.access.signing_keys import keys_of
from onthedot.api.fields import PageQuery
from onthedot.api.lists import open_cursor, sign_cursor
from onthedot.api.reading import read_model
from onthedot.api.route import RequestContext, Route
from onthedot.core.clock import format_instant
from onthedot.core.gate_names import GateId, tenant_gate
from onthedot.gates import manage
from onthedot.gates import show as showing
from onthedot.gates.fields import GateFields, TenantLimitsFields, read_limits
from onthedot.gates.limits import GateLimits, TenantLimits
from onthedot.gates.show import Count, GateUse, read_named
from onthedot.jobs.answers import DeletedView

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.


class LimitsView(TypedDict):
    """Limits. A limit that is null does not limit. `changed_by` is the name of the token that set them."""

    in_flight: int | None
    per_second: float | None
    burst: int | None
    paused: bool
    changed_at: str | None
    changed_by: str | None


class UseView(TypedDict):
    """The use of limits. All are null when they cannot be read now.

    `in_use` is the number of attempts that have a place. `waiting` is the number of runs that wait, counted up to
    1,000. Then `waiting_is_more` says whether there are more.
    """

    in_use: int | None
    waiting: int | None
    waiting_is_more: bool | None
    oldest_waiting_seconds: float | None


class GateView(LimitsView, UseView):
    """A gate with its limits and its use. The use of a gate does not contain that of its keys."""

    name: str


class GatesView(TypedDict):
    """One page of a tenant's gates, by name. Send `next_cursor` as `cursor` to get the next page."""

    gates: list[GateView]
    next_cursor: str | None


class HolderView(TypedDict):
    """An attempt that has a place. `worker_id` is null before its start. `name` is of its job."""

    execution_id: str
    job_id: str | None
    name: str | None
    since: str
    worker_id: str | None


class WaitingRunView(TypedDict):
    """A run that waits at a gate. `name` is of its job."""

    execution_id: str
    job_id: str | None
    name: str | None
    fire_time: str


class GateDetailsView(GateView):
    """A gate or one key of it.

    `holders` are the 100 attempts that have had their places longest. `first_waiting` are the 20 runs that wait
    longest, not counting runs that wait at its keys. `waiting_keys` is the number of keys at which runs may wait,
    counted up to 1,000, and `first_waiting_keys` has the first 100 of them.
    """

    holders: list[HolderView]
    first_waiting: list[WaitingRunView]
    waiting_keys: int
    waiting_keys_is_more: bool
    first_waiting_keys: list[str]


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


def limits_view(limits: GateLimits) -> LimitsView:
    return {
        "in_flight": limits.in_flight,
        "per_second": limits.per_second,
        "burst": limits.burst,
        "paused": limits.paused,
        "changed_at": format_instant(limits.put_at) if limits.put_at else None,
        "changed_by": limits.put_by,
    }


def use_view(use: GateUse | None, now: int) -> UseView:
    """Return the use of limits. None: it cannot be read."""
    if use is None:
        return {"in_use": None, "waiting": None, "waiting_is_more": None, "oldest_waiting_seconds": None}
    return {
        "in_use": use.in_use,
        "waiting": use.waiting.number,
        "waiting_is_more": use.waiting.is_more,
        "oldest_waiting_seconds": None if use.oldest_at is None else max(0, now - use.oldest_at) / 1000,
    }


def gate_view(name: str, limits: GateLimits, use: GateUse | None, now: int) -> GateView:
    return {"name": name, **limits_view(limits), **use_view(use, now)}


def tenant_limits_view(tenant: str, limits: TenantLimits, use: GateUse | None, now: int) -> TenantLimitsView:
    return {"tenant": tenant, **limits_view(limits), "weight": limits.weight, **use_view(use, now)}


def set_gate(context: RequestContext) -> GateDetailsView:
    limits = read_limits(GateFields, context.request.body).limits()
    manage.put_gate(context.engine, context.tenant, context.id, limits, context.caller)
    return show_gate(context)


def show_gate(context: RequestContext) -> GateDetailsView:
    engine, gate = context.engine, GateId.of(context.tenant, context.id)
    limits = showing.find_gate(engine, gate)
    state = engine.gates.read(gate)
    holders = showing.holders_at(engine, gate, state)
    keys, waiting_keys = ([], Count()) if gate.is_key else showing.waiting_keys(engine, gate)
    use = showing.use_at(engine, gate, state, len(holders))
    held = holders[: showing.MOST_NAMED]
    runs = read_named(engine, [*(holder.run_id for holder in held), *(entry.run_id for entry in use.first)])
    return {
        **gate_view(gate.named, limits, use, engine.clock.now()),
        "holders": [
            {
                "execution_id": holder.run_id,
                "job_id": runs.job_id(holder.run_id),
                "name": runs.name(holder.run_id),
                "since": format_instant(holder.at),
                "worker_id": runs.worker(holder),
            }
            for holder in held
        ],
        "first_waiting": [
            {
                "execution_id": entry.run_id,
                "job_id": runs.job_id(entry.run_id),
                "name": runs.name(entry.run_id),
                "fire_time": format_instant(entry.due_at),
            }
            for entry in use.first
        ],
        "waiting_keys": waiting_keys.number,
        "waiting_keys_is_more": waiting_keys.is_more,
        "first_waiting_keys": keys[: showing.MOST_NAMED],
    }


def list_gates(context: RequestContext) -> GatesView:
    query = read_model(PageQuery, context.request.query)
    # Viewers are not shown the signing key, so they cannot make a cursor.
    secret = keys_of(context.engine, context.tenant)[0].secret
    page = showing.list_gates(context.engine, context.tenant, query.limit, open_cursor(secret, query.cursor))
    now = context.engine.clock.now()
    return {"gates": [gate_view(*gate, now) for gate in page.items], "next_cursor": sign_cursor(secret, page.cursor)}


def delete_gate(context: RequestContext) -> DeletedView:
    manage.delete_gate(context.engine, context.tenant, context.id)
    return {"deleted": True}


_PAGES: Final = "limits"
"""A cursor is the name of a tenant. An admin may read all of them, so it needs no secret."""


def list_limits(context: RequestContext) -> AllLimitsView:
    query = read_model(PageQuery, context.request.query)
    page = showing.list_limits(context.engine, query.limit, open_cursor(_PAGES, query.cursor))
    now = context.engine.clock.now()
    shown = [tenant_limits_view(*limits, now) for limits in page.items]
    return {"limits": shown, "next_cursor": sign_cursor(_PAGES, page.cursor)}


def set_limits(context: RequestContext) -> TenantLimitsView:
    tenant, limits = context.id, read_limits(TenantLimitsFields, context.request.body).limits()
    limits = manage.put_limits(context.engine, tenant, limits, context.caller)
    use = showing.use_of(context.engine, tenant_gate(tenant))
    return tenant_limits_view(tenant, limits, use, context.engine.clock.now())


def clear_limits(context: RequestContext) -> ClearedView:
    return {"deleted": manage.clear_limits(context.engine, context.id)}


ROUTES: Final = (
    Route(
        "PUT",
        "/v1/gates/{name}",
        set_gate,
        "Make a gate, or replace its limits; answers when they are in force",
        GateDetailsView,
        body=GateFields,
        errors=(400, 413, 422),
        example=("stripe", {"in_flight": 5, "per_second": 10, "burst": 10}),
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

LIMITS_ROUTES: Final = (
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
        example=("acme", {"in_flight": 100, "weight": 2}),
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

"""Limits of tenants are set, listed and removed by an admin, for all tenants of the stage."""

from typing import Any

import pytest

from onthedot.api.http import Response
from onthedot.gates.limits import IN_FORCE_MS, TenantLimits
from tests.builders import NOON, World
from tests.unit.api.gates.kit import hold, park, status_and_slot
from tests.unit.api.kit import Api, fields_of

IDLE = {"in_use": 0, "waiting": 0, "waiting_is_more": False, "oldest_waiting_seconds": None}


def put(api: Api, tenant: str, /, **fields: Any) -> Response:
    return api.send("PUT", f"/v1/limits/{tenant}", **fields)


def test_limits_are_set_listed_and_removed(api: Api, world: World) -> None:
    limits = {"in_flight": 5, "per_second": 2.5, "burst": 4, "paused": False, "weight": 3}
    changed = {"changed_at": "2026-03-01T12:00:00.000Z", "changed_by": "a test"}
    expected = {"tenant": "shop", **limits, **changed, **IDLE}
    response = put(api, "shop", **limits)
    assert (response.status, response.body) == (200, expected)
    assert api.get("/v1/limits").body == {"limits": [expected], "next_cursor": None}
    assert world.engine.limits.find("shop") == TenantLimits(5, 2.5, 4, put_at=NOON, put_by="a test", weight=3)
    assert api.call("DELETE", "/v1/limits/shop").body == {"deleted": True}
    assert api.call("DELETE", "/v1/limits/shop").body == {"deleted": False}
    assert api.get("/v1/limits").body["limits"] == []
    assert world.engine.limits.find("shop") is None


def test_the_body_replaces_all_limits(api: Api, world: World) -> None:
    put(api, "shop", in_flight=5, weight=3, paused=True)
    put(api, "shop", per_second=1, weight=None)
    assert world.engine.limits.find("shop") == TenantLimits(per_second=1.0, put_at=NOON + IN_FORCE_MS, put_by="a test")


@pytest.mark.parametrize(
    ("field", "value"), [("weight", 0), ("weight", 1_001), ("weight", 1.5), ("in_flight", -1), ("tenant", "x")]
)
def test_bad_limits_are_refused_by_their_field(api: Api, field: str, value: Any) -> None:
    response = put(api, "shop", **{field: value})
    assert (response.status, fields_of(response)) == (422, {field})
    assert api.get("/v1/limits").body["limits"] == []


@pytest.mark.parametrize(
    ("method", "tenant"), [("PUT", "a" * 101), ("PUT", "a%0Ab"), ("PUT", "onthedot"), ("DELETE", "a%0Ab")]
)
def test_what_is_no_tenant_is_refused(api: Api, method: str, tenant: str) -> None:
    response = api.send(method, f"/v1/limits/{tenant}")
    assert (response.status, fields_of(response)) == (422, {"tenant"})


def test_a_tenant_may_have_any_name_that_can_be_printed(api: Api) -> None:
    put(api, "a%2Fb%20%C3%BC", in_flight=1)
    assert [one["tenant"] for one in api.get("/v1/limits").body["limits"]] == ["a/b ü"]


@pytest.mark.parametrize("role", ["operator", "viewer", "worker", "stranger"])
def test_other_roles_may_not_even_look(api: Api, role: str) -> None:
    put(api, "acme", in_flight=5)
    caller = api.called_by(role=role)
    answers = [caller.get("/v1/limits"), put(caller, "acme", in_flight=9), caller.call("DELETE", "/v1/limits/acme")]
    assert {(answer.status, answer.body["error"]["code"]) for answer in answers} == {(403, "forbidden")}
    assert api.get("/v1/limits").body["limits"][0]["in_flight"] == 5


def test_tenants_are_listed_by_name_page_by_page(api: Api, world: World) -> None:
    for tenant in "edcba":
        world.engine.limits.put(tenant, TenantLimits(in_flight=1))
    first = api.get("/v1/limits?limit=3").body
    rest = api.get(f"/v1/limits?limit=3&cursor={first['next_cursor']}").body
    names = [[one["tenant"] for one in page["limits"]] for page in (first, rest)]
    assert (names, rest["next_cursor"]) == ([["a", "b", "c"], ["d", "e"]], None)
    assert fields_of(api.get("/v1/limits?cursor=x")) == {"cursor"}


def test_the_use_of_a_limit_is_shown(api: Api, world: World) -> None:
    put(api, "acme", in_flight=1)
    hold(world, "@tenant")
    park(world, api.job(), "@tenant")
    world.clock.advance(2)
    [shown] = api.get("/v1/limits").body["limits"]
    assert {name: shown[name] for name in IDLE} == {
        "in_use": 1,
        "waiting": 1,
        "waiting_is_more": False,
        "oldest_waiting_seconds": 2.0,
    }


def test_zero_stops_a_tenant_and_clearing_lets_it_go_on(api: Api, world: World) -> None:
    before = world.clock.now()
    put(api, "acme", in_flight=0)
    assert world.clock.now() - before == IN_FORCE_MS
    waiting = [api.job() for _ in range(3)]
    for job_id in waiting:
        park(world, job_id, "@tenant")
    put(api, "acme", in_flight=1)
    assert [status_and_slot(world, job_id)[0] for job_id in waiting].count("DISPATCHED") == 1
    api.call("DELETE", "/v1/limits/acme")
    assert {status_and_slot(world, job_id) for job_id in waiting} == {("DISPATCHED", "watch")}

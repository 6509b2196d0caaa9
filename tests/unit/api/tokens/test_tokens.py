"""Tokens are made, listed and revoked by an admin, for all tenants of the stage."""

from collections.abc import Iterator
from typing import Any

import pytest

from onthedot.access.tokens import authenticate
from tests.builders import World, a_world
from tests.unit.api.kit import Api, fields_of, message_of

FIELDS: dict[str, Any] = {"tenant": "shop", "role": "operator", "name": "ada"}


@pytest.fixture
def world() -> Iterator[World]:
    with a_world() as world:
        yield world


@pytest.fixture
def api(world: World) -> Api:
    return Api(world)


def make(api: Api, **fields: Any) -> dict[str, Any]:
    response = api.send("POST", "/v1/tokens", **{**FIELDS, **fields})
    assert response.status == 201, response.body
    return dict(response.body)


def test_a_token_is_made_for_any_tenant_and_shown_once(api: Api, world: World) -> None:
    made = make(api, expires_at="2027-01-31T09:30:00+02:00")
    token = made.pop("token")
    principal = authenticate(world.tokens, f"Bearer {token}")
    assert principal is not None
    assert (principal.tenant, principal.role, principal.name) == ("shop", "operator", "ada")
    assert made == {
        **FIELDS,
        "id": made["id"],
        "created_at": "2026-03-01T12:00:00.000Z",
        "expires_at": "2027-01-31T07:30:00.000Z",
    }
    listing = api.get("/v1/tokens")
    assert listing.body == {"tokens": [made], "next_cursor": None}
    assert token not in listing.text


def test_without_an_expiry_there_is_none(api: Api) -> None:
    assert make(api)["expires_at"] is None


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"tenant": ""}, "tenant", "is empty"),
        ({"tenant": "x" * 101}, "tenant", "too long"),
        ({"tenant": "a\nb"}, "tenant", "can be printed"),
        ({"tenant": "onthedot"}, "tenant", "is reserved"),
        ({"tenant": 3}, "tenant", "is not text"),
        ({"name": "a\x00b"}, "name", "can be printed"),
        ({"role": "root"}, "role", "is not one of the choices"),
        ({"role": None}, "role", "is null"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at", "has passed"),
        ({"expires_at": "tomorrow"}, "expires_at", "is not a time"),
        ({"expires_at": 1e300}, "expires_at", "is after the year 9998"),
        ({"token": "otd_mine"}, "token", "unknown field"),
        ({"id": "tok_mine"}, "id", "unknown field"),
    ],
)
def test_bad_input_is_refused_by_its_field(api: Api, fields: dict[str, Any], field: str, message: str) -> None:
    response = api.send("POST", "/v1/tokens", **{**FIELDS, **fields})
    assert (response.status, fields_of(response)) == (422, {field})
    assert message in message_of(response)
    assert api.get("/v1/tokens").body["tokens"] == []


@pytest.mark.parametrize("field", ["tenant", "role", "name"])
def test_each_field_but_the_expiry_is_needed(api: Api, field: str) -> None:
    response = api.send("POST", "/v1/tokens", **{name: value for name, value in FIELDS.items() if name != field})
    assert (response.status, fields_of(response)) == (422, {field})


def test_a_token_is_revoked_by_its_id(api: Api, world: World) -> None:
    ours, theirs = make(api), make(api, tenant="other")
    assert api.call("DELETE", f"/v1/tokens/{ours['id']}").body == {"deleted": True}
    assert authenticate(world.tokens, f"Bearer {ours['token']}") is None
    assert authenticate(world.tokens, f"Bearer {theirs['token']}") is not None
    assert [one["id"] for one in api.get("/v1/tokens").body["tokens"]] == [theirs["id"]]


@pytest.mark.parametrize("token_id", ["tok_unknown", "tok_aaaaaaaaaaaa", "x"])
def test_an_unknown_id_is_not_found(api: Api, token_id: str) -> None:
    response = api.call("DELETE", f"/v1/tokens/{token_id}")
    assert (response.status, response.body["error"]["code"]) == (404, "not_found")
    assert "no such token" in response.body["error"]["message"]


def test_a_revoked_token_is_not_found_any_more(api: Api) -> None:
    made = make(api)
    assert [api.call("DELETE", f"/v1/tokens/{made['id']}").status for _ in range(2)] == [200, 404]


def test_an_expired_token_is_not_listed(api: Api, world: World) -> None:
    make(api, expires_at=world.clock.now() / 1000 + 60)
    world.clock.advance(60)
    assert api.get("/v1/tokens").body["tokens"] == []


@pytest.mark.parametrize("role", ["operator", "viewer", "worker", "stranger"])
def test_other_roles_may_not_even_look(api: Api, role: str) -> None:
    made = make(api)
    caller = api.called_by(role=role)
    answers = [
        caller.get("/v1/tokens"),
        caller.send("POST", "/v1/tokens", **FIELDS),
        caller.call("DELETE", f"/v1/tokens/{made['id']}"),
    ]
    assert {(answer.status, answer.body["error"]["code"]) for answer in answers} == {(403, "forbidden")}
    assert len(api.get("/v1/tokens").body["tokens"]) == 1


def test_tokens_are_listed_page_by_page_and_by_tenant(api: Api) -> None:
    made = [make(api, tenant=tenant) for tenant in ("shop", "other") for _ in range(3)]
    first = api.get("/v1/tokens?limit=4").body
    rest = api.get(f"/v1/tokens?limit=4&cursor={first['next_cursor']}").body
    assert [one["id"] for one in [*first["tokens"], *rest["tokens"]]] == sorted(one["id"] for one in made)
    assert rest["next_cursor"] is None
    assert {one["tenant"] for one in api.get("/v1/tokens?tenant=other").body["tokens"]} == {"other"}
    assert fields_of(api.get("/v1/tokens?cursor=x")) == {"cursor"}
    assert fields_of(api.get("/v1/tokens?role=admin")) == {"role"}


def test_the_choices_of_a_role_are_in_the_description(api: Api) -> None:
    schemas = api.get("/openapi.json").body["components"]["schemas"]
    assert schemas["TokenFields"]["properties"]["role"]["enum"] == ["admin", "operator", "viewer", "worker"]

"""Tokens are made, listed and revoked by an admin, for all tenants of the stage."""

import re
from itertools import product
from typing import Any

import pytest

from onthedot.access.ports import Principal
from onthedot.access.tokens import LONGEST_NAME, authenticate
from tests.builders import NOON, World
from tests.unit.api.kit import Api, fields_of

FIELDS: dict[str, Any] = {"tenant": "shop", "role": "operator", "name": "ada"}


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


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *product(("tenant", "name"), ("", "x" * 101, "a\nb", "a\0b", "acme ", " acme", "zoe\u0308", 3)),
        ("tenant", "onthedot"),
        ("role", "root"),
        ("role", None),
        ("expires_at", "2020-01-01T00:00:00Z"),
        ("expires_at", NOON / 1000),
        ("expires_at", "tomorrow"),
        ("expires_at", 1e300),
        ("token", "otd_mine"),
    ],
)
def test_bad_input_is_refused_by_its_field(api: Api, field: str, value: Any) -> None:
    response = api.send("POST", "/v1/tokens", **{**FIELDS, field: value})
    assert (response.status, fields_of(response)) == (422, {field})
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
    again = api.call("DELETE", f"/v1/tokens/{ours['id']}")
    assert (again.status, again.body["error"]["code"]) == (404, "not_found")


def test_a_token_is_valid_until_it_expires(api: Api, world: World) -> None:
    header = f"Bearer {make(api, expires_at=NOON / 1000 + 1.5)['token']}"
    world.clock.advance(1.499)
    assert authenticate(world.tokens, header) is not None
    world.clock.advance(0.001)
    assert authenticate(world.tokens, header) is None
    assert api.get("/v1/tokens").body["tokens"] == []


def test_the_longest_names_are_taken(api: Api, world: World) -> None:
    made = make(api, tenant="ü" * LONGEST_NAME, name="n" * LONGEST_NAME)
    assert made["expires_at"] is None
    assert authenticate(world.tokens, f"Bearer {made['token']}") == Principal("ü" * 100, "operator", "n" * 100)


def test_a_token_and_its_id_are_random_and_only_the_hash_is_stored(api: Api, world: World) -> None:
    made = [make(api) for _ in range(2)]
    assert len({one[name] for one in made for name in ("token", "id")}) == 4
    with world.database.transaction() as connection:
        stored = str([tuple(row) for row in connection.execute("SELECT * FROM items WHERE partition LIKE 'token%'")])
    for one in made:
        assert re.fullmatch(r"otd_[\w-]{43}", one["token"])
        assert re.fullmatch(r"tok_[\w-]{12}", one["id"])
        assert one["token"].removeprefix("otd_") not in stored


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer  ", "Basic {}", "{}", "Bearer {}x"])
def test_other_headers_name_nobody(api: Api, world: World, header: str | None) -> None:
    text = make(api)["token"]
    assert authenticate(world.tokens, header and header.format(text)) is None


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

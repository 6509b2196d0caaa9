"""Tokens: what a new one may be called, how long it is valid, and that it is stored only as a hash."""

import re

import pytest

from onthedot.access.ports import Principal
from onthedot.access.tokens import LONGEST_NAME, ROLES, authenticate, create_token, revoke_token
from onthedot.core.errors import InvalidRequest, TokenNotFound
from tests.builders import NOON, World, a_world

ADA = Principal("acme", "operator", "ada")


def stored(world: World) -> str:
    with world.database.transaction() as connection:
        return str([tuple(row) for row in connection.execute("SELECT * FROM items WHERE partition LIKE 'token%'")])


@pytest.mark.parametrize("role", ROLES)
def test_the_longest_names_are_taken(role: str) -> None:
    principal = Principal("ü" * LONGEST_NAME, role, "n" * LONGEST_NAME)
    with a_world() as world:
        text, token = create_token(world.tokens, world.clock, principal)
        assert authenticate(world.tokens, f"Bearer {text}") == principal
        assert (token.principal, token.created_at, token.expires_at) == (principal, NOON, None)


def test_a_token_and_its_id_are_random_and_only_the_hash_is_stored() -> None:
    with a_world() as world:
        made = [create_token(world.tokens, world.clock, ADA) for _ in range(2)]
        assert len({text for text, _ in made} | {token.id for _, token in made}) == 4
        for text, token in made:
            assert re.fullmatch(r"otd_[\w-]{43}", text)
            assert re.fullmatch(r"tok_[\w-]{12}", token.id)
            assert text not in stored(world)
            assert text.removeprefix("otd_") not in stored(world)


@pytest.mark.parametrize("name", ["", "x" * (LONGEST_NAME + 1), "a\nb", "\ud800", "\0", "acme ", " acme", "zoe\u0308"])
@pytest.mark.parametrize("field", ["tenant", "role", "name"])
def test_a_name_that_cannot_be_a_part_of_a_key_is_refused_by_its_field(field: str, name: str) -> None:
    names = {"tenant": "acme", "role": "admin", "name": "ada", field: name}
    with a_world() as world, pytest.raises(InvalidRequest) as refused:
        create_token(world.tokens, world.clock, Principal(**names))
    assert [problem.field for problem in refused.value.problems] == [field]


@pytest.mark.parametrize(
    ("principal", "field", "message"),
    [
        (Principal("acme", "root", "ada"), "role", "give admin, operator, viewer or worker"),
        (Principal("onthedot", "admin", "ada"), "tenant", "is reserved"),
    ],
)
def test_other_roles_and_the_tenant_of_the_stage_are_refused(principal: Principal, field: str, message: str) -> None:
    with a_world() as world:
        with pytest.raises(InvalidRequest, match=message) as refused:
            create_token(world.tokens, world.clock, principal)
        assert [problem.field for problem in refused.value.problems] == [field]
        assert stored(world) == "[]"


def test_a_token_is_valid_until_it_expires() -> None:
    with a_world() as world:
        text, token = create_token(world.tokens, world.clock, ADA, NOON + 1_500)
        assert token.expires_at == NOON + 1_500
        world.clock.advance(1.499)
        assert authenticate(world.tokens, f"Bearer {text}") == ADA
        world.clock.advance(0.001)
        assert authenticate(world.tokens, f"Bearer {text}") is None


@pytest.mark.parametrize("expires_at", [NOON, NOON - 1, 0])
def test_an_expiry_that_has_passed_is_refused(expires_at: int) -> None:
    with a_world() as world, pytest.raises(InvalidRequest, match="expires_at: has passed"):
        create_token(world.tokens, world.clock, ADA, expires_at)


def test_a_revoked_token_is_refused_and_an_unknown_id_is_an_error() -> None:
    with a_world() as world:
        text, token = create_token(world.tokens, world.clock, ADA)
        revoke_token(world.tokens, token.id)
        assert authenticate(world.tokens, f"Bearer {text}") is None
        with pytest.raises(TokenNotFound):
            revoke_token(world.tokens, token.id)


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer  ", "Basic {}", "{}", "Bearer {}x"])
def test_other_headers_name_nobody(header: str | None) -> None:
    with a_world() as world:
        text, _ = create_token(world.tokens, world.clock, ADA)
        assert authenticate(world.tokens, header and header.format(text)) is None

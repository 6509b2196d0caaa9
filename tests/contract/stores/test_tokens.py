"""API tokens: found by their hash, listed and revoked by their id, for their time only."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from onthedot.access.ports import Principal, Token
from onthedot.access.token_store import TokenStore
from onthedot.core.ports import Clock

pytestmark = pytest.mark.on_items

CREATED = 1_772_366_400_000
ADA = Token("tok_ada", Principal("acme", "admin", "ada"), CREATED)
ZOE = Token("tok_zoë", Principal("tenant/ü#1", "viewer", "zoë"), CREATED + 1)


def listed(tokens: TokenStore, tenant: str | None = None, limit: int = 100) -> list[Token]:
    """All pages."""
    found: list[Token] = []
    cursor: str | None = None
    while True:
        page = tokens.page(limit, cursor, tenant)
        assert len(page.items) <= limit
        found += page.items
        if (cursor := page.cursor) is None:
            return found


def test_a_token_is_found_by_its_hash_with_all_that_is_known_of_it(tokens: TokenStore, clock: Clock) -> None:
    expiring = replace(ZOE, expires_at=clock.now() + 60_001)
    tokens.add("hash-1", ADA)
    tokens.add("hash-2", expiring)
    assert tokens.find("hash-1") == ADA
    assert tokens.find("hash-2") == expiring
    assert listed(tokens) == [ADA, expiring]


def test_an_unknown_token_is_nobody(tokens: TokenStore) -> None:
    tokens.add("hash-1", ADA)
    assert tokens.find("hash-2") is None
    assert tokens.find("tok_ada") is None


def test_there_are_no_tokens_at_first(tokens: TokenStore) -> None:
    assert listed(tokens) == []
    assert tokens.remove("tok_ada") is False


def test_a_revoked_token_is_neither_found_nor_listed_and_no_other_goes(tokens: TokenStore) -> None:
    tokens.add("hash-1", ADA)
    tokens.add("hash-2", ZOE)
    assert tokens.remove("tok_ada") is True
    assert tokens.find("hash-1") is None
    assert listed(tokens) == [ZOE]
    assert tokens.find("hash-2") == ZOE
    assert tokens.remove("tok_ada") is False


def test_an_expired_token_is_neither_found_nor_listed(
    tokens: TokenStore, clock: Clock, let_pass: Callable[[float], None]
) -> None:
    tokens.add("hash-1", replace(ADA, expires_at=clock.now() + 2_000))
    tokens.add("hash-2", ZOE)
    assert tokens.find("hash-1") is not None
    let_pass(2)
    assert tokens.find("hash-1") is None
    assert listed(tokens) == [ZOE]


def test_tokens_are_listed_page_by_page_each_once(tokens: TokenStore) -> None:
    made = [replace(ADA, id=f"tok_{number:03}") for number in range(25)]
    for number, token in enumerate(made):
        tokens.add(f"hash-{number}", token)
    assert listed(tokens, limit=10) == made
    assert listed(tokens, limit=5) == made


def test_the_tokens_of_one_tenant_are_listed_alone(tokens: TokenStore) -> None:
    for number in range(12):
        tokens.add(f"a-{number}", replace(ADA, id=f"tok_{number:02}-a"))
        tokens.add(f"z-{number}", replace(ZOE, id=f"tok_{number:02}-z"))
    ours = listed(tokens, "acme", limit=5)
    assert [token.id for token in ours] == [f"tok_{number:02}-a" for number in range(12)]
    assert len(listed(tokens, "tenant/ü#1", limit=5)) == 12
    assert listed(tokens, "acm") == []


@pytest.mark.parametrize("token_id", ["tok_", "tok_ad", "tok_ada2", "token", "hash-1"])
def test_no_token_is_revoked_by_another_text_than_its_id(tokens: TokenStore, token_id: str) -> None:
    tokens.add("hash-1", ADA)
    assert tokens.remove(token_id) is False
    assert tokens.find("hash-1") == ADA

"""Tokens: a tenant's name is a part of many keys, so it has a bound."""

import pytest

from onthedot.domain.errors import InvalidRequest
from onthedot.ports import Principal
from onthedot.use_cases.access.issue_token import LONGEST_NAME, authenticate, issue_token
from tests.builders import a_world


def test_the_longest_names_are_taken() -> None:
    principal = Principal("ü" * LONGEST_NAME, "viewer", "n" * LONGEST_NAME)
    with a_world() as world:
        api_token = issue_token(world.tokens, world.clock, principal)
        assert authenticate(world.tokens, f"Bearer {api_token}") == principal


@pytest.mark.parametrize("name", ["", "x" * (LONGEST_NAME + 1), "a\nb", "\ud800", "\0"])
@pytest.mark.parametrize("field", ["tenant", "role", "name"])
def test_a_name_that_cannot_be_a_part_of_a_key_is_refused_by_its_field(field: str, name: str) -> None:
    names = {"tenant": "acme", "role": "admin", "name": "ada", field: name}
    with a_world() as world, pytest.raises(InvalidRequest) as refused:
        issue_token(world.tokens, world.clock, Principal(**names))
    assert [problem.field for problem in refused.value.problems] == [field]

"""What must be true of every pattern and event."""

import re
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from onthedot.events.patterns import check, index_keys, lookup_keys, matches
from tests.unit.domain.events.strategies import details, envelopes, names, patterns, values, wanted


@pytest.mark.slow
@settings(max_examples=500)
@given(patterns(), envelopes())
def test_a_pattern_that_matches_stands_where_the_event_looks(pattern: dict[str, Any], event: dict[str, Any]) -> None:
    assert check(pattern) == []
    if matches(pattern, event):
        assert set(index_keys(pattern)) & set(lookup_keys(event))


def _own_pattern(found: Any) -> Any:
    """Return the pattern that asks for exactly the fields of an object, or nothing when it has no values."""
    if isinstance(found, dict):
        return {name: own for name, inner in found.items() if (own := _own_pattern(inner))}
    if not isinstance(found, list):
        return [found]
    return next((own for inner in found if (own := _own_pattern(inner))), None)


@given(envelopes(detail=details()))
def test_an_event_matches_the_pattern_of_its_own_values(event: dict[str, Any]) -> None:
    assume(not isinstance(event.get("source"), list) and not isinstance(event.get("detail-type"), list))
    pattern = _own_pattern(event)
    assert check(pattern) == []
    assert matches(pattern, event)


@given(details(), names)
def test_a_field_either_exists_or_not(found: Any, name: str) -> None:
    event = {"detail": {"x": found}}
    asked = [{"detail": {"x": {name: [{"exists": there}]}}} for there in (True, False)]
    assert [matches(pattern, event) for pattern in asked].count(True) == 1


@given(wanted, st.lists(values, min_size=1, max_size=4))
def test_a_list_of_values_matches_where_any_of_them_does(want: list[Any], found: list[Any]) -> None:
    pattern = {"detail": {"a": want}}
    each = [matches(pattern, {"detail": {"a": value}}) for value in found]
    assert matches(pattern, {"detail": {"a": found}}) is any(each)
    assert matches(pattern, {"detail": {"a": [found, []]}}) is any(each)


@given(st.lists(wanted, min_size=2, max_size=3), wanted, envelopes(st.dictionaries(names, values)))
def test_or_is_any_of_the_patterns_it_stands_for(ways: list[Any], other: list[Any], event: dict[str, Any]) -> None:
    alternatives = [{"detail": {"a": way}} for way in ways]
    together = {"$or": alternatives, "detail": {"b": other}}
    assert check(together) == []
    apart = [{"detail": {"a": way, "b": other}} for way in ways]
    assert matches(together, event) is any(matches(pattern, event) for pattern in apart)


@settings(max_examples=300)
@given(st.lists(st.text("ab", max_size=3), min_size=1, max_size=4), st.text("ab", max_size=9))
def test_a_wildcard_is_any_characters(literals: list[str], found: str) -> None:
    wildcard = re.sub(r"\*+", "*", "*".join(literals))
    expected = re.fullmatch(wildcard.replace("*", ".*"), found) is not None
    assert matches({"a": [{"wildcard": wildcard}]}, {"a": found}) is expected

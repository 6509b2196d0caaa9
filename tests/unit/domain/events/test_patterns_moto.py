"""Our matcher against moto's: they agree on all that moto supports, and where they do not, we know why."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from moto.events.models import EventPattern

from onthedot.events.patterns import check, matches
from tests.unit.domain.events.strategies import filters, names, numbers, texts

# Without booleans, which are numbers to moto, and without lists of objects and empty ones: see the differences below.
_scalars = st.one_of(texts, numbers, st.none())
_leaves = st.one_of(_scalars, st.lists(_scalars, min_size=1, max_size=3))
_details = st.recursive(_leaves, lambda inner: st.dictionaries(names, inner, min_size=1, max_size=3), max_leaves=6)
_wanted = st.lists(st.one_of(_scalars, filters), min_size=1, max_size=3)
_nested = st.recursive(_wanted, lambda inner: st.dictionaries(names, inner, min_size=1, max_size=2), max_leaves=4)
_objects = st.dictionaries(names, _nested, min_size=1, max_size=2)


@st.composite
def _patterns(draw: st.DrawFn) -> dict[str, Any]:
    pattern: dict[str, Any] = {"detail": draw(_objects)}
    if draw(st.booleans()):
        pattern["$or"] = [{"x": {"y": way}} for way in draw(st.lists(_wanted, min_size=2, max_size=3))]
    return pattern


def moto_matches(pattern: dict[str, Any], event: dict[str, Any]) -> bool:
    return bool(EventPattern(json.dumps(pattern), pattern).matches_event(event))  # type: ignore[arg-type]


@settings(max_examples=500)
@given(_patterns(), st.dictionaries(names, _details, max_size=3), _leaves)
def test_we_agree_with_moto(pattern: dict[str, Any], detail: dict[str, Any], found: Any) -> None:
    assert check(pattern) == []
    event = {"detail": detail, "x": {"y": found}}
    assert matches(pattern, event) is moto_matches(pattern, event)


@pytest.mark.parametrize(
    ("pattern", "detail", "ours", "why"),
    [
        ({"a": [1]}, {"a": True}, False, "moto compares as Python does, for which true is 1"),
        ({"a": [{"anything-but": 1}]}, {"a": True}, True, "likewise"),
        ({"a": [{"numeric": ["=", 1]}]}, {"a": True}, False, "likewise"),
        ({"a": {"b": [1]}}, {"a": [{"b": 1}]}, True, "moto does not look into lists of objects"),
        ({"a": [1]}, {"a": [[1]]}, True, "nor into lists in lists"),
        ({"a": [{"exists": False}]}, {"a": []}, True, "an empty list is a value to moto"),
        ({"a": [{"exists": False}]}, {"a": {}}, True, "an empty object, too"),
        ({"a": [{"anything-but": "x"}]}, {"a": {}}, False, "likewise"),
        ({"a.b": [1]}, {"a": {"b": 1}}, False, "names with dots are paths to moto"),
        ({"a": [{"cidr": "10.0.0.1/8"}]}, {"a": "10.2.3.4"}, True, "moto wants the range's first address"),
        ({"a": [{"cidr": "0.0.0.0/0"}]}, {"a": 5}, False, "Python reads a number as an address"),
        ({"a": [{"wildcard": "a*b"}]}, {"a": "a\nb"}, True, "moto's wildcard stops at the end of a line"),
        ({"a": [{"equals-ignore-case": "STRASSE"}]}, {"a": "straße"}, True, "moto only lowers letters"),
    ],
)
def test_known_differences(pattern: dict[str, Any], detail: dict[str, Any], ours: bool, why: str) -> None:
    event = {"detail": detail}
    assert matches({"detail": pattern}, event) is ours
    assert moto_matches({"detail": pattern}, event) is not ours, why

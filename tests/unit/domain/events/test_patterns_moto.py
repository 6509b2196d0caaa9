"""Our matcher against moto's: they agree on all that moto supports."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from moto.events.models import EventPattern

from onthedot.events.patterns import check, matches
from tests.unit.domain.events.strategies import filters, names, numbers, texts

# Without what moto does otherwise: booleans, which are numbers to it, and lists of objects, lists in lists and empty
# ones, into which it does not look.
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

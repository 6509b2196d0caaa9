"""Payload templates: what they pick from an event, and what they leave alone."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onthedot.core.errors import Problem
from onthedot.events.payloads import MOST_PICKS, check_template, pick
from tests.unit.domain.events.strategies import details

EVENT: dict[str, Any] = {
    "source": "aws.s3",
    "detail-type": "Object Created",
    "resources": ["arn:1", "arn:2"],
    "detail": {"bucket": {"name": "photos"}, "object": {"key": "a.png", "size": 0}, "lists": [[1, 2], {"x": None}]},
}


def picked(template: Any) -> Any:
    assert check_template(template) == []
    return pick(template, EVENT)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("$", EVENT),
        ("$.source", "aws.s3"),
        ("$.detail-type", "Object Created"),
        ("$.detail.bucket.name", "photos"),
        ("$.detail.bucket", {"name": "photos"}),
        ("$.detail.object.size", 0),
        ("$.resources[1]", "arn:2"),
        ("$.detail.lists[0][1]", 2),
        ("$.detail.lists[1].x", None),
        ("$.detail.missing.deeper[3]", None),
        ("$.resources[999999]", None),
        ("$.resources.name", None),
        ("$.source[0]", None),
        ("$.source.length", None),
        ("$[0]", None),
    ],
)
def test_a_path_is_replaced_by_what_stands_there(path: str, value: Any) -> None:
    assert picked(path) == value


def test_values_are_picked_anywhere_in_a_template() -> None:
    template = {"bucket": "$.detail.bucket.name", "list": [1, {"key": "$.detail.object.key"}], "$.source": "kept"}
    assert picked(template) == {"bucket": "photos", "list": [1, {"key": "a.png"}], "$.source": "kept"}


@pytest.mark.parametrize("literal", ["plain", "", "a $.source", " $.source", 5, 1.5, True, None, [], {}])
def test_other_values_stay(literal: Any) -> None:
    assert picked(literal) == literal


@pytest.mark.parametrize(("written", "meant"), [("$$.source", "$.source"), ("$$", "$"), ("$$5", "$5"), ("$$$", "$$")])
def test_a_literal_dollar_is_written_twice(written: str, meant: str) -> None:
    assert picked(written) == meant


@pytest.mark.parametrize(
    "text",
    [
        *("$5", "$.a.", "$..a", "$.a[]", "$.a[*]", "$.a[-1]", "$.a['b']", "$.a[٣]", "$.a[1", "$.a[1234567]"),
        *("$.a b", "$.a\n"),
    ],
)
def test_a_text_with_a_dollar_that_is_no_path_is_refused_and_stays(text: str) -> None:
    [trouble] = check_template({"a": ["x", text]})
    assert trouble.field == "a[1]"
    assert trouble.message.endswith("begin a literal with $$")
    assert pick({"a": ["x", text]}, EVENT) == {"a": ["x", text]}


def test_a_long_text_is_not_repeated_whole() -> None:
    [trouble] = check_template("$" + "x" * 100_000)
    assert len(trouble.message) < 200


def test_a_template_picks_at_most_a_hundred_times() -> None:
    assert check_template(["$"] * MOST_PICKS + ["$$"] * 50) == []
    assert check_template(["$"] * (MOST_PICKS + 1)) == [
        Problem("", "a payload may pick at most 100 times from an event; this one picks 101")
    ]


@pytest.mark.parametrize("depth", [33, 100_000])
def test_no_depth_exhausts_a_template(depth: int) -> None:
    template: Any = "$"
    for _ in range(depth):
        template = [template]
    assert check_template(template) == [Problem("", "a payload that picks from an event may be at most 32 levels deep")]
    with pytest.raises(ValueError, match="32 levels"):
        pick(template, EVENT)


def test_a_deep_event_is_picked_as_it_is() -> None:
    deep: Any = {}
    for _ in range(100_000):
        deep = {"a": deep}
    assert pick("$.detail.a", {"detail": deep}) is deep["a"]


@given(details(st.text(max_size=4)))
def test_any_literal_can_be_written(literal: Any) -> None:
    def written(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: written(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [written(inner) for inner in value]
        return f"${value}" if isinstance(value, str) and value.startswith("$") else value

    assert picked(written(literal)) == literal

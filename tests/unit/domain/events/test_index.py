"""Under which keys patterns stand and events look."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onthedot.events.patterns import index_keys, lookup_keys


def keys_of(source: Any, detail_type: Any) -> set[str]:
    return set(index_keys({"source": source, "detail-type": detail_type}))


def test_a_pattern_stands_under_its_sources_and_detail_types() -> None:
    assert index_keys({"source": ["aws.s3"], "detail-type": ["Object Created"]}) == ("6:aws.s314:Object Created",)
    assert keys_of(["a", "b"], ["x", "y"]) == {"1:a1:x", "1:a1:y", "1:b1:x", "1:b1:y"}


def test_an_event_looks_under_its_own_and_under_any() -> None:
    assert lookup_keys({"source": "a", "detail-type": "x"}) == ("1:a1:x", "1:a*", "*1:x", "**")
    assert lookup_keys({"source": "a"}) == ("1:a*", "**")
    assert lookup_keys({"source": 5, "detail-type": None}) == ("**",)


@pytest.mark.parametrize("wanted", [[{"prefix": "a"}], ["a", {"prefix": "a"}], [5], [None], ["a", None], {"x": ["a"]}])
def test_what_is_no_exact_text_may_be_anything(wanted: Any) -> None:
    assert keys_of(wanted, ["x"]) == {"*1:x"}
    assert keys_of(["x"], wanted) == {"1:x*"}


def test_a_field_that_is_not_named_may_be_anything() -> None:
    assert index_keys({"detail": {"a": ["x"]}}) == ("**",)
    assert index_keys({"source": ["a"]}) == ("1:a*",)


def test_more_than_25_combinations_leave_one_field_open() -> None:
    few, many = list("abcde"), [f"n{n}" for n in range(6)]
    assert len(keys_of(few, few)) == 25
    assert keys_of(few, many) == {f"1:{one}*" for one in few}
    crowd = [f"c{n}" for n in range(26)]
    assert keys_of(crowd, ["x", "y"]) == {"*1:x", "*1:y"}
    assert keys_of(crowd, crowd) == {"**"}


def test_each_alternative_of_or_has_its_own_keys() -> None:
    pattern = {"detail-type": ["x"], "$or": [{"source": ["a"]}, {"source": ["b"]}, {"detail": {"k": [1]}}]}
    assert set(index_keys(pattern)) == {"1:a1:x", "1:b1:x", "*1:x"}


def test_a_text_with_a_star_is_not_any() -> None:
    assert not set(index_keys({"source": ["*"], "detail-type": ["*"]})) & set(lookup_keys({"source": "a"}))


@pytest.mark.parametrize("text", ["x" * 501, "é" * 300, "\ud800", "x" * 100_000])
def test_what_cannot_stand_in_a_key_stands_by_its_digest(text: str) -> None:
    [key] = index_keys({"source": [text], "detail-type": [text]})
    assert len(key.encode()) <= 1024
    assert key in lookup_keys({"source": text, "detail-type": text})
    assert key not in lookup_keys({"source": f"{text}x", "detail-type": text})


_parts = st.one_of(st.text("1:*#ab", max_size=5), st.text(max_size=5), st.just("#" + "a" * 64))


@given(st.tuples(_parts, _parts), st.tuples(_parts, _parts))
def test_no_two_pairs_share_a_key(one: tuple[str, str], other: tuple[str, str]) -> None:
    keys = [set(lookup_keys({"source": pair[0], "detail-type": pair[1]})) for pair in (one, other)]
    common = 1 + (one[0] == other[0]) + (one[1] == other[1]) + (one == other)
    assert len(keys[0] & keys[1]) == common

"""A wrong event pattern is refused, with the place of the fault and what would be right."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onthedot.events.patterns import LARGEST, MOST_BRANCHES, check


def refused(pattern: Any) -> tuple[str, str]:
    [trouble] = check(pattern)
    return trouble.field, trouble.message


@pytest.mark.parametrize("pattern", [{}, [], ["x"], "x", None, 5])
def test_a_pattern_is_an_object_with_fields(pattern: Any) -> None:
    assert refused(pattern) == ("", "an event pattern is an object with at least one field")


@pytest.mark.parametrize("wanted", ["aws.ec2", 5, None, True, [], {}])
def test_every_leaf_is_a_list(wanted: Any) -> None:
    path, message = refused({"source": ["x"], "detail": {"state": wanted}})
    assert path == "detail.state"
    assert message.startswith("must be a list")


@pytest.mark.parametrize("one", [["x"], float("inf"), float("nan")])
def test_a_list_holds_values_and_filters(one: Any) -> None:
    path, message = refused({"detail": {"state": ["fine", one]}})
    assert path == "detail.state[1]"
    assert message.startswith("must be a string, a finite number")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("perfix", "did you mean 'prefix'?"),
        ("anythingbut", "did you mean 'anything-but'?"),
        ("equals_ignore_case", "did you mean 'equals-ignore-case'?"),
        ("bucket", "write a nested object without brackets"),
    ],
)
def test_an_unknown_filter_is_named_with_a_hint(name: str, hint: str) -> None:
    path, message = refused({"detail": {"state": [{name: "x"}]}})
    assert path == f"detail.state[0].{name}"
    assert message.startswith(f"unknown filter {name!r}: ")
    assert message.endswith(hint)


@pytest.mark.parametrize("written", [{}, {"prefix": "a", "suffix": "b"}])
def test_a_filter_has_one_name(written: Any) -> None:
    assert refused({"a": [written]}) == ("a[0]", f"a filter has exactly one name; this one has {len(written)}")


@pytest.mark.parametrize(
    "written",
    [
        {"prefix": 3},
        {"prefix": {"equals-ignore-case": 5}},
        {"prefix": {"equals-ignore-case": "a", "b": "c"}},
        {"suffix": {"wildcard": "a"}},
        {"equals-ignore-case": ["a"]},
        {"wildcard": 5},
        {"wildcard": "a**b"},
        {"wildcard": "a\\"},
        {"wildcard": "a\\b"},
        {"exists": "true"},
        {"cidr": "10.0.0.0"},
        {"cidr": "10.0.0.0/33"},
        {"cidr": "fe80::%1/64"},
        {"cidr": "::/129"},
        {"cidr": 8},
        {"numeric": "> 5"},
        {"numeric": [">"]},
        {"numeric": [">", True]},
        {"numeric": ["=", float("inf")]},
        {"numeric": ["==", 5]},
        {"numeric": [5, ">"]},
        {"numeric": ["<", 1, ">", 0]},
        {"numeric": ["=", 1, "<", 2]},
        {"numeric": [">=", 1, "<=", 1]},
        {"numeric": [">", 1, "<", 30, "<", 40]},
        {"anything-but": None},
        {"anything-but": []},
        {"anything-but": ["a", 1]},
        {"anything-but": {"numeric": ["=", 5]}},
        {"anything-but": {"prefix": "a", "suffix": "b"}},
        {"anything-but": {"prefix": ""}},
        {"anything-but": {"suffix": ["a", ""]}},
        {"anything-but": {"prefix": {"equals-ignore-case": "a"}}},
        {"anything-but": {"equals-ignore-case": ["a", 5]}},
        {"anything-but": {"wildcard": ["a", "b**"]}},
    ],
    ids=str,
)
def test_a_filter_takes_only_what_it_can_use(written: dict[str, Any]) -> None:
    path, message = refused({"detail": {"x": [written]}})
    assert path == f"detail.x[0].{next(iter(written))}"
    assert message
    assert not message.startswith("unknown filter")


@pytest.mark.parametrize(
    "written",
    [
        {"numeric": ["=", 10**400]},
        {"anything-but": {"equals-ignore-case": ["", "a"]}},
        {"anything-but": {"wildcard": ""}},
        {"wildcard": "*a\\**"},
        {"wildcard": "\\\\*\\\\"},
        {"suffix": ""},
        {"cidr": "2001:db8::1/127"},
    ],
    ids=str,
)
def test_what_looks_odd_but_has_a_meaning_is_taken(written: dict[str, Any]) -> None:
    assert check({"x": [written]}) == []


@pytest.mark.parametrize("ways", [[], [{"a": ["x"]}], {"a": ["x"]}, [{"a": ["x"]}, {}], [{"a": ["x"]}, ["y"]], "a"])
def test_or_has_at_least_two_alternatives(ways: Any) -> None:
    path, message = refused({"detail": {"$or": ways}})
    assert path == "detail.$or"
    assert message.startswith("must be a list of at least two objects")


def test_troubles_inside_or_have_their_place_too() -> None:
    troubles = check({"$or": [{"a": "x"}, {"detail": {"b": [{"prefixx": "x"}]}}]})
    assert [trouble.field for trouble in troubles] == ["$or[0].a", "$or[1].detail.b[0].prefixx"]


def test_a_filter_without_its_field_inside_or_is_named() -> None:
    path, message = refused({"detail": {"$or": [{"prefix": ["x"]}, {"b": ["y"]}]}})
    assert path == "detail.$or[0].prefix"
    assert "needs a field" in message


@pytest.mark.parametrize(
    "pattern",
    [
        {"source": ["a"], "$or": [{"source": ["b"]}, {"region": ["c"]}]},
        {"$or": [{"region": ["c"]}, {"source": ["b"], "$or": [{"source": ["a"]}, {"id": ["c"]}]}]},
        {"$or": [{"source": ["b"]}, {"region": ["c"]}], "source": ["a"]},
    ],
)
def test_a_field_is_named_once_in_each_combination(pattern: dict[str, Any]) -> None:
    assert refused(pattern) == ("source", "is named more than once in one combination of $or")


def test_alternatives_may_name_the_same_field() -> None:
    assert check({"detail": {"x": [1]}, "$or": [{"source": ["a"]}, {"source": ["b"], "detail": {"y": [1]}}]}) == []


def test_a_pattern_has_at_most_4096_bytes_of_json() -> None:
    frame = len('{"source":[""]}')
    assert check({"source": ["x" * (LARGEST - frame)]}) == []
    assert refused({"source": ["x" * (LARGEST - frame + 1)]})[1].endswith("this one has 4097")
    assert refused({"source": ["é" * (LARGEST // 2)]})[1].startswith("an event pattern may have at most 4096 bytes")
    assert check({"source": ["\ud800"]}) == []


def test_or_makes_at_most_a_thousand_combinations() -> None:
    def with_ors(sizes: list[int]) -> dict[str, Any]:
        return {f"f{at}": {"$or": [{f"w{way}": [1]} for way in range(size)]} for at, size in enumerate(sizes)}

    assert check(with_ors([10, 10, 10])) == []
    assert refused(with_ors([10, 10, 11])) == (
        "",
        f"$or makes 1100 combinations; at most {MOST_BRANCHES} are allowed",
    )
    inner = [with_ors([10, 10]), {"w": [1]}]
    assert check({"$or": [{"x": {"$or": inner}}, {"y": [1]}], **with_ors([9])}) == []
    assert refused({"$or": [{"x": {"$or": inner}}, {"y": [1]}], **with_ors([10])})[1].startswith("$or makes 1020 ")
    assert refused(with_ors([2] * 100))[1].startswith(f"$or makes {2**100} combinations")


@pytest.mark.parametrize("depth", [33, 400, 100_000])
def test_no_depth_exhausts_the_check(depth: int) -> None:
    pattern: Any = ["x"]
    for _ in range(depth):
        pattern = {"a": pattern}
    assert refused(pattern) == ("", "an event pattern may be at most 32 levels deep")
    nested: Any = []
    for _ in range(depth):
        nested = [nested]
    assert refused({"a": [{"anything-but": nested}]}) == ("", "an event pattern may be at most 32 levels deep")


def test_a_pattern_of_31_nested_fields_is_fine() -> None:
    pattern: Any = ["x"]
    for _ in range(31):
        pattern = {"a": pattern}
    assert check(pattern) == []


@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3)),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(
                st.sampled_from(("a", "$or", "prefix", "anything-but", "numeric", "cidr", "wildcard", "exists")), inner
            ),
        ),
        max_leaves=12,
    )
)
def test_any_json_gets_an_answer(anything: Any) -> None:
    assert all(trouble.message for trouble in check(anything))

"""Random events and patterns, from a small world in which they often meet."""

from typing import Any

from hypothesis import strategies as st

NAMES = ("a", "b", "c")
TEXTS = ("", "a", "A", "ab", "aB", "b*", "a\\b", "10.0.0.1", "::1")
NUMBERS = (0, 1, -1, 1.0, 2.5, 300, 3.0e2)

texts = st.sampled_from(TEXTS)
numbers = st.sampled_from(NUMBERS)
values = st.one_of(texts, numbers, st.booleans(), st.none())
names = st.sampled_from(NAMES)


def details(leaf: st.SearchStrategy[Any] = values) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaf,
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3)),
        max_leaves=8,
    )


_some_details = st.dictionaries(names, details(), max_size=3)


_usual = [st.sampled_from(("a", "b"))] * 4


@st.composite
def envelopes(draw: st.DrawFn, detail: st.SearchStrategy[Any] = _some_details) -> dict[str, Any]:
    """Events, now and then without a source or detail-type, or with an odd one."""
    event: dict[str, Any] = {"version": "0", "id": "1", "resources": draw(st.lists(texts, max_size=2))}
    for name in ("source", "detail-type"):
        found = draw(st.one_of(*_usual, texts, values, st.lists(texts, max_size=2), st.just(...)))
        if found is not ...:
            event[name] = found
    event["detail"] = draw(detail)
    return event


_one_or_more_texts = st.one_of(texts, st.lists(texts, min_size=1, max_size=2))
_wildcards = st.sampled_from(("*", "a*", "*b", "a*b", "\\*", "b\\**", "*\\\\*"))
_ends = st.sampled_from(("a", "A", "b", "ab", "10.", "1"))
filters = st.one_of(
    st.fixed_dictionaries({"exists": st.booleans()}),
    st.fixed_dictionaries({"prefix": st.one_of(_ends, st.fixed_dictionaries({"equals-ignore-case": _ends}))}),
    st.fixed_dictionaries({"suffix": st.one_of(_ends, st.fixed_dictionaries({"equals-ignore-case": _ends}))}),
    st.fixed_dictionaries({"equals-ignore-case": texts}),
    st.fixed_dictionaries({"wildcard": _wildcards}),
    st.fixed_dictionaries({"numeric": st.tuples(st.sampled_from(("=", "<", "<=", ">", ">=")), numbers).map(list)}),
    st.fixed_dictionaries({"cidr": st.sampled_from(("10.0.0.0/8", "::/64"))}),
    st.fixed_dictionaries(
        {
            "anything-but": st.one_of(
                _one_or_more_texts,
                numbers,
                st.lists(numbers, min_size=1, max_size=2),
                st.fixed_dictionaries({"prefix": _ends}),
                st.fixed_dictionaries({"suffix": st.lists(_ends, min_size=1, max_size=2)}),
                st.fixed_dictionaries({"equals-ignore-case": _one_or_more_texts}),
                st.fixed_dictionaries({"wildcard": _wildcards}),
            )
        }
    ),
)
wanted = st.lists(st.one_of(values, filters), min_size=1, max_size=3)
nested = st.recursive(wanted, lambda inner: st.dictionaries(names, inner, min_size=1, max_size=2), max_leaves=4)
_exact = st.lists(st.sampled_from(("a", "b")), min_size=1, max_size=2)
_crowd = st.lists(st.sampled_from(("a", *map("x{}".format, range(9)))), min_size=1, max_size=9)
_PARTS = {
    "source": st.one_of(_exact, _exact, _crowd, wanted),
    "detail-type": st.one_of(_exact, _exact, _crowd, wanted),
    "detail": st.dictionaries(names, nested, min_size=1, max_size=2),
}


@st.composite
def _objects(draw: st.DrawFn, parts: list[str]) -> dict[str, Any]:
    some = draw(st.lists(st.sampled_from(parts), min_size=1, unique=True))
    return {part: draw(_PARTS[part]) for part in some}


@st.composite
def patterns(draw: st.DrawFn) -> dict[str, Any]:
    """Valid patterns. Each part stands either beside the `$or` or inside it, where there is one."""
    parts = draw(st.permutations(list(_PARTS)))
    split = draw(st.integers(0, len(parts)))
    beside, inside = parts[:split], parts[split:]
    pattern: dict[str, Any] = draw(_objects(beside)) if beside else {}
    if draw(st.booleans()) and inside:
        pattern["$or"] = draw(st.lists(_objects(inside), min_size=2, max_size=3))
    return pattern or draw(_objects(inside))

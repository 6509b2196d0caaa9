"""Event patterns as EventBridge has them: the check of a pattern, and the match of an event.

Every field that a pattern names must match, by any of the values and filters in its list. `$or` lists alternatives. A
field of the event that is a list matches by any of its elements. When the list has objects, one object must match
everything that the pattern says about them. `{"exists": false}` matches when there is no value. An object, an empty
list and an empty object are no values. In a list of objects, the object that the other fields choose must lack the
value. When no other field chooses an object, all objects must lack it.

Where AWS's matcher differs from AWS's documentation, this module follows the documentation. Names with dots are names.
Texts that look like addresses are texts. The alphabetical order of the fields does not decide whether an absent field
is judged before an object is chosen.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from hashlib import sha256
from itertools import product
from math import prod
from typing import Any, Final, NewType

from onthedot.core import json_text
from onthedot.core.errors import Problem
from onthedot.core.json_text import DEEPEST, at, deeper_than
from onthedot.events.filters import FILTERS, fault_of, fits, is_value

OR: Final = "$or"

Branch = dict[tuple[str, ...], Sequence[Any]]
"""The values and filters of each field, by its path."""


def branches(pattern: dict[str, Any]) -> list[Branch]:
    """Return every combination of the alternatives. None of them may name a field twice."""
    return _through(pattern, (), [{}], [])


def count_branches(pattern: dict[str, Any]) -> int:
    """Return the number of branches without building them, because it can be astronomic."""
    return prod(_count(name, content) for name, content in pattern.items())


def _count(name: str, content: Any) -> int:
    if name == OR:
        return sum(map(count_branches, content))
    return count_branches(content) if isinstance(content, dict) else 1


def _through(
    node: dict[str, Any], path: tuple[str, ...], so_far: list[Branch], twice: list[tuple[str, ...]]
) -> list[Branch]:
    """Add the fields of this node to the branches, and return them. A branch is copied only where it forks.

    A field that a branch has already goes into `twice`.
    """
    for name, content in node.items():
        here = (*path, name)
        if name == OR:
            so_far = [
                branch
                for alternative in content
                for branch in _through(alternative, path, [dict(one) for one in so_far], twice)
            ]
        elif isinstance(content, dict):
            so_far = _through(content, here, so_far, twice)
        else:
            for branch in so_far:
                if here in branch:
                    twice.append(here)
                branch[here] = content
    return so_far


LARGEST: Final = 4096
"""The most bytes of a pattern as JSON."""
MOST_BRANCHES: Final = 1000
"""The most combinations of the alternatives of all `$or`s."""
_MISSING: Final = object()


def check(pattern: Any) -> list[Problem]:
    """Return the problems of a pattern that a user wrote. An empty list: `matches` accepts it."""
    if not isinstance(pattern, dict) or not pattern:
        return [Problem("", "an event pattern is an object with at least one field")]
    if deeper_than(DEEPEST, pattern):
        return [Problem("", f"an event pattern may be at most {DEEPEST} levels deep")]
    size = len(json_text.to_text(pattern).encode("utf-8", "surrogatepass"))
    if size > LARGEST:
        return [Problem("", f"an event pattern may have at most {LARGEST} bytes; this one has {size}")]
    return list(_check_object(pattern, "")) or _check_branches(pattern)


def matches(pattern: dict[str, Any], event: dict[str, Any]) -> bool:
    """Return whether the event matches a pattern in which `check` finds no problem.

    An event has one source and one detail-type. A document with a list there is no event and matches nothing.
    """
    if isinstance(event.get("source"), list) or isinstance(event.get("detail-type"), list):
        return False
    return any(_judge(_tree(branch), event) is not _Match.NO for branch in branches(pattern))


def _check_object(node: dict[str, Any], path: str, inside_or: bool = False) -> Iterator[Problem]:
    for name, part in node.items():
        here = at(path, name)
        if name == OR:
            yield from _check_or(part, here)
        elif inside_or and name in FILTERS:
            yield Problem(here, f"inside $or a field cannot be named {name!r}: that is a filter, and needs a field")
        elif isinstance(part, dict) and part:
            yield from _check_object(part, here, inside_or)
        elif isinstance(part, list) and part:
            yield from _check_list(part, here)
        else:
            yield Problem(here, "must be a list of values and filters, or a nested object, and not be empty")


def _check_or(ways: Any, path: str) -> Iterator[Problem]:
    if not isinstance(ways, list) or len(ways) < 2 or not all(isinstance(way, dict) and way for way in ways):
        yield Problem(path, "must be a list of at least two objects, none of them empty")
        return
    for place, way in enumerate(ways):
        yield from _check_object(way, at(path, place), inside_or=True)


def _check_list(matchers: list[Any], path: str) -> Iterator[Problem]:
    for place, one in enumerate(matchers):
        here = at(path, place)
        if isinstance(one, dict):
            fault = fault_of(one)
            if fault:
                yield Problem(at(here, next(iter(one))) if len(one) == 1 else here, fault)
        elif not is_value(one):
            yield Problem(here, "must be a string, a finite number, true, false, null or a filter")


def _check_branches(pattern: dict[str, Any]) -> list[Problem]:
    count = count_branches(pattern)
    if count > MOST_BRANCHES:
        return [Problem("", f"$or makes {count} combinations; at most {MOST_BRANCHES} are allowed")]
    # AWS uses the last one, which is never what a user means.
    twice: list[tuple[str, ...]] = []
    _through(pattern, (), [{}], twice)
    return [
        Problem(".".join(path), "is named more than once in one combination of $or") for path in dict.fromkeys(twice)
    ]


class _Match(Enum):
    NO = auto()
    """It does not match."""
    ABSENT = auto()
    """It matches only because the event has no value there."""
    FOUND = auto()
    """It matches by a value."""


@dataclass(slots=True)
class _PatternNode:
    """The part of a branch for one place in the event."""

    matchers: Sequence[Any] = ()
    """The values and filters that a value there must match."""
    fields: "dict[str, _PatternNode]" = field(default_factory=dict)
    """The parts for the fields of the objects there."""


def _tree(branch: Branch) -> _PatternNode:
    root = _PatternNode()
    for path, matchers in branch.items():
        node = root
        for step in path:
            node = node.fields.setdefault(step, _PatternNode())
        node.matchers = matchers
    return root


def _judge(node: _PatternNode, found: Any) -> _Match:
    values, objects = _spread(found)
    verdicts = []
    if node.matchers:
        verdicts.append(_judge_values(node.matchers, values))
    if node.fields:
        verdicts.append(_judge_objects(node.fields, objects))
    return _all_of(verdicts)


def _judge_values(matchers: Sequence[Any], values: Sequence[Any]) -> _Match:
    if not values:
        return _Match.ABSENT if {"exists": False} in matchers else _Match.NO
    return _Match.FOUND if any(fits(one, value) for one in matchers for value in values) else _Match.NO


def _judge_objects(fields: dict[str, _PatternNode], objects: Sequence[dict[str, Any]]) -> _Match:
    verdicts = {
        _all_of(_judge(node, each.get(name, _MISSING)) for name, node in fields.items()) for each in objects or ({},)
    }
    if _Match.FOUND in verdicts:
        return _Match.FOUND
    return _Match.ABSENT if verdicts == {_Match.ABSENT} else _Match.NO


def _all_of(verdicts: Iterable[_Match]) -> _Match:
    """Return NO if any verdict is NO, else FOUND if any is FOUND, else ABSENT. Stop at the first NO."""
    together = _Match.ABSENT
    for verdict in verdicts:
        if verdict is _Match.NO:
            return verdict
        if verdict is _Match.FOUND:
            together = verdict
    return together


def _spread(found: Any) -> tuple[list[Any], list[dict[str, Any]]]:
    """Return the values and the objects at one place. A list stands for its elements, at any depth."""
    values, objects, left = [], [], [found]
    while left:
        one = left.pop()
        if isinstance(one, list):
            left.extend(one)
        elif isinstance(one, dict):
            objects.append(one)
        elif one is not _MISSING:
            values.append(one)
    return values, objects


Key = NewType("Key", str)
MOST_KEYS: Final = 25
_LONGEST: Final = 500
"""A source or detail-type with more bytes is hashed. Two of this length keep a key under a kilobyte."""

_Exact = str | None
"""An exact text, or None for any text."""


def index_keys(pattern: dict[str, Any]) -> tuple[Key, ...]:
    """Return the keys under which to store a pattern that `check` accepts: at most MOST_KEYS, in a fixed order."""
    pairs = {pair for branch in branches(pattern) for pair in _pairs(branch)}
    narrowed = (
        pairs,
        {(source, None) for source, _ in pairs},
        {(None, detail_type) for _, detail_type in pairs},
        {(None, None)},
    )
    return tuple(sorted(_key(*pair) for pair in next(few for few in narrowed if len(few) <= MOST_KEYS)))


def lookup_keys(event: dict[str, Any]) -> tuple[Key, ...]:
    """Return the keys, at most four, that find every pattern that could match this event."""
    return tuple(_key(*pair) for pair in product(_asked(event.get("source")), _asked(event.get("detail-type"))))


def _pairs(branch: Branch) -> set[tuple[_Exact, _Exact]]:
    sources = _texts(branch.get(("source",), ()))
    detail_types = _texts(branch.get(("detail-type",), ()))
    return set(product(sources, detail_types))


def _texts(matchers: Sequence[Any]) -> set[_Exact]:
    if matchers and all(isinstance(one, str) for one in matchers):
        return set(matchers)
    return {None}


def _asked(found: Any) -> tuple[_Exact, ...]:
    return (found, None) if isinstance(found, str) else (None,)


def _key(source: _Exact, detail_type: _Exact) -> Key:
    return Key(_part(source) + _part(detail_type))


def _part(text: _Exact) -> str:
    """Return `*`, or the length and the text, or `#` and a digest. Each form shows where it ends."""
    if text is None:
        return "*"
    # A text with a lone surrogate, which is half a character, cannot be stored as it is.
    encoded = text.encode("utf-8", "surrogatepass")
    if len(encoded) > _LONGEST or encoded.decode("utf-8", "replace") != text:
        return f"#{sha256(encoded).hexdigest()}"
    return f"{len(text)}:{text}"

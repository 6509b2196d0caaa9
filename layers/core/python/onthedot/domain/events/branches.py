"""The ways through the `$or`s of an event pattern: one of them must match, and each is fields without any `$or`."""

from collections.abc import Sequence
from math import prod
from typing import Any, Final

OR: Final = "$or"

Branch = dict[tuple[str, ...], Sequence[Any]]
"""What each field, by its path, is wanted to be."""


def branches(pattern: dict[str, Any]) -> list[Branch]:
    """All ways of a pattern that names no field twice on one of them."""
    return _through(pattern, (), [{}])


def count_branches(pattern: dict[str, Any]) -> int:
    """How many ways there are, without going them: their number can be astronomic."""
    return prod(_ways(name, wanted) for name, wanted in pattern.items())


def named_twice(pattern: dict[str, Any]) -> list[tuple[str, ...]]:
    """Fields that some way names more than once: AWS takes the last, which nobody can mean."""
    twice: list[tuple[str, ...]] = []
    _names(pattern, (), frozenset(), twice)
    return twice


def _names(
    node: dict[str, Any], path: tuple[str, ...], before: frozenset[tuple[str, ...]], twice: list[tuple[str, ...]]
) -> frozenset[tuple[str, ...]]:
    """All that is named so far. One alternative does not see what another one names."""
    for name, wanted in node.items():
        here = (*path, name)
        if name == OR:
            before = before.union(*(_names(way, path, before, twice) for way in wanted))
        elif isinstance(wanted, dict):
            before = _names(wanted, here, before, twice)
        else:
            if here in before:
                twice.append(here)
            before |= {here}
    return before


def _ways(name: str, wanted: Any) -> int:
    if name == OR:
        return sum(map(count_branches, wanted))
    return count_branches(wanted) if isinstance(wanted, dict) else 1


def _through(node: dict[str, Any], path: tuple[str, ...], so_far: list[Branch]) -> list[Branch]:
    """The ways so far, longer by this node. Changes them, and copies only where a way forks."""
    for name, wanted in node.items():
        here = (*path, name)
        if name == OR:
            so_far = [branch for way in wanted for branch in _through(way, path, [dict(one) for one in so_far])]
        elif isinstance(wanted, dict):
            so_far = _through(wanted, here, so_far)
        else:
            for branch in so_far:
                branch[here] = wanted
    return so_far

"""The branches of an event pattern: the combinations of the alternatives of its `$or`s.

A pattern matches if one of its branches matches. A branch has fields only, and no `$or`.
"""

from collections.abc import Sequence
from math import prod
from typing import Any, Final

OR: Final = "$or"

Branch = dict[tuple[str, ...], Sequence[Any]]
"""The values and filters of each field, by its path."""


def branches(pattern: dict[str, Any]) -> list[Branch]:
    """Return all branches of a pattern. No branch may name a field twice."""
    return _through(pattern, (), [{}])


def count_branches(pattern: dict[str, Any]) -> int:
    """Return the number of branches without building them, because it can be astronomic."""
    return prod(_count(name, content) for name, content in pattern.items())


def named_twice(pattern: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return the fields that a branch names more than once. AWS uses the last one, which is never what a user means."""
    twice: list[tuple[str, ...]] = []
    _names(pattern, (), frozenset(), twice)
    return twice


def _names(
    node: dict[str, Any], path: tuple[str, ...], before: frozenset[tuple[str, ...]], twice: list[tuple[str, ...]]
) -> frozenset[tuple[str, ...]]:
    """Return the fields that are named so far. Fields of one alternative do not count for another alternative."""
    for name, content in node.items():
        here = (*path, name)
        if name == OR:
            before = before.union(*(_names(alternative, path, before, twice) for alternative in content))
        elif isinstance(content, dict):
            before = _names(content, here, before, twice)
        else:
            if here in before:
                twice.append(here)
            before |= {here}
    return before


def _count(name: str, content: Any) -> int:
    if name == OR:
        return sum(map(count_branches, content))
    return count_branches(content) if isinstance(content, dict) else 1


def _through(node: dict[str, Any], path: tuple[str, ...], so_far: list[Branch]) -> list[Branch]:
    """Add the fields of this node to the branches, and return them. A branch is copied only where it forks."""
    for name, content in node.items():
        here = (*path, name)
        if name == OR:
            so_far = [
                branch
                for alternative in content
                for branch in _through(alternative, path, [dict(one) for one in so_far])
            ]
        elif isinstance(content, dict):
            so_far = _through(content, here, so_far)
        else:
            for branch in so_far:
                branch[here] = content
    return so_far

"""Wildcards in event patterns: `*` matches any characters, `\\*` a star and `\\\\` a backslash.

The match looks for one literal after the other and never goes back, so that no pattern can take a long time.
"""

import re
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

_TOKEN: Final = re.compile(r"\\[*\\]|[^\\]", re.DOTALL)


def wildcard_fault(argument: Any) -> str:
    """Return the fault of a wildcard, or an empty text."""
    if not isinstance(argument, str):
        return "must be a text"
    tokens = _TOKEN.findall(argument)
    if "".join(tokens) != argument:
        return "a backslash stands only before * or another backslash"
    if any(pair == ("*", "*") for pair in pairwise(tokens)):
        return "two wildcards must not follow each other"
    return ""


def wildcard_fits(argument: str, value: Any) -> bool:
    """Return whether a wildcard without faults matches the whole text."""
    if not isinstance(value, str):
        return False
    first, *rest = _literals(argument)
    if not rest:
        return value == first
    *middle, last = rest
    end = len(value) - len(last)
    if not value.startswith(first) or not value.endswith(last) or end < len(first):
        return False
    place = len(first)
    for literal in middle:
        place = value.find(literal, place, end)
        if place < 0:
            return False
        place += len(literal)
    return True


@lru_cache(maxsize=1024)
def _literals(argument: str) -> tuple[str, ...]:
    """Return the literals between the wildcards, without escapes: one more than there are wildcards."""
    literals = [""]
    for part in _TOKEN.findall(argument):
        if part == "*":
            literals.append("")
        else:
            literals[-1] += part[-1]
    return tuple(literals)

"""The keys of the pattern index: the source and the detail-type that a pattern asks for.

A pattern that could match an event is stored under at least one of the keys that are looked up for the event. Other
patterns may be there too: the index only narrows the search, and `matches` decides.
"""

from collections.abc import Sequence
from hashlib import sha256
from itertools import product
from typing import Any, Final, NewType

from onthedot.domain.events.branches import Branch, branches

Key = NewType("Key", str)
MOST_KEYS: Final = 25
_LONGEST: Final = 500
"""A source or detail-type with more bytes is hashed. Two of this length keep a key under a kilobyte."""

_Exact = str | None
"""An exact text, or None for any text."""


def index_keys(pattern: dict[str, Any]) -> tuple[Key, ...]:
    """Return the keys under which to store a pattern that `check` accepts: at most 25, in a fixed order."""
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

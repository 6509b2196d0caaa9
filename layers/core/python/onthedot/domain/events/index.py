"""Where a pattern stands so that an event finds it: under the source and the detail-type that it asks for.

A pattern that could match an event stands under at least one of the keys that the event looks up. Others may stand
there too: the index narrows, `matches` decides.
"""

from collections.abc import Sequence
from hashlib import sha256
from itertools import product
from typing import Any, Final, NewType

from onthedot.domain.events.branches import Branch, branches

Key = NewType("Key", str)
MOST_KEYS: Final = 25
_LONGEST: Final = 500
"""Bytes of a source or detail-type that stands in a key as itself: two of them keep it under a kilobyte."""

_WorkerOptions = str | None
"""An exact text, or None for any."""


def index_keys(pattern: dict[str, Any]) -> tuple[Key, ...]:
    """The keys under which to keep a pattern that `check` accepts; at most 25, in a fixed order."""
    pairs = {pair for branch in branches(pattern) for pair in _pairs(branch)}
    narrowed = (
        pairs,
        {(source, None) for source, _ in pairs},
        {(None, detail_type) for _, detail_type in pairs},
        {(None, None)},
    )
    return tuple(sorted(_key(*pair) for pair in next(few for few in narrowed if len(few) <= MOST_KEYS)))


def lookup_keys(event: dict[str, Any]) -> tuple[Key, ...]:
    """The at most four keys under which every pattern stands that could match this event."""
    return tuple(_key(*pair) for pair in product(_asked(event.get("source")), _asked(event.get("detail-type"))))


def _pairs(branch: Branch) -> set[tuple[_WorkerOptions, _WorkerOptions]]:
    sources = _exact(branch.get(("source",), ()))
    detail_types = _exact(branch.get(("detail-type",), ()))
    return set(product(sources, detail_types))


def _exact(wanted: Sequence[Any]) -> set[_WorkerOptions]:
    if wanted and all(isinstance(one, str) for one in wanted):
        return set(wanted)
    return {None}


def _asked(found: Any) -> tuple[_WorkerOptions, ...]:
    return (found, None) if isinstance(found, str) else (None,)


def _key(source: _WorkerOptions, detail_type: _WorkerOptions) -> Key:
    return Key(_part(source) + _part(detail_type))


def _part(text: _WorkerOptions) -> str:
    """`*`, or the text after its length, or `#` and a digest: each says itself where it ends."""
    if text is None:
        return "*"
    # A text with half a character (a lone surrogate) cannot be stored as it is.
    encoded = text.encode("utf-8", "surrogatepass")
    if len(encoded) > _LONGEST or encoded.decode("utf-8", "replace") != text:
        return f"#{sha256(encoded).hexdigest()}"
    return f"{len(text)}:{text}"

"""Growing pauses between tries, with jitter, so that many callers do not try at the same moment."""

import random
from typing import Final

_SHARED: Final = random.Random()  # noqa: S311 (jitter, not a secret)
"""Seeding one takes some 10 µs, which a retry loop on the hot path should not pay."""


class Backoff:
    """A sequence of pauses whose bound doubles from `first` to `most`. Each pause is between half and all of its bound.

    The caller chooses the unit: seconds or milliseconds. An instance belongs to one thread.
    """

    def __init__(self, first: float, most: float, chance: random.Random | None = None) -> None:
        self._first = first
        self._most = most
        self._chance = chance or _SHARED
        self._next = first

    def next(self) -> float:
        """Return the pause to make now, and double the bound of the following one."""
        pause = self._next * self._chance.uniform(0.5, 1)
        self._next = min(self._next * 2, self._most)
        return pause

    @property
    def is_fresh(self) -> bool:
        """Whether the next pause is the first one since the last reset."""
        return self._next == self._first

    def reset(self) -> None:
        """Begin again with the first pause."""
        self._next = self._first

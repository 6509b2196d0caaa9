"""Pauses that grow while nothing comes of asking, with jitter, so that many workers do not ask in step."""

import random


class Backoff:
    """From `first` doubling to `most` seconds, each between half and the whole of it. One thread uses it."""

    def __init__(self, first: float, most: float, chance: random.Random) -> None:
        self._first = first
        self._most = most
        self._chance = chance
        self._next = first

    def next(self) -> float:
        """Seconds to wait now."""
        pause = self._next * self._chance.uniform(0.5, 1)
        self._next = min(self._next * 2, self._most)
        return pause

    @property
    def is_fresh(self) -> bool:
        """Whether the next pause is the first one since all was well."""
        return self._next == self._first

    def reset(self) -> None:
        self._next = self._first

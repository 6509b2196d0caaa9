"""Queues that a worker leaves alone for a while, because what waits there is for another worker.

A worker that looked again at once would take the message as soon as it can be seen, each time before the one that it is
for: whoever polls the longest wins.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from onthedot.domain.run import Priority

AVOID_SECONDS: Final = 6.0
"""Twice as long as the message is hidden: the one that it is for has the other half to find it."""


class Avoided:
    """Safe to use from several threads: a stale look costs one more try."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._until: dict[Priority, float] = {}

    def note(self, priorities: Iterable[Priority]) -> None:
        until = self._monotonic() + AVOID_SECONDS
        self._until |= dict.fromkeys(priorities, until)

    def without(self, priorities: Iterable[Priority]) -> Sequence[Priority]:
        """Those that may be looked into now, in their order."""
        now = self._monotonic()
        return [priority for priority in priorities if self._until.get(priority, now) <= now]

"""Answers of a store that a process remembers for a short time, and goes on with while the store fails."""

import logging
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from onthedot.core.errors import Unavailable
from onthedot.core.ports import Clock

_LOG: Final = logging.getLogger(__name__)
MOST: Final = 10_000
Key = TypeVar("Key")
Value = TypeVar("Value")


class Remembered(Generic[Key, Value]):
    """The answers of a store by key. That there is nothing is an answer too.

    An answer counts for `known_ms`. While the store fails, the last one counts for `unknown_ms`. None: it counts
    without end as `stale` returns it, and the store is asked no more often than a good one.
    """

    def __init__(
        self,
        read: Callable[[Key], Value],
        clock: Clock,
        *,
        known_ms: int,
        unknown_ms: int | None,
        failure: str,
        stale: Callable[[Value], Value] = lambda value: value,
    ) -> None:
        self._read = read
        self._clock = clock
        self._known_ms = known_ms
        self._unknown_ms = unknown_ms
        self._failure = failure
        self._stale = stale
        self._answers: dict[Key, tuple[int, Value]] = {}

    def find(self, key: Key) -> Value:
        """Return what is known, or read it. Raise Unavailable when the store fails and no answer counts."""
        now, last = self._clock.now(), self._answers.get(key)
        if last is not None and 0 <= now - last[0] < self._known_ms:
            return last[1]
        try:
            return self.read_again(key)
        except Unavailable as error:
            if last is None or (self._unknown_ms is not None and now - last[0] >= self._unknown_ms):
                raise
            _LOG.warning(self._failure, extra={"of": key, "error": str(error)})
            if self._unknown_ms is None:
                last = (now, self._stale(last[1]))
                self._answers[key] = last
            return last[1]

    def read_again(self, key: Key) -> Value:
        # The age counts from before the read: what was put during the read may not be in the answer.
        now = self._clock.now()
        value = self._read(key)
        if len(self._answers) >= MOST and key not in self._answers:
            self._answers.clear()
        self._answers[key] = (now, value)
        return value

    def forget(self, key: Key) -> None:
        self._answers.pop(key, None)

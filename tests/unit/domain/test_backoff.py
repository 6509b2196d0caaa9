"""Pauses between tries."""

from typing import Any

from onthedot.core.retry import Backoff


class Chance:
    """Always the whole pause."""

    def uniform(self, _: float, most: float) -> float:
        return most


def test_pauses_grow_to_their_most_and_begin_anew() -> None:
    chance: Any = Chance()
    backoff = Backoff(0.2, 2.0, chance)
    assert [backoff.next() for _ in range(6)] == [0.2, 0.4, 0.8, 1.6, 2.0, 2.0]
    assert not backoff.is_fresh
    backoff.reset()
    assert backoff.next() == 0.2

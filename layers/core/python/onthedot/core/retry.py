"""When to try again: the policy of a run, and growing pauses with jitter between calls."""

import random
from dataclasses import dataclass
from typing import Final

from onthedot.core.choices import RetryPolicy


@dataclass(frozen=True, slots=True)
class GiveUp:
    why: str


def backoff_ms(policy: RetryPolicy, failures: int, chance: random.Random) -> int:
    """Return the wait after the n-th failure: exponential and capped. Jitter makes it a random part of that."""
    try:
        full = policy.backoff_seconds * policy.factor ** (failures - 1)
    except OverflowError:
        full = policy.max_backoff_seconds
    capped = min(full, policy.max_backoff_seconds)
    return round(1000 * (chance.uniform(0, capped) if policy.jitter else capped))


def after_failure(
    policy: RetryPolicy,
    failures: int,
    *,
    error: str,
    retryable: bool,
    retry_after_ms: int | None,
    now: int,
    chance: random.Random,
) -> int | GiveUp:
    """Return the time of the next attempt after `failures` failed ones, this one included, if there is to be one.

    `retry_after_ms` is a lower bound for the wait.
    """
    if not retryable:
        return GiveUp(f"not retryable: {error}")
    if failures > policy.max_retries:
        attempts = "attempts" if policy.max_retries else "attempt"
        return GiveUp(f"{failures} of {policy.max_retries + 1} {attempts} failed: {error}")
    return now + max(backoff_ms(policy, failures, chance), retry_after_ms or 0)


_SHARED: Final = random.Random()  # noqa: S311 (jitter, not a secret)
"""Seeding one takes some 10 µs, which a retry loop on the hot path should not pay."""


class Backoff:
    """A sequence of pauses, each between half and all of a bound that doubles from `first` to `most`.

    The caller chooses the unit. An instance belongs to one thread.
    """

    def __init__(self, first: float, most: float, chance: random.Random | None = None) -> None:
        self._first = first
        self._most = most
        self._chance = chance or _SHARED
        self._next = first

    def next(self) -> float:
        pause = self._next * self._chance.uniform(0.5, 1)
        self._next = min(self._next * 2, self._most)
        return pause

    @property
    def is_fresh(self) -> bool:
        return self._next == self._first

    def reset(self) -> None:
        self._next = self._first

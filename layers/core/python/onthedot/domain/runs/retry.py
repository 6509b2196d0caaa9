"""Decide whether and when a failed attempt is retried, with the reason."""

import random
from dataclasses import dataclass

from onthedot.domain.runs.records import RetryPolicy


@dataclass(frozen=True, slots=True)
class RetryAt:
    """The decision to try again at this instant."""

    at: int
    why: str


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The decision to try no more."""

    why: str


def backoff_ms(policy: RetryPolicy, failures: int, chance: random.Random) -> int:
    """Return the wait after the n-th failure: exponential and capped.

    With jitter, which is the default, it is a random part of that: between 0 and the whole.
    """
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
) -> RetryAt | GiveUp:
    """Decide after `failures` failed attempts, this one included. `retry_after_ms` is a lower bound for the wait."""
    if not retryable:
        return GiveUp(f"not retryable: {error}")
    if failures > policy.max_retries:
        attempts = "attempts" if policy.max_retries else "attempt"
        return GiveUp(f"{failures} of {policy.max_retries + 1} {attempts} failed: {error}")
    wait = max(backoff_ms(policy, failures, chance), retry_after_ms or 0)
    return RetryAt(now + wait, f"attempt failed, retry {failures} of {policy.max_retries}: {error}")

"""Backoff and the decision after a failure."""

import random

from hypothesis import given
from hypothesis import strategies as st

from onthedot.core.choices import RetryPolicy
from onthedot.core.retry import GiveUp, after_failure, backoff_ms
from tests.builders import NOON

policies = st.builds(
    RetryPolicy,
    max_retries=st.integers(0, 100),
    backoff_seconds=st.floats(0, 86_400),
    factor=st.floats(1, 10),
    max_backoff_seconds=st.floats(0, 86_400),
    jitter=st.booleans(),
)


def decide(policy: RetryPolicy, failures: int, **given_: object) -> int | GiveUp:
    facts: dict[str, object] = {"error": "HTTP 500", "retryable": True, "retry_after_ms": None}
    return after_failure(policy, failures, now=NOON, chance=random.Random(1), **{**facts, **given_})  # type: ignore[arg-type]


@given(policies, st.integers(1, 10_000), st.integers())
def test_a_wait_is_never_negative_and_never_above_the_cap(policy: RetryPolicy, failures: int, seed: int) -> None:
    wait = backoff_ms(policy, failures, random.Random(seed))
    assert 0 <= wait <= round(1000 * policy.max_backoff_seconds)


@given(policies, st.integers(1, 200))
def test_there_are_never_more_tries_than_asked_for(policy: RetryPolicy, failures: int) -> None:
    assert isinstance(decide(policy, failures), GiveUp if failures > policy.max_retries else int)


def test_waits_grow_by_the_factor_up_to_the_cap() -> None:
    policy = RetryPolicy(backoff_seconds=2, factor=3, max_backoff_seconds=50, jitter=False)
    assert [backoff_ms(policy, n, random.Random(1)) for n in (1, 2, 3, 4, 5)] == [2_000, 6_000, 18_000, 50_000, 50_000]


def test_full_jitter_spreads_over_the_whole_wait() -> None:
    chance = random.Random(1)
    waits = [backoff_ms(RetryPolicy(backoff_seconds=100), 1, chance) for _ in range(1_000)]
    assert min(waits) < 5_000
    assert max(waits) > 95_000


def test_retry_after_is_a_lower_bound() -> None:
    policy = RetryPolicy(backoff_seconds=2, jitter=False)
    assert decide(policy, 1, retry_after_ms=7_000) == NOON + 7_000
    assert decide(policy, 1, retry_after_ms=500) == NOON + 2_000


def test_what_is_not_retryable_is_given_up_at_once() -> None:
    assert decide(RetryPolicy(), 1, retryable=False) == GiveUp("not retryable: HTTP 500")

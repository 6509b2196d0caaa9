"""The rate of a gate: never more than burst + rate · t starts in any window, and instants in turn."""

import random
from dataclasses import replace
from typing import Any

import pytest

from onthedot.gates import rate
from onthedot.gates.limits import IN_FORCE_MS, GateLimits
from onthedot.gates.state import GateChange, GateState

NOW = 1_700_000_000_000


def after(state: GateState, change: GateChange) -> GateState:
    """Apply a change whose expectation holds."""
    assert all(getattr(state, name) == value for name, value in change.equals.items())
    assert all((getattr(state, name) or 0) > value for name, value in change.above.items())
    grown: dict[str, Any] = {name: getattr(state, name) + more for name, more in change.increments.items()}
    return replace(state, **change.sets, **grown)


def most_in_windows(starts: list[int], limits: GateLimits) -> float:
    """Return by how much the starts exceed burst + rate · t at most, over all windows from a start to a start."""
    per_ms = (limits.per_second or 0) / 1000
    burst = limits.burst or 1
    return max(
        (last - first + 1) - (burst + per_ms * (starts[last] - starts[first]))
        for first in range(len(starts))
        for last in range(first, len(starts))
    )


@pytest.mark.parametrize("seed", range(40))
def test_no_window_has_more_starts_than_allowed(seed: int) -> None:
    chance = random.Random(seed)
    limits = GateLimits(
        per_second=chance.choice([0.1, 1, 3, 7.5, 10, 99.9, 200]), burst=chance.choice([None, 1, 2, 25])
    )
    state, now, starts = GateState(), NOW, []
    for _ in range(150):
        now += chance.choice([0, 0, 1, 3, 50, 1_000, 20_000])
        if rate.too_soon(limits, state, now, newcomer=chance.random() < 0.5) is None:
            state = after(state, rate.start(limits, state, now))
            starts.append(now)
        elif chance.random() < 0.5 and (change := rate.reserve(limits, state, now, 1)) is not None:
            state = after(state, change)
    assert most_in_windows(starts, limits) <= 1e-6


def test_a_burst_starts_at_once_and_then_one_by_one() -> None:
    limits = GateLimits(per_second=10, burst=3)
    state = GateState()
    for _ in range(3):
        assert rate.too_soon(limits, state, NOW, newcomer=True) is None
        state = after(state, rate.start(limits, state, NOW))
    assert rate.too_soon(limits, state, NOW, newcomer=True) == NOW + 100


def test_runs_that_come_too_soon_get_instants_in_turn() -> None:
    limits = GateLimits(per_second=2)
    state = after(GateState(), rate.start(limits, GateState(), NOW))
    instants = []
    for _ in range(3):
        change = rate.reserve(limits, state, NOW, 1)
        assert change is not None
        state = after(state, change)
        instants += rate.reserved(limits, state, 1)
    assert instants == [NOW + 500, NOW + 1_000, NOW + 1_500]
    assert rate.too_soon(limits, state, NOW + 600, newcomer=True) == NOW + 2_000  # it does not overtake them
    assert rate.too_soon(limits, state, NOW + 600, newcomer=False) is None


def test_several_instants_are_reserved_by_one_change() -> None:
    limits = GateLimits(per_second=10)
    change = rate.reserve(limits, GateState(), NOW, 4)
    assert change is not None
    assert rate.reserved(limits, after(GateState(), change), 4) == [NOW, NOW + 100, NOW + 200, NOW + 300]


def test_an_instant_too_far_ahead_is_not_reserved() -> None:
    limits = GateLimits(per_second=1)
    far = GateState(next_instant=(NOW + rate.LONGEST_AHEAD_MS + 1) * 1000)
    assert rate.reserve(limits, far, NOW, 1) is None
    assert rate.free_instants(limits, far, NOW) == 0
    assert rate.free_instants(limits, GateState(), NOW) == rate.LONGEST_AHEAD_MS // 1000 + 1


def test_reservations_at_the_same_time_do_not_refuse_each_other() -> None:
    limits = GateLimits(per_second=1)
    state = GateState(next_instant=(NOW + 5_000) * 1000)
    first, second = rate.reserve(limits, state, NOW, 1), rate.reserve(limits, state, NOW, 1)
    assert first is not None
    assert second is not None
    assert rate.reserved(limits, after(after(state, first), second), 1) == [NOW + 6_000]


@pytest.mark.parametrize("slow", [GateLimits(per_second=0.001), GateLimits(per_second=0.0001, burst=200)])
@pytest.mark.parametrize("raised", [GateLimits(per_second=10), GateLimits(per_second=10, burst=5)])
def test_a_raised_rate_does_not_wait_for_the_instants_of_the_old_one(slow: GateLimits, raised: GateLimits) -> None:
    state = GateState()
    for _ in range(slow.burst or 1):
        state = after(state, rate.start(slow, state, NOW))
    limits = replace(raised, put_at=NOW)
    first = NOW + IN_FORCE_MS + 100
    assert rate.first_instant(limits, state, NOW) == first
    assert rate.too_soon(limits, state, NOW + IN_FORCE_MS, newcomer=False) == first
    assert rate.too_soon(limits, state, first, newcomer=True) is None
    state = after(state, rate.start(limits, state, first))
    assert rate.too_soon(limits, state, first, newcomer=True) == first + 100  # the burst counts as used up
    assert rate.too_soon(limits, state, first + 100, newcomer=True) is None


def test_a_worker_whose_clock_is_behind_starts_no_more_than_the_others() -> None:
    limits = GateLimits(per_second=10, burst=3)
    state = GateState()
    for _ in range(3):
        state = after(state, rate.start(limits, state, NOW))
    assert rate.too_soon(limits, state, NOW - rate.SKEW_MS + 1, newcomer=False) == NOW + 100

"""A rate that was raised counts soon, also if its last start was at a very slow rate. It stays strict."""

from onthedot.domain.gates import rate
from onthedot.domain.gates.limits import GateLimits
from onthedot.domain.gates.state import GateState

NOW = 1_800_000_000_000
SLOW = GateLimits(per_second=0.001)
SOON_MS = rate.KNOWN_FOR_SURE_MS


def after_start_at_slow_rate() -> GateState:
    change = rate.start(SLOW, GateState(), NOW)
    return GateState(next_start=change.sets["next_start"], next_instant=(NOW + 900_000) * 1000)


def test_a_raised_rate_counts_within_a_minute() -> None:
    state, faster = after_start_at_slow_rate(), GateLimits(per_second=10, put_at=NOW + 1_000)
    assert rate.too_soon(SLOW, state, NOW + 60_000, newcomer=False) is not None
    assert rate.too_soon(faster, state, NOW + 60_000, newcomer=False) is None
    assert rate.too_soon(faster, state, NOW + 60_000, newcomer=True) is None
    assert rate.free_instants(faster, state, NOW + 60_000) > 1_000


def test_until_all_know_the_raised_rate_the_slow_one_counts() -> None:
    state, faster = after_start_at_slow_rate(), GateLimits(per_second=10, burst=3, put_at=NOW)
    assert rate.too_soon(faster, state, NOW + SOON_MS, newcomer=False) == NOW + SOON_MS + 100


def test_starts_at_the_raised_rate_are_counted_by_it() -> None:
    state, faster = after_start_at_slow_rate(), GateLimits(per_second=10, put_at=NOW)
    now = NOW + 2 * SOON_MS
    change = rate.start(faster, state, now)
    assert change.sets["next_start"] == (now + 100) * 1000
    assert change.equals == {"next_start": state.next_start}


def test_instants_of_the_slower_rate_are_forgotten_once() -> None:
    state = GateState(next_instant=(NOW + 100_000) * 1000)
    change = rate.forget_instants(state, NOW)
    assert change is not None
    assert change.sets == {"next_instant": None}
    assert rate.forget_instants(GateState(), NOW) is None


def test_only_a_higher_rate_is_faster() -> None:
    assert GateLimits(per_second=2).is_faster_than(GateLimits(per_second=1))
    assert not GateLimits(per_second=1).is_faster_than(GateLimits(per_second=1))
    assert not GateLimits(per_second=1).is_faster_than(GateLimits(per_second=0))
    assert not GateLimits(per_second=1).is_faster_than(None)
    assert not GateLimits(in_flight=1).is_faster_than(GateLimits(per_second=1))

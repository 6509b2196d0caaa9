"""The summary: one word and a few sentences that say how the runs of a tenant are."""

import pytest

from onthedot.statistics.counters import BOUNDS_MS, Counters
from onthedot.statistics.summary import LargestCause, State, summarize


def late(count: int, lateness: int) -> Counters:
    counts = [0] * (len(BOUNDS_MS) + 1)
    counts[BOUNDS_MS.index(lateness)] = count
    return Counters(succeeded=count, counts=tuple(counts), max_ms=lateness)


def test_failures_are_named_with_their_largest_cause() -> None:
    found = summarize(None, Counters(succeeded=12_299, failed=23), LargestCause("HTTP 503", 18), [])
    assert found.state is State.ON_TIME
    assert found.message == "12,322 runs in the last hour, 23 failed. The largest cause: HTTP 503 (18)."


@pytest.mark.parametrize(("failed", "state"), [(4, State.ON_TIME), (5, State.FAILING), (100, State.FAILING)])
def test_runs_are_failing_when_one_of_twenty_fails(failed: int, state: State) -> None:
    assert summarize(None, Counters(succeeded=100 - failed, failed=failed), None, []).state is state


def test_without_runs_the_tenant_is_idle() -> None:
    found = summarize(None, Counters(), None, [])
    assert (found.state, found.message) == (State.IDLE, "No run ended in the last hour.")


@pytest.mark.parametrize("hour", [Counters(skipped=2), Counters(cancelled=1), Counters(skipped=1, cancelled=1)])
def test_a_tenant_whose_runs_were_only_skipped_or_cancelled_is_not_on_time(hour: Counters) -> None:
    assert summarize(None, hour, None, []).state is State.IDLE


def test_other_outcomes_are_counted_too() -> None:
    found = summarize(None, Counters(succeeded=1), None, [])
    assert (found.state, found.message) == (State.ON_TIME, "1 run in the last hour.")
    found = summarize(None, Counters(succeeded=1, skipped=2, cancelled=1), None, [])
    assert found.message == "4 runs in the last hour, 2 skipped, 1 cancelled."


def test_runs_are_late_when_one_of_a_hundred_starts_more_than_five_seconds_late() -> None:
    assert summarize(None, late(10, 5_000), None, []).state is State.ON_TIME
    found = summarize(None, late(10, 20_000), None, [])
    assert found.state is State.LATE
    assert found.message == "10 runs in the last hour. One of a hundred started 20 s late or later."


def test_hold_ups_are_more_urgent_than_failures_and_late_ticks_than_hold_ups() -> None:
    failing = Counters(failed=3)
    held_up = summarize(None, failing, None, ["gate stripe is paused, so nothing starts; 12 runs wait", "another"])
    assert held_up.state is State.HELD_UP
    assert held_up.message.endswith("Gate stripe is paused, so nothing starts; 12 runs wait. And 1 more.")
    ticks = summarize(
        "no tick has ended since the scheduler started 5 min ago; due runs wait", failing, None, ["another"]
    )
    assert ticks.state is State.LATE
    assert ticks.message.startswith("No tick has ended since the scheduler started 5 min ago; due runs wait. 3 runs")


def test_without_counters_the_rest_is_said() -> None:
    found = summarize(None, None, None, ["another"])
    assert (found.state, found.message) == (
        State.HELD_UP,
        "The runs of the last hour cannot be counted now. Another.",
    )

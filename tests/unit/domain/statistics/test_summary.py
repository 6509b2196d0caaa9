"""The one word and the few sentences that sum up the runs of a tenant."""

import pytest

from onthedot.statistics.counters import BOUNDS_MS, Counters
from onthedot.statistics.summary import State, summarize


def late(count: int, lateness: int) -> Counters:
    counts = [0] * (len(BOUNDS_MS) + 1)
    counts[BOUNDS_MS.index(lateness)] = count
    return Counters(succeeded=count, counts=tuple(counts), max_ms=lateness)


@pytest.mark.parametrize(
    ("hour", "state", "parts"),
    [
        (Counters(succeeded=96, failed=4), State.ON_TIME, ["100 runs", "4 failed"]),
        (Counters(succeeded=95, failed=5), State.FAILING, ["5 failed"]),
        (Counters(), State.IDLE, []),
        (Counters(skipped=1, cancelled=1), State.IDLE, ["1 skipped", "1 cancelled"]),
        (late(10, 5_000), State.ON_TIME, ["10 runs"]),
        (late(10, 20_000), State.LATE, ["10 runs", "20 s late or more"]),
    ],
)
def test_the_last_hour_has_a_state_and_its_numbers(hour: Counters, state: State, parts: list[str]) -> None:
    found = summarize(None, hour, None, [])
    assert found.state is state
    assert all(part in found.message for part in parts), found.message


def test_hold_ups_are_more_urgent_than_failures_and_late_ticks_than_hold_ups() -> None:
    failing = Counters(failed=3)
    held_up = summarize(None, failing, None, ["gate stripe is paused", "another"])
    assert held_up.state is State.HELD_UP
    assert held_up.message.endswith("Gate stripe is paused. And 1 more.")
    assert summarize("no tick has ended", failing, None, ["another"]).state is State.LATE
    assert summarize(None, None, None, ["another"]).state is State.HELD_UP

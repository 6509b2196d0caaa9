"""Ranges of time in steps: their defaults, their bounds, and the counters of each step."""

import pytest

from onthedot.core.choices import Priority
from onthedot.statistics.counters import Counters, MinuteCounters, in_steps, step_range

DAY = 86_400_000
NOW = 20_000 * DAY + 12 * 3_600_000 + 34_567


def test_without_anything_it_is_the_last_hour_by_minutes() -> None:
    found = step_range(None, None, None, NOW)
    assert found.step_ms == 60_000
    assert found.until - 60_000 <= NOW < found.until
    assert (len(found.starts), found.until - found.since) == (60, 3_600_000)


@pytest.mark.parametrize(
    ("length", "step"), [(60_000, 60), (3 * 3_600_000, 60), (DAY // 2, 300), (2 * DAY, 3600), (35 * DAY, 86_400)]
)
def test_a_range_gets_the_shortest_step_with_which_it_has_few_steps(length: int, step: int) -> None:
    found = step_range(NOW - length, NOW, None, NOW)
    assert found.step_ms == step * 1000
    assert len(found.starts) <= 200


def test_the_counters_of_minutes_and_priorities_add_up_in_their_steps() -> None:
    asked = step_range(NOW - 3_600_000, NOW, 300, NOW)
    first = asked.since // 60_000
    minutes = [
        MinuteCounters(first, Priority.HIGH, Counters(succeeded=1)),
        MinuteCounters(first + 4, Priority.LOW, Counters(failed=2)),
        MinuteCounters(first + 5, Priority.LOW, Counters(succeeded=3)),
    ]
    steps = in_steps(minutes, asked)
    assert [time for time, _ in steps] == list(asked.starts)
    assert [(one.succeeded, one.failed) for _, one in steps[:3]] == [(1, 2), (3, 0), (0, 0)]


def test_the_minutes_of_a_range_contain_its_last_moment() -> None:
    assert step_range(120_000, 180_001, 60, NOW).minutes == (2, 4)
    assert step_range(120_000, 180_000, 60, NOW).minutes == (2, 3)

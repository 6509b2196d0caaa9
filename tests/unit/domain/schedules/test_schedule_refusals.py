"""Schedules that make no sense are refused by field, with advice; extremes do no harm."""

from typing import Any

import pytest

from onthedot.schedules.errors import BadSchedule, BadTimezone
from onthedot.schedules.schedule import CronSchedule, EverySchedule, Schedule, next_fire
from tests.builders import NOON
from tests.unit.domain.schedules.oracle import ms, utc


@pytest.mark.parametrize("after", [-(10**18), -1, 253_402_300_799_999, 10**20])
def test_far_away_instants_do_no_harm(after: int) -> None:
    found = next_fire(Schedule(CronSchedule("0 0 29 2 *", "Pacific/Kiritimati")), after)
    assert found == (ms(utc("1972-02-29T10:40")) if after < 0 else None)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("europe/berlin", "did you mean Europe/Berlin?"),
        ("New York", "did you mean America/New_York?"),
        ("Tokyo", "did you mean Asia/Tokyo?"),
        ("", "give an IANA name"),
        ("localtime", "is not a time zone"),
        ("../../etc/passwd", "is not a time zone"),
        ("x" * 10_000, "is not a time zone"),
    ],
)
def test_an_unknown_zone_is_refused_with_the_nearest_name(name: str, advice: str) -> None:
    with pytest.raises(BadTimezone) as refusal:
        CronSchedule("@daily", name)
    assert advice in str(refusal.value)
    assert len(str(refusal.value)) < 200
    assert refusal.value.field == "timezone"


@pytest.mark.parametrize(
    ("build", "field"),
    [
        (lambda: EverySchedule(0, NOON), "every"),
        (lambda: Schedule(EverySchedule(1, NOON), start_at=2, end_at=1), "end_at"),
        (lambda: Schedule(EverySchedule(1, NOON), jitter_seconds=901), "jitter_seconds"),
        (lambda: Schedule(EverySchedule(1, NOON), jitter_seconds=-1), "jitter_seconds"),
    ],
)
def test_limits_that_make_no_sense_are_refused_by_field(build: Any, field: str) -> None:
    with pytest.raises(BadSchedule) as refusal:
        build()
    assert refusal.value.field == field

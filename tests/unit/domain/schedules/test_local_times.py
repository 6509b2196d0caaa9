"""Local times without an offset: the instant at which clocks of a zone show them."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onthedot.schedules.choices import DstPolicy, Gap, Overlap
from onthedot.schedules.cron_zoned import DEFAULT_DST
from onthedot.schedules.errors import BadSchedule
from onthedot.schedules.local_times import LocalTime, instant_of
from onthedot.schedules.zones import zone
from tests.unit.domain.schedules.oracle import ms, utc
from tests.unit.domain.schedules.strategies import CHANGES, ZONES

BERLIN = zone("Europe/Berlin")
SKIP, TWICE = DstPolicy(gap=Gap.SKIP), DstPolicy(overlap=Overlap.TWICE)


def at(text: str, leap: bool = False) -> LocalTime:
    return LocalTime(ms(utc(text)), leap=leap)


@pytest.mark.parametrize(
    ("local", "instant"),
    [
        ("2026-01-31T09:30", "2026-01-31T08:30"),
        ("2026-07-31T09:30", "2026-07-31T07:30"),
        ("2026-03-29T01:59:59", "2026-03-29T00:59:59"),
        ("2026-03-29T02:00", "2026-03-29T01:00"),
        ("2026-03-29T02:30", "2026-03-29T01:00"),
        ("2026-03-29T03:00", "2026-03-29T01:00"),
        ("2026-10-25T02:30", "2026-10-25T00:30"),
        ("2026-10-25T03:00", "2026-10-25T02:00"),
    ],
)
def test_a_time_is_when_clocks_show_it(local: str, instant: str) -> None:
    assert instant_of(at(local), BERLIN, DEFAULT_DST) == ms(utc(instant))


def test_a_time_that_clocks_jump_over_is_refused_by_skip() -> None:
    with pytest.raises(BadSchedule) as refusal:
        instant_of(at("2026-03-29T02:30"), BERLIN, SKIP)
    assert refusal.value.field == "at"
    assert str(refusal.value) == (
        "does not exist in Europe/Berlin: clocks jump from 2026-03-29 02:00 to 2026-03-29 03:00, and dst.gap is skip;"
        " give a time before or after"
    )


def test_a_time_that_clocks_show_twice_is_refused_by_twice() -> None:
    with pytest.raises(BadSchedule, match=r"is shown twice by clocks in Europe/Berlin.* set dst.overlap to once"):
        instant_of(at("2026-10-25T02:30"), BERLIN, TWICE)


def test_a_leap_second_is_the_next_second_where_it_can_be_one() -> None:
    assert instant_of(at("2017-01-01T01:00", leap=True), BERLIN, DEFAULT_DST) == ms(utc("2017-01-01T00:00"))
    with pytest.raises(BadSchedule, match="has 60 as its second"):
        instant_of(at("2017-01-01T00:00", leap=True), BERLIN, DEFAULT_DST)


def expected(name: str, local: datetime) -> int:
    """The first instant at which clocks show this minute or a later one for the first time, by looking at each."""
    moment = local.replace(tzinfo=UTC) - timedelta(hours=26)
    while moment.astimezone(ZoneInfo(name)).replace(tzinfo=None) < local:
        moment += timedelta(minutes=1)
    return ms(moment)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(CHANGES), st.integers(0, 3 * 96))
def test_times_around_changes_are_those_of_zoneinfo(change: tuple[str, str], quarters: int) -> None:
    name, day = change
    local = utc(day).replace(tzinfo=None) + timedelta(minutes=15 * quarters)
    found = instant_of(LocalTime(ms(local.replace(tzinfo=UTC))), zone(name), DEFAULT_DST)
    assert found == expected(name, local)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(ZONES), st.integers(0, 250_000_000_000_000))
def test_an_instant_survives_the_way_to_local_time_and_back(name: str, instant: int) -> None:
    place = zone(name)
    shown = instant + place.offset(instant)
    found = instant_of(LocalTime(shown), place, DEFAULT_DST)
    assert found <= instant
    assert found + place.offset(found) == shown


@pytest.mark.parametrize("shown", [-(10**12), -1, 0, 253_402_300_799_999])
def test_far_away_times_do_no_harm(shown: int) -> None:
    assert abs(instant_of(LocalTime(shown), zone("Pacific/Kiritimati"), DEFAULT_DST) - shown) <= 14 * 3_600_000

"""Schedules: limits, intervals, jitter, their stored form, and the zones they name."""

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onthedot.schedules.choices import DstPolicy, Gap
from onthedot.schedules.schedule import (
    CronSchedule,
    EverySchedule,
    Schedule,
    contains,
    fires_between,
    jittered,
    next_fire,
    skipped_between,
)
from onthedot.schedules.schedule import schedule_from_json as from_json
from onthedot.schedules.schedule import schedule_to_json as to_json
from tests.builders import NOON
from tests.unit.domain.schedules.oracle import ms, utc
from tests.unit.domain.schedules.strategies import instants, intervals, schedules

SECOND = 1_000
HOUR = 3_600 * SECOND
SKIP = DstPolicy(gap=Gap.SKIP)
BERLIN = "Europe/Berlin"


@settings(deadline=None)
@given(schedules(), instants, st.integers(1, 20))
def test_fires_between_is_next_fire_repeated_and_contained(schedule: Schedule, after: int, limit: int) -> None:
    fires = fires_between(schedule, after, 10**14, limit)
    previous = after
    for at in fires:
        assert at > previous
        assert at == next_fire(schedule, previous)
        assert contains(schedule, at)
        previous = at
    if len(fires) < limit:
        assert next_fire(schedule, previous) is None


@settings(deadline=None)
@given(schedules(), instants, st.integers(0, 20))
def test_a_window_has_neither_of_its_bounds(schedule: Schedule, after: int, limit: int) -> None:
    fires = fires_between(schedule, after, 10**14, limit + 1)
    if len(fires) > limit:
        assert fires_between(schedule, after, fires[limit], 10**6) == fires[:limit]
        assert fires_between(schedule, after, fires[limit] + 1, 10**6) == fires


@settings(deadline=None)
@given(schedules(), instants)
def test_nothing_fires_outside_the_limits(schedule: Schedule, after: int) -> None:
    for at in fires_between(schedule, after, 10**14, 5):
        assert schedule.start_at is None or at >= schedule.start_at
        assert schedule.end_at is None or at <= schedule.end_at


def test_start_and_end_are_fire_times_if_the_rule_has_them() -> None:
    schedule = Schedule(CronSchedule("0 * * * *"), start_at=NOON, end_at=NOON + 2 * HOUR)
    assert fires_between(schedule, 0, 10**14, 9) == [NOON, NOON + HOUR, NOON + 2 * HOUR]
    assert next_fire(schedule, NOON + 2 * HOUR) is None


@given(intervals, st.integers(0, 10**13))
def test_intervals_keep_to_their_grid(rule: EverySchedule, after: int) -> None:
    at = rule.next_after(after)
    assert at is not None
    assert (at - rule.anchor_ms) % (rule.seconds * SECOND) == 0
    assert at >= rule.anchor_ms
    assert at > after
    assert at - rule.seconds * SECOND <= after or at == rule.anchor_ms


@given(st.text(max_size=40), instants, st.integers(0, 900))
def test_jitter_is_fixed_and_never_before_the_nominal_time(job_id: str, nominal: int, seconds: int) -> None:
    at = jittered(job_id, nominal, seconds)
    assert nominal <= at < nominal + max(1, seconds * SECOND)
    assert at == jittered(job_id, nominal, seconds)


def test_jitter_spreads_jobs_and_fires_evenly_and_is_stable_across_versions() -> None:
    jobs = [jittered(f"job_{n}", NOON, 60) - NOON for n in range(6_000)]
    fires = [jittered("job_1", NOON + n * 60_000, 60) % 60_000 for n in range(6_000)]
    for offsets in (jobs, fires):
        tenths = [sum(offset // 6_000 == tenth for offset in offsets) for tenth in range(10)]
        assert min(tenths) > 500
    assert jittered("job_1", NOON, 900) == NOON + 765_452


@settings(deadline=None)
@given(schedules())
def test_a_schedule_survives_being_stored(schedule: Schedule) -> None:
    record = to_json(schedule)
    assert from_json(json.loads(json.dumps(record))) == schedule
    assert from_json(json.loads(json.dumps(record), parse_int=Decimal)) == schedule


@pytest.mark.parametrize(
    ("schedule", "record"),
    [
        (Schedule(CronSchedule("@daily")), {"cron": "@daily"}),
        (Schedule(EverySchedule(5, NOON)), {"every": 5, "anchor": NOON}),
        (
            Schedule(CronSchedule("0 2 * * *", BERLIN, SKIP), 1, 2, 3),
            {
                "cron": "0 2 * * *",
                "timezone": BERLIN,
                "dst": {"gap": "skip"},
                "start_at": 1,
                "end_at": 2,
                "jitter_seconds": 3,
            },
        ),
    ],
)
def test_defaults_are_not_stored(schedule: Schedule, record: dict[str, Any]) -> None:
    assert to_json(schedule) == record


def test_skipped_times_are_known_by_when_they_would_have_run() -> None:
    window = ms(utc("2026-03-01")), ms(utc("2026-05-01"))
    gap = [ms(utc("2026-03-29T01:00"))]
    assert skipped_between(Schedule(CronSchedule("30 2 * * *", BERLIN, SKIP)), *window, 99) == gap
    assert skipped_between(Schedule(CronSchedule("30 2 * * *", BERLIN)), *window, 99) == []
    assert skipped_between(Schedule(CronSchedule("30 * * * *", BERLIN, SKIP)), *window, 9_999) == []
    assert skipped_between(Schedule(EverySchedule(60, NOON)), *window, 99) == []


def test_skipped_times_are_found_behind_many_fire_times() -> None:
    schedule = Schedule(CronSchedule("*/5 0-2 * * *", BERLIN, SKIP))
    gaps = [ms(utc("2026-03-29T01:00")), ms(utc("2027-03-28T01:00"))]
    assert skipped_between(schedule, ms(utc("2025-04-01")), ms(utc("2027-12-01")), 2) == gaps
    assert skipped_between(schedule, ms(utc("2025-04-01")), ms(utc("2027-12-01")), 1) == gaps[:1]
    assert skipped_between(replace(schedule, end_at=gaps[0]), gaps[0] - 1, ms(utc("2027-12-01")), 9) == gaps[:1]


def test_a_time_that_a_run_has_anyway_is_not_skipped() -> None:
    schedule = Schedule(CronSchedule("0 2,3 * * *", BERLIN, SKIP))
    assert skipped_between(schedule, ms(utc("2026-03-28")), ms(utc("2026-03-30")), 99) == []

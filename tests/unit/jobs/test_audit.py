"""The audit as a pure comparison: which times are expected, and what counts as an outcome."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onthedot.core.ids import extra_run_id, stamped_run_id
from onthedot.core.records import Kind, Record, Status
from onthedot.core.stamping import STAMPS_PER_PASS
from onthedot.jobs.audit import (
    MOST_TIMES,
    PATIENCE_MS,
    SETTLING_MS,
    WINDOW_MS,
    Finding,
    Report,
    audit,
    audited_times,
    no_range_reaches,
    window,
)
from onthedot.jobs.given_up import expected_times
from onthedot.schedules.choices import DstPolicy, Gap
from onthedot.schedules.schedule import CronSchedule, EverySchedule, Recurrence, Schedule
from tests.builders import NOON, VirtualClock, a_run

MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR
NOW = NOON + HOUR
TIMES = tuple(NOON + n * MINUTE for n in range(1, 6))


def a_job(schedule: Schedule | None = None, max_runs: int | None = None, **fields: Any) -> Record:
    """Created at noon, fires every minute, has come to one o'clock."""
    recurrence = Recurrence(schedule or Schedule(EverySchedule(60, NOON + MINUTE)), max_runs=max_runs)
    job = a_run(VirtualClock(NOON)).called("job_a").build()
    job = replace(job, kind=Kind.RECURRING, status=Status.ACTIVE, recurrence=recurrence, due_at=NOW)
    return replace(job, **{"scheduled_since": NOON + MINUTE, **fields})


def a_stamp(nominal: int, status: Status = Status.SUCCEEDED, **fields: Any) -> Record:
    run = a_run(VirtualClock(nominal - 3 * MINUTE)).build()
    run_id = stamped_run_id("job_a", nominal)
    run = replace(run, run_id=run_id, job_id="job_a", kind=Kind.STAMPED, fire_time=nominal, due_at=nominal)
    return replace(run, status=status, **fields)


def a_range(first: int, last: int) -> Record:
    run_id = extra_run_id("job_a", first, "skipped")
    return replace(a_stamp(first, Status.SKIPPED), run_id=run_id, kind=Kind.SKIPPED_RANGE, skipped_until=last)


def stamps(*statuses: Status) -> list[Record]:
    return [a_stamp(time, status) for time, status in zip(TIMES, statuses, strict=True)]


def test_every_way_to_end_is_an_outcome() -> None:
    ended = stamps(Status.SUCCEEDED, Status.FAILED, Status.CANCELLED, Status.SKIPPED, Status.DELETED)
    assert audit(a_job(), TIMES, ended, NOW) == Report(expected=5, accounted=5)


def test_a_time_without_a_record_is_a_hole() -> None:
    report = audit(a_job(), TIMES, stamps(*[Status.SUCCEEDED] * 5)[1:], NOW)
    assert (report.expected, report.accounted) == (5, 4)
    assert report.holes == (Finding(TIMES[0], "no run and no skipped range is recorded for this time"),)


def test_a_skipped_range_accounts_for_all_times_in_it_and_no_other() -> None:
    report = audit(a_job(), TIMES, [a_range(TIMES[1], TIMES[3])], NOW)
    assert [hole.time for hole in report.holes] == [TIMES[0], TIMES[4]]


def test_a_time_that_clocks_jump_over_is_expected_and_its_record_accounts_for_it() -> None:
    skip = CronSchedule("30 2 * * *", "Europe/Berlin", DstPolicy(gap=Gap.SKIP))
    gap = NOON + 27 * DAY + 13 * HOUR  # 2026-03-29T01:00Z
    job = a_job(Schedule(skip), due_at=gap + DAY, accounted_until=gap)
    times = audited_times(job, gap - HOUR, gap + HOUR)
    assert times == (gap,)
    assert [hole.time for hole in audit(job, times, [], gap + HOUR).holes] == [gap]
    assert audit(job, times, [a_range(gap, gap)], gap + HOUR) == Report(1, 1)


def test_a_time_that_clocks_jump_over_is_recorded_with_the_next_fire_and_no_hole_until_then() -> None:
    skip = CronSchedule("30 2 * * *", "Europe/Berlin", DstPolicy(gap=Gap.SKIP))
    gap = NOON + 27 * DAY + 13 * HOUR
    job = a_job(Schedule(skip), due_at=gap + DAY - HOUR // 2, accounted_until=gap - DAY)
    assert audit(job, [gap], [], gap + DAY - HOUR) == Report(1, 1)
    cancelled = replace(job, status=Status.CANCELLED)
    assert audited_times(cancelled, gap - HOUR, gap + HOUR) == ()


def test_a_run_on_demand_stands_for_no_time_of_the_schedule() -> None:
    manual = replace(a_stamp(TIMES[0]), run_id=extra_run_id("job_a", TIMES[0], "manual-1"))
    assert len(audit(a_job(), TIMES[:1], [manual], NOW).holes) == 1


@pytest.mark.parametrize("status", [Status.PENDING, Status.DISPATCHED, Status.PAUSED])
def test_a_run_that_waits_is_late_only_after_the_patience(status: Status) -> None:
    waiting = [a_stamp(TIMES[0], status)]
    assert audit(a_job(), TIMES[:1], waiting, TIMES[0] + PATIENCE_MS) == Report(1, 1)
    (late,) = audit(a_job(), TIMES[:1], waiting, TIMES[0] + PATIENCE_MS + 1).late
    assert late == Finding(TIMES[0], f"{status} for 15 min after it was due to move")


def test_a_retry_or_a_jittered_run_is_late_by_its_own_time() -> None:
    retrying = [a_stamp(TIMES[0], Status.PENDING, due_at=NOW, attempt=2)]
    assert audit(a_job(), TIMES[:1], retrying, NOW) == Report(1, 1)


def test_a_long_run_is_not_late_while_its_lease_lives() -> None:
    alive = [a_stamp(TIMES[0], Status.RUNNING, lease_until=NOW + 20_000)]
    assert audit(a_job(), TIMES[:1], alive, NOW) == Report(1, 1)
    dead = [a_stamp(TIMES[0], Status.RUNNING, lease_until=NOW - PATIENCE_MS - 1)]
    assert len(audit(a_job(), TIMES[:1], dead, NOW).late) == 1


def test_what_the_job_has_not_come_to_yet_is_late_and_no_hole() -> None:
    behind = a_job(due_at=TIMES[2])
    report = audit(behind, TIMES, [a_stamp(TIMES[0])], NOW)
    assert [hole.time for hole in report.holes] == [TIMES[1]]
    assert report.late == tuple(Finding(time, "not stamped yet") for time in TIMES[2:])
    assert audit(behind, TIMES[2:], [], TIMES[2] + PATIENCE_MS) == Report(3, 3)


def test_nothing_is_expected_before_the_present_schedule() -> None:
    assert audited_times(a_job(scheduled_since=TIMES[3]), NOON - DAY, TIMES[4] + 1) == TIMES[3:]


def test_a_job_of_an_earlier_version_expects_from_its_creation() -> None:
    assert audited_times(a_job(scheduled_since=None), NOON - DAY, TIMES[4] + 1) == TIMES


def test_nothing_is_expected_of_a_paused_job() -> None:
    assert audited_times(a_job(status=Status.PAUSED), NOON, NOW) == ()


@pytest.mark.parametrize("status", [Status.CANCELLED, Status.DELETED, Status.COMPLETED])
def test_a_stopped_job_expects_what_it_had_come_to(status: Status) -> None:
    assert audited_times(a_job(status=status, due_at=TIMES[2]), NOON, NOW) == TIMES[:2]


def test_a_job_that_made_its_last_run_expects_no_more() -> None:
    # The limit was lowered when it had come to the fifth time.
    done = a_job(max_runs=3, status=Status.COMPLETED, stamped=3, due_at=TIMES[4] + 1)
    times = audited_times(done, NOON, NOW)
    assert times == TIMES
    assert audit(done, times, [a_stamp(time) for time in TIMES[:3]], NOW) == Report(3, 3)
    assert [hole.time for hole in audit(done, times, [a_stamp(TIMES[2])], NOW).holes] == list(TIMES[:2])


def test_of_a_frequent_job_the_latest_times_are_audited() -> None:
    often = a_job(Schedule(EverySchedule(1, NOON)))
    assert audited_times(often, NOON, NOW) == tuple(range(NOW - MOST_TIMES * 1000, NOW, 1000))


@given(
    st.sampled_from(["* * * * *", "*/7 3-5 * * *", "30 2 * * *", "0 0 * * mon", "0 9 1 * *", "* 12 * * *"]),
    st.sampled_from(["UTC", "Europe/Berlin", "Australia/Lord_Howe"]),
    st.sampled_from(Gap),
    st.integers(0, 400 * DAY),
    st.integers(0, 3 * DAY),
)
def test_the_latest_times_are_the_end_of_all_times(
    expression: str, zone: str, gap: Gap, offset: int, length: int
) -> None:
    schedule = Schedule(CronSchedule(expression, zone, DstPolicy(gap=gap)))
    after, until = NOON + offset, NOON + offset + length
    found = audited_times(a_job(schedule), after, until)
    assert list(found) == expected_times(schedule, after, until, 10_000)[-MOST_TIMES:]


def test_the_window_is_the_last_day_without_what_is_under_way() -> None:
    assert window(a_job(), NOW, 30) == (NOW - SETTLING_MS - WINDOW_MS, NOW - SETTLING_MS)


def test_the_window_of_a_weekly_job_reaches_back_to_its_last_time() -> None:
    weekly = a_job(Schedule(EverySchedule(7 * 86_400, NOON + MINUTE)))
    now = NOON + 7 * DAY
    assert audited_times(weekly, *window(weekly, now, 30)) == (NOON + MINUTE,)


def test_the_window_reaches_back_no_further_than_records_are_kept() -> None:
    monthly = a_job(Schedule(EverySchedule(28 * 86_400, NOON + MINUTE)))
    now = NOON + 28 * DAY
    assert audited_times(monthly, *window(monthly, now, 30)) == (NOON + MINUTE,)
    assert audited_times(monthly, *window(monthly, now, 14)) == ()


def test_reading_back_ends_when_more_runs_were_stamped_than_one_stamping_makes() -> None:
    ahead = [a_stamp(NOON - n * 1000) for n in range(STAMPS_PER_PASS + 1)]
    assert no_range_reaches(ahead, NOON + 1)
    assert not no_range_reaches(ahead, NOON)
    backfilled = [replace(run, created_at=NOW) for run in ahead]
    assert not no_range_reaches(backfilled, NOON + 1)

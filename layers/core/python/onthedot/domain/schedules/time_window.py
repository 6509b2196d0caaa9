"""The window in which a client may schedule a job: up to a day ago, and up to ten years ahead."""

from dataclasses import replace
from typing import Final

from onthedot.domain.errors import InvalidRequest, Problem
from onthedot.domain.schedules.choices import DAY_MS as DAY_MS  # noqa: PLC0414 - also from here
from onthedot.domain.schedules.choices import MAX_AHEAD_MS as MAX_AHEAD_MS  # noqa: PLC0414 - also from here
from onthedot.domain.schedules.cron import SEARCH_YEARS, CronOfYears, parse_cron
from onthedot.domain.schedules.schedule import CronSchedule, Schedule, next_fire

MAX_PAST_MS: Final = DAY_MS
_2001: Final = 978_307_200_000
_2100: Final = 4_102_444_800_000


def fire_time_problems(field: str, instant: int | None, now: int) -> list[Problem]:
    """Return the reason why a job cannot be scheduled at the instant in this field, if there is one.

    A time up to one day in the past is accepted and fires at once, because clocks differ and requests wait in retries.
    An older time is a mistake. None: the field was left out.
    """
    if instant is not None and instant > now + MAX_AHEAD_MS:
        return [Problem(field, f"is more than 10 years ahead; give an earlier time{milliseconds_hint(instant)}")]
    if instant is not None and instant < now - MAX_PAST_MS:
        return [Problem(field, "is more than a day in the past; give a later time, or leave it out to run now")]
    return []


def milliseconds_hint(instant: int) -> str:
    """Return advice for a time that lies in this century only when it is read as milliseconds."""
    return "; epoch times are in seconds, not milliseconds" if _2001 <= instant // 1000 < _2100 else ""


def check_start(schedule: Schedule, now: int) -> None:
    """Raise InvalidRequest when the schedule starts beyond the window."""
    if schedule.start_at is not None and schedule.start_at > now + MAX_AHEAD_MS:
        raise InvalidRequest(Problem("start_at", "is more than 10 years ahead; give an earlier time"))


def no_fire_problem(schedule: Schedule, now: int) -> Problem:
    """Return the reason why a schedule has no fire time after now, with the field to change."""
    if schedule.end_at is not None and next_fire(replace(schedule, end_at=None), now) is not None:
        return Problem("end_at", "leaves no fire time; give a later one")
    cron = parse_cron(schedule.rule.expression) if isinstance(schedule.rule, CronSchedule) else None
    if isinstance(cron, CronOfYears):
        trouble = f"has no fire time in the next {SEARCH_YEARS} years: the last of its own is {cron.last_year}"
        return Problem("cron", f"{trouble}; give other years, or *")
    return Problem("cron", "never fires: clocks jump over each of its times; give another hour, or dst.gap run_after")

"""Read the options of `onthedot preview` as the API reads them, without the API's packages."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from onthedot.api.core.times import parse_instant
from onthedot.domain.errors import InvalidRequest, Problem
from onthedot.domain.schedules import schedule as schedules
from onthedot.domain.schedules.eventbridge import rate_seconds
from onthedot.domain.schedules.schedule import CronSchedule, DstPolicy, EverySchedule, Gap, Overlap, Schedule
from onthedot.domain.schedules.spread import EXAMPLE_ID, plain_expression
from onthedot.domain.schedules.zones import LAST_INSTANT, zone

MOST_FIRES: Final = 1_000
LONGEST_SECONDS: Final = 3_653 * 86_400
"""Ten years, leap days included."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options as the user wrote them. None means that an option is absent."""

    cron: str | None = None
    every: str | None = None
    timezone: str | None = None
    count: int = 10
    after: str | None = None
    gap: str | None = None
    overlap: str | None = None


def read_options(options: Options, now: int) -> tuple[Schedule, int]:
    """Return the schedule and the instant after which to list its fire times.

    Raise InvalidRequest with every problem, in the API's words.
    """
    problems = [*_wrong_choices(options)] or [*_wrong_values(options)]
    if problems:
        raise InvalidRequest(*problems)
    after = now if options.after is None else parse_instant(options.after)
    # The preview ends where the calendar does.
    return Schedule(_rule(options, after), end_at=LAST_INSTANT - 1), after


def _rule(options: Options, after: int) -> CronSchedule | EverySchedule:
    if options.every is not None:
        return schedules.every(_seconds(options.every), after)
    dst = DstPolicy(Gap(options.gap or Gap.RUN_AFTER), Overlap(options.overlap or Overlap.ONCE))
    expression = plain_expression(options.cron or "", EXAMPLE_ID)
    return CronSchedule(expression, options.timezone or schedules.UTC_NAME, dst)


def _wrong_choices(options: Options) -> Iterator[Problem]:
    if options.cron is None and options.every is None:
        yield Problem("cron", "is missing; give cron or every")
        return
    if options.cron is not None and options.every is not None:
        yield from (
            Problem(name, "only one of cron, every may be given; keep one of them") for name in ("cron", "every")
        )
    if options.cron is None:
        present = {"timezone": options.timezone, "dst": options.gap or options.overlap}
        for name, value in present.items():
            if value is not None:
                yield Problem(name, "works only with cron; add cron or remove it")


def _wrong_values(options: Options) -> Iterator[Problem]:
    checks: list[tuple[str, Any, Callable[[Any], object]]] = [
        ("cron", options.cron, lambda text: plain_expression(text, EXAMPLE_ID)),
        ("every", options.every, lambda text: _in_range(_seconds(text), LONGEST_SECONDS)),
        ("timezone", options.timezone, zone),
        ("count", options.count, lambda count: _in_range(count, MOST_FIRES)),
        ("after", options.after, lambda text: _in_calendar(parse_instant(text))),
    ]
    for name, value, check in checks:
        try:
            if value is not None:
                check(value)
        except ValueError as error:
            yield Problem(name, str(error))


def _seconds(text: str) -> int:
    """Return the seconds of a number or of a rate. Raise ValueError."""
    return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else rate_seconds(text)


def _in_range(number: int, most: int) -> int:
    if number < 1:
        raise ValueError("is too small; give 1 or more")
    if number > most:
        raise ValueError(f"is too large; give {most} or less")
    return number


def _in_calendar(instant: int) -> int:
    if instant < 0:
        raise ValueError("is before 1970; give a later time")
    if instant >= LAST_INSTANT:
        raise ValueError("is after the year 9998; give an earlier time")
    return instant

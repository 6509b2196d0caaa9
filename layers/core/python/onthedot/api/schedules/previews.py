"""Compute the next fire times of a schedule before it is submitted.

For `POST /v1/schedules/preview` and `onthedot preview`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from onthedot.api.core.reading import choice_problems, null_problems, read_model
from onthedot.api.schedules.fields import ONLY_CRON, RULE_FIELDS, PreviewFields, schedule_problems
from onthedot.api.schedules.recurrences import cron_with_h, new_schedule
from onthedot.domain.errors import InvalidRequest, Problem
from onthedot.domain.schedules.preview import FireTime, preview
from onthedot.domain.schedules.schedule import CronSchedule, next_fire
from onthedot.domain.schedules.time_window import check_start, no_fire_problem
from onthedot.domain.schedules.zones import LAST_INSTANT


@dataclass(frozen=True, slots=True)
class Preview:
    """The next fire times of a schedule, and the jitter that may delay each of them."""

    fires: Sequence[FireTime]
    jitter_seconds: int
    example: str | None = None
    """The plain expression that stands for one with `H`, whose values the id of a job chooses."""


def read_preview(document: dict[str, Any], now: int) -> Preview:
    """Return the preview that a document asks for. Raise InvalidRequest, also for a schedule that never fires again."""
    problems = [
        *choice_problems(document, RULE_FIELDS),
        *schedule_problems(document, ONLY_CRON),
        *null_problems(PreviewFields, document, frozenset()),
    ]
    if not any(name in document for name in RULE_FIELDS):
        problems = [Problem("cron", "is missing; give cron or every")]
    if problems:
        raise InvalidRequest(*problems)
    fields = read_model(PreviewFields, document)
    after = now if fields.after is None else fields.after
    schedule = new_schedule(fields, after)
    check_start(schedule, max(now, after))
    # The preview must end where the calendar does.
    bounded = replace(schedule, end_at=LAST_INSTANT - 1 if schedule.end_at is None else schedule.end_at)
    example = schedule.rule.expression if cron_with_h(fields) and isinstance(schedule.rule, CronSchedule) else None
    fires = preview(bounded, after, fields.count)
    if not fires and next_fire(bounded, now) is None:
        raise InvalidRequest(no_fire_problem(schedule, now))
    return Preview(fires, schedule.jitter_seconds, example)

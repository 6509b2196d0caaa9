"""The coming fires of a schedule that nobody has submitted: for `POST /v1/schedules/preview` and `onthedot preview`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from onthedot.api.core.reading import nulls, read_model
from onthedot.api.jobs.fields import PreviewFields
from onthedot.api.schedules.fields import RULES, one_of, out_of_place
from onthedot.api.schedules.recurrences import new_schedule
from onthedot.domain.errors import InvalidRequest, Problem
from onthedot.domain.schedules.preview import FireTime, preview
from onthedot.domain.schedules.time_window import check_start
from onthedot.domain.schedules.zones import LAST_INSTANT


@dataclass(frozen=True, slots=True)
class Preview:
    fires: Sequence[FireTime]
    jitter_seconds: int


def read_preview(document: dict[str, Any], now: int) -> Preview:
    """Raises InvalidRequest."""
    problems = [*one_of(document, RULES), *out_of_place(document), *nulls(PreviewFields, document, frozenset())]
    if not any(name in document for name in RULES):
        problems = [Problem("cron", "is missing; give cron or every")]
    if problems:
        raise InvalidRequest(*problems)
    fields = read_model(PreviewFields, document)
    after = now if fields.after is None else fields.after
    schedule = new_schedule(fields, after)
    check_start(schedule, max(now, after))
    # Where the calendar ends, the preview does.
    bounded = replace(schedule, end_at=LAST_INSTANT - 1 if schedule.end_at is None else schedule.end_at)
    return Preview(preview(bounded, after, fields.count), schedule.jitter_seconds)

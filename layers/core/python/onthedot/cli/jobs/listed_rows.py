"""The row of one job in the table of `onthedot list`."""

import re
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from onthedot.cli.common.cron_words import cron_in_words
from onthedot.cli.common.durations import exactly
from onthedot.cli.common.moments import cell, day_and_clock, read_moment

COLUMNS: Final = ("NAME", "SCHEDULE", "LAST", "NEXT", "WHY")
_COUNTED: Final = re.compile(r"(\d+) of \d+ attempts? failed: (.*)", re.DOTALL)
_CONNECTING: Final = re.compile(r"failed while connecting to (\S+?)(?: port (\d+))?: (connection \w+)", re.IGNORECASE)
PIPED: Final = (*COLUMNS, "STATUS", "JOB")
"""A pipe also gets what a program needs."""


def row_of(job: dict[str, Any], now: datetime, *, for_people: bool) -> tuple[str, ...]:
    """Return the cells of a job. People get words, and a pipe gets times as the API shows them."""
    last = job.get("last_outcome") or {}
    shown = (
        str(job.get("name") or job["job_id"]),
        schedule_in_words(job, now),
        _last(job, last, now, for_people=for_people),
        _next(job, now, for_people=for_people),
        in_short(_why(job, last)) if for_people else _why(job, last),
    )
    return shown if for_people else (*shown, str(job["status"]), str(job["job_id"]))


def in_short(reason: str) -> str:
    """Return a reason with its cause first, because a column may cut its end."""
    return _CONNECTING.sub(lambda found: f"{found[3].lower()}: {found[1]}{f':{found[2]}' if found[2] else ''}", reason)


def schedule_in_words(job: dict[str, Any], now: datetime) -> str:
    """Return when a job runs. The time zone is named where its clocks differ from those of this machine."""
    if every := job.get("every"):
        return f"every {exactly(every)}"
    if cron := job.get("cron"):
        zone = str(job.get("timezone") or "UTC")
        return cron_in_words(cron).removeprefix("at ") + ("" if _is_here(zone, now) else f", {zone}")
    return "on events" if job.get("kind") == "event" else "once"


def _is_here(zone: str, now: datetime) -> bool:
    try:
        return now.astimezone(ZoneInfo(zone)).utcoffset() == now.astimezone().utcoffset()
    except (OSError, ValueError, KeyError):
        return False


def _last(job: dict[str, Any], last: dict[str, Any], now: datetime, *, for_people: bool) -> str:
    """Return the end of the latest run, else the status of a job that has not ended one."""
    outcomes = job.get("outcomes") or []
    if last:
        when = cell(last.get("finished_at"), now, for_people=for_people).removeprefix("today ")
        return f"{str(last['status']).lower()} {when}"
    if outcomes:
        return str(outcomes[0]).lower()
    return str(job["status"]).lower() if job.get("kind") == "one-off" else "-"


def _next(job: dict[str, Any], now: datetime, *, for_people: bool) -> str:
    if job["status"] == "PAUSED":
        return "paused"
    moment = read_moment(job.get("next_fire_time"))
    if moment is None or not for_people:
        return cell(job.get("next_fire_time"), now, for_people=False)
    return day_and_clock(moment, now)


def _why(job: dict[str, Any], last: dict[str, Any]) -> str:
    """Return why the latest run did not succeed, or why the job does not run. The cause stands before the attempts."""
    is_well = last.get("status") == "SUCCEEDED"
    reason = str((None if is_well else last.get("reason")) or job.get("reason") or "-")
    if (counted := _COUNTED.fullmatch(reason)) is None:
        return reason
    return counted[2] if counted[1] == "1" else f"{counted[2]} after {counted[1]} attempts"

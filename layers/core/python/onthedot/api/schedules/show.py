"""Show schedules, previews and forecasts."""

from collections.abc import Sequence

from onthedot.api.core.times import show_time
from onthedot.api.schedules.views import (
    FireTimeView,
    ForecastView,
    HeavyJobView,
    MinuteView,
    PreviewView,
    RecurrenceView,
)
from onthedot.domain.instants import format_instant
from onthedot.domain.runs.records import Record
from onthedot.domain.runs.run_counts import runs_so_far
from onthedot.domain.schedules.preview import FireTime
from onthedot.domain.schedules.recurrence import Recurrence
from onthedot.domain.schedules.schedule import CronSchedule
from onthedot.use_cases.forecast.forecast import Forecast, HeavyJob


def recurrence_view(job: Record, now: int) -> RecurrenceView:
    """Return the schedule of a recurring job in fields that a client can send again. Other jobs have none."""
    if job.recurrence is None:
        return {}
    return {**_rule(job.recurrence), **_limits(job.recurrence), "runs": runs_so_far(job, now)}


def _rule(recurrence: Recurrence) -> RecurrenceView:
    rule = recurrence.schedule.rule
    if not isinstance(rule, CronSchedule):
        return {"every": rule.seconds}
    dst = rule.dst
    return {
        "cron": rule.expression,
        "timezone": rule.timezone,
        "dst": {"gap": dst.gap.value, "overlap": dst.overlap.value},
    }


def _limits(recurrence: Recurrence) -> RecurrenceView:
    schedule, misfire = recurrence.schedule, recurrence.misfire
    return {
        "start_at": show_time(schedule.start_at),
        "end_at": show_time(schedule.end_at),
        "max_runs": recurrence.max_runs,
        "jitter_seconds": schedule.jitter_seconds,
        "misfire": {"policy": misfire.policy.value, "grace_seconds": misfire.grace_seconds},
        "overlap": recurrence.overlap.value,
    }


def preview_view(fires: Sequence[FireTime], jitter_seconds: int, example: str | None = None) -> PreviewView:
    """Return the next fire times of a schedule, and the example that stands for an expression with `H`."""
    view: PreviewView = {"fire_times": [_fire_time(fire, jitter_seconds) for fire in fires]}
    return view if example is None else {**view, "example": example}


def _fire_time(fire: FireTime, jitter_seconds: int) -> FireTimeView:
    jitter = f"jitter: starts up to {jitter_seconds} s later" if jitter_seconds else None
    notes = [note for note in (fire.note, jitter) if note]
    return {"time": format_instant(fire.at), "local": fire.local, "note": "; ".join(notes) or None}


def forecast_view(forecast: Forecast) -> ForecastView:
    """Return the number of scheduled runs in each coming minute."""
    minutes = [_minute(start, runs, forecast.heaviest.get(start, ())) for start, runs in forecast.minutes.items()]
    return {
        "minutes": minutes,
        "truncated": forecast.truncated,
        "complete_until": show_time(forecast.complete_until),
    }


def _minute(start: int, runs: int, heaviest: Sequence[HeavyJob]) -> MinuteView:
    view: MinuteView = {"time": format_instant(start), "runs": runs}
    return {**view, "heaviest": [_heavy(one) for one in heaviest]} if runs else view


def _heavy(job: HeavyJob) -> HeavyJobView:
    return {"job_id": job.job_id, "name": job.name, "runs": job.runs}

"""The facts about a job that `onthedot get` shows: for people in words, for a pipe as the API's fields."""

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from onthedot.cli.common.cron_words import schedule_in_words
from onthedot.cli.common.durations import briefly
from onthedot.cli.common.moments import distance, in_full, read_moment

_FIRST: Final = (
    "job_id", "name", "description", "status", "reason", "cron", "timezone", "every", "on_event", "target", "payload",
    "priority", "pool", "gates", "start_within_seconds", "tags", "dependencies", "workflow_id", "key", "created_at",
    "fire_time", "next_fire_time", "last_run", "last_outcome", "outcomes", "runs", "finished_at", "lateness_ms",
    "retry_count", "result", "changes",
)  # fmt: skip
"""The order in which a pipe gets the fields of a job. Others follow."""
_LEFT_OUT: Final = {
    "version", "dst", "start_at", "end_at", "max_runs", "jitter_seconds", "misfire", "overlap", "payload_url", "retry",
    "timeout_seconds", "requirements", "result_url", "on_parent_failure", "trace_id",
}  # fmt: skip
"""The fields that only `--json` shows."""
MOST_CHANGES: Final = 5
"""Changes that people see. `--json` has all that the job keeps."""
_DONE: Final = {one: f"{one.removesuffix('e')}ed" for one in ("create", "change", "pause", "resume")} | {
    "cancel": "cancelled"
}
_MARKS: Final = {"SUCCEEDED": "✓", "FAILED": "✗"}


def fields_of(job: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the fields of a job that have a value, for a pipe."""
    for name in dict.fromkeys((*_FIRST, *(name for name in job if name not in _LEFT_OUT))):
        if (value := job.get(name)) not in (None, "", [], {}):
            yield name, _text(value)


def facts_of(job: Mapping[str, Any], now: datetime) -> Iterator[tuple[str, str]]:
    """Yield what people ask about a job first, each with its title."""
    made: tuple[tuple[str, Callable[[Mapping[str, Any], datetime], Any]], ...] = (
        ("name", lambda one, _: one.get("name")),
        ("job", lambda one, _: one.get("job_id")),
        ("about", lambda one, _: one.get("description")),
        ("status", lambda one, _: one.get("status")),
        ("why", _why),
        ("progress", lambda one, _: one.get("progress")),
        ("schedule", _schedule),
        ("next", _next),
        ("last", _last),
        ("outcomes", _before),
        ("runs", lambda one, _: f"{one['runs']:,}" if one.get("runs") else None),
        ("target", lambda one, _: _target(one.get("target"))),
        ("payload", lambda one, _: _text(one.get("payload"))),
        ("result", lambda one, _: _text(one.get("result"))),
        ("queue", lambda one, _: f"{one['pool']}, {str(one['priority']).lower()}" if one.get("pool") else None),
        ("gates", lambda one, _: ", ".join(map(_text, one.get("gates") or ()))),
        ("after", lambda one, _: ", ".join(one.get("dependencies") or ())),
        ("workflow", lambda one, _: one.get("workflow_id")),
        ("tags", lambda one, _: ", ".join(f"{name}={value}" for name, value in (one.get("tags") or {}).items())),
    )
    for title, make in made:
        if value := make(job, now):
            yield title, str(value)
    for number, change in enumerate((job.get("changes") or ())[:MOST_CHANGES]):
        yield "" if number else "changes", _change(change, now)


def _why(job: Mapping[str, Any], _: datetime) -> str | None:
    """Return the reason of the status, unless the latest run has it."""
    reason = job.get("reason")
    return None if reason == (job.get("last_outcome") or {}).get("reason") else reason


def _schedule(job: Mapping[str, Any], now: datetime) -> str | None:
    if job.get("on_event"):
        return f"on events that match {_text(job['on_event'])}"
    if job.get("cron"):
        return f"{schedule_in_words(dict(job), now)} (cron {job['cron']})"
    return schedule_in_words(dict(job), now) if job.get("every") else None


def _next(job: Mapping[str, Any], now: datetime) -> str | None:
    moment = read_moment(job.get("next_fire_time"))
    return None if moment is None or job.get("status") == "PAUSED" else in_full(moment, now)


def _last(job: Mapping[str, Any], now: datetime) -> str | None:
    """Return how and when the latest run ended, else when it was."""
    last = job.get("last_outcome")
    if last is None:
        moment = read_moment(job.get("last_run"))
        return None if moment is None else f"started {in_full(moment, now)}{_late(job, '')}"
    moment = read_moment(last.get("finished_at"))
    why = "" if last.get("reason") is None else f": {last['reason']}"
    when = "" if moment is None else f" {in_full(moment, now)}"
    return f"{str(last.get('status')).lower()}{when}{_late(last)}{why}"


def _late(run: Mapping[str, Any], verb: str = "started ") -> str:
    """Return how late the run started. A run that never started has no lateness."""
    late = run.get("lateness_ms")
    return "" if late is None else f", {verb}{briefly(late / 1000)} late"


def _before(job: Mapping[str, Any], _: datetime) -> str | None:
    """Return a mark for each of the latest runs, the newest first."""
    outcomes = [str(one) for one in job.get("outcomes") or ()]
    marks = "".join(_MARKS.get(one, "·") for one in outcomes)
    failed = outcomes.count("FAILED")
    return f"{marks}  {failed:,} of the latest {len(outcomes):,} failed" if len(outcomes) > 1 else None


def _change(change: Mapping[str, Any], now: datetime) -> str:
    moment = read_moment(change.get("at"))
    by = "" if change.get("by") is None else f" by {change['by']}"
    fields = f": {', '.join(change['fields'])}" if change.get("fields") else ""
    action = _DONE.get(str(change.get("action")), change.get("action"))
    return f"{action}{by}{'' if moment is None else f' {distance(moment, now)}'}{fields}"


def _target(target: Any) -> str | None:
    """Return the parts that identify a target, without headers and inputs."""
    if not isinstance(target, dict):
        return None if target is None else _text(target)
    if target.get("type") == "http":
        return f"{target.get('method', 'POST')} {target.get('url')}"
    return " ".join(_text(value) for value in target.values() if isinstance(value, str | list))


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

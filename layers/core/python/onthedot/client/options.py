"""The options of calls as a caller gives them, and as the API takes them."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, TypedDict

Time = datetime | str | int | float
"""An aware datetime, a text as the API takes it, or epoch seconds."""
_TIMES: Final = ("at", "start_at", "end_at", "after")


class ScheduleOptions(TypedDict, total=False):
    """The schedule of a recurring job. `docs/schedules.md` describes each field."""

    cron: str
    every: int | timedelta | str
    timezone: str
    dst: Mapping[str, str]
    start_at: Time
    end_at: Time
    jitter_seconds: int


class RecurrenceOptions(ScheduleOptions, total=False):
    """A schedule with the policies of its job."""

    max_runs: int
    misfire: Mapping[str, Any]
    overlap: str


class WorkflowOptions(RecurrenceOptions, total=False):
    """The options of a workflow. `docs/workflows.md` describes each field."""

    name: str
    description: str
    tags: Mapping[str, str]
    at: Time
    delay: float | timedelta
    priority: str
    idempotency_key: str


class JobOptions(WorkflowOptions, total=False):
    """The options of a job. `docs/jobs.md` describes each field."""

    url: str
    """The URL that an HTTP job calls."""
    method: str
    """The method of an HTTP job."""
    headers: Mapping[str, str]
    """The headers of an HTTP job."""
    target: Mapping[str, Any]
    on_event: Mapping[str, Any]
    retry: int | Mapping[str, Any]
    """The number of retries, or the whole policy."""
    timeout_seconds: int
    requirements: Mapping[str, Any]
    gates: Sequence[str]
    start_within_seconds: int
    dependencies: Sequence[str]
    on_parent_failure: str
    key: str
    """The key of a job in its workflow."""
    depends_on: Sequence[str]
    """The keys of the jobs of the workflow that must end before this one runs."""


class PreviewOptions(ScheduleOptions, total=False):
    """The schedule to preview."""

    count: int
    after: Time


def refuse_unknown(options: Mapping[str, Any], kind: Any, function: str) -> None:
    """Raise TypeError for an option that the TypedDict `kind` does not have, as Python does for named parameters."""
    known: Iterable[str] = kind.__annotations__
    for name in options:
        if name not in known:
            from difflib import get_close_matches  # noqa: PLC0415 - only for this message

            near = get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"{function}() got an unexpected option {name!r}{hint}")


def in_json(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options as JSON values. None is the same as leaving an option out."""
    zone = options.get("timezone")
    return {name: _value(name, value, zone) for name, value in options.items() if value is not None}


def _value(name: str, value: Any, zone: str | None) -> Any:
    if name in _TIMES and isinstance(value, datetime):
        if value.tzinfo is None and zone is None:
            raise ValueError(f"{name} has no time zone; give an aware datetime, such as datetime.now(UTC)")
        return value.isoformat()
    if isinstance(value, timedelta):
        return _seconds(name, value)
    if name == "retry" and isinstance(value, int):
        return {"max_retries": value}
    return value


def _seconds(name: str, value: timedelta) -> float:
    seconds = value.total_seconds()
    if name != "every":
        return seconds
    if not seconds.is_integer():
        raise ValueError(f"{name} must be whole seconds")
    return int(seconds)

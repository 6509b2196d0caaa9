"""The options of calls as a caller gives them, and as the API takes them."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, TypedDict

Time = datetime | str | int | float
"""An aware datetime, a text as the API takes it, or epoch seconds."""
_TIMES: Final = ("at", "start_at", "end_at", "after", "since", "until")
_WORK: Final = ("handler", "url", "target")
_OF_HTTP: Final = ("method", "headers")
ONE_WORK: Final = "say what the job runs: a handler, url= or target=, and only one of them"


class RuleOptions(TypedDict, total=False):
    """The rule of a recurring job. `docs/schedules.md` describes each field."""

    cron: str
    every: int | timedelta | str
    timezone: str
    dst: Mapping[str, str]
    jitter_seconds: int


class ScheduleOptions(RuleOptions, total=False):
    """The schedule of a recurring job."""

    start_at: Time
    end_at: Time


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


class WorkOptions(TypedDict, total=False):
    """The work of a job, and how it is tried. `docs/jobs.md` describes each field."""

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


class JobOptions(WorkflowOptions, WorkOptions, total=False):
    """The options of a job. `docs/jobs.md` describes each field."""

    gates: Sequence[str]
    start_within_seconds: int
    dependencies: Sequence[str]
    on_parent_failure: str
    key: str
    """The key of a job in its workflow."""
    depends_on: Sequence[str]
    """The keys of the jobs of the workflow that must end before this one runs."""


class ChangeOptions(RuleOptions, WorkOptions, total=False):
    """The fields of a job that can be changed. None removes a field that allows it."""

    name: str | None
    description: str | None
    tags: Mapping[str, str]
    handler: str
    payload: Any
    priority: str
    at: Time
    delay: float | timedelta
    start_at: Time | None
    end_at: Time | None
    max_runs: int | None
    misfire: Mapping[str, Any]
    overlap: str
    gates: Sequence[str] | None
    start_within_seconds: int | None


class JobFilter(TypedDict, total=False):
    """Filters of jobs. A job must pass all of them. `docs/jobs.md` describes each field."""

    status: str
    kind: str
    priority: str
    name: str
    """The beginning of the name."""
    full_name: str
    """The whole name."""
    tag: str
    """The key of a tag, or `key=value`."""
    workflow: str
    """The id of a run of a workflow, or `*` for all workflows without their jobs."""


class PreviewOptions(ScheduleOptions, total=False):
    """The schedule to preview."""

    count: int
    after: Time


class DeadLetterOptions(TypedDict, total=False):
    """The filters of dead letters. One must pass all of them."""

    since: Time
    """Dead letters that failed at this time or later."""
    until: Time
    """Dead letters that failed before this time."""
    name: str
    """The beginning of the job's name."""
    job: str
    """The id of the job, or its name."""
    cause: str
    """A cause of `dead_letter_causes`."""


def refuse_unknown(options: Mapping[str, Any], kind: Any, function: str) -> None:
    """Raise TypeError for an option that the TypedDict `kind` does not have, as Python does for named parameters."""
    known: Iterable[str] = kind.__annotations__
    for name in options:
        if name not in known:
            from difflib import get_close_matches  # noqa: PLC0415 - only for this message

            near = get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"{function}() got an unexpected option {name!r}{hint}")


def in_json(options: Mapping[str, Any], *, with_nulls: bool = False) -> dict[str, Any]:
    """Return the options as JSON values. None is the same as leaving an option out, unless nulls have a meaning."""
    zone = options.get("timezone")
    given = {name: value for name, value in options.items() if with_nulls or value is not None}
    return {name: _value(name, value, zone) for name, value in given.items()}


def _value(name: str, value: Any, zone: str | None) -> Any:
    if name in _TIMES and isinstance(value, datetime):
        if value.tzinfo is None and zone is None:
            raise ValueError(f"{name} has no time zone; give an aware datetime, such as datetime.now(UTC)")
        return value.isoformat()
    if isinstance(value, timedelta) and name != "payload":
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


def with_target(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields with the work of the job as the API takes it. Raise ValueError when there are several works."""
    fields = {name: value for name, value in given.items() if name not in (*_WORK, *_OF_HTTP)}
    http = {name: given[name] for name in _OF_HTTP if name in given}
    work = [name for name in _WORK if name in given]
    if len(work) > 1:
        raise ValueError(ONE_WORK)
    if http and work != ["url"]:
        raise ValueError("method= and headers= work only with url=")
    if "handler" in given:
        return {**fields, "target": {"type": "python", "handler": given["handler"]}}
    if http:
        return {**fields, "target": {"type": "http", "url": given["url"], **http}}
    if "url" in given:
        return {**fields, "callback_url": given["url"]}
    return {**fields, "target": given["target"]} if work else fields

# Generated from the API's description by tools/client/types.py: run `make generate`, and edit nothing here.
"""The options of calls, as a caller gives them. `requests` makes of them what the API takes."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, TypedDict

Time = datetime | str | int | float
"""An aware datetime, a text as the API takes it, or epoch seconds."""
DEAD_LETTER_NAMES: Final = {"since": "from", "until": "to", "job": "job_id"}
"""The names of the API for options that have another name here."""


class JobOptions(TypedDict, total=False):
    """The options of a job. `docs/jobs.md` describes each field."""

    cron: str
    every: int | timedelta | str
    timezone: str
    dst: Mapping[str, str]
    start_at: Time
    end_at: Time
    jitter_seconds: int
    max_runs: int
    misfire: Mapping[str, Any]
    overlap: str
    name: str
    description: str
    tags: Mapping[str, str]
    at: Time
    delay: float | timedelta
    target: Mapping[str, Any]
    priority: str
    retry: int | Mapping[str, Any]
    timeout_seconds: int
    requirements: Mapping[str, Any]
    gates: Sequence[str]
    start_within_seconds: int
    on_parent_failure: str
    on_event: Mapping[str, Any]
    dependencies: Sequence[str]
    idempotency_key: str
    key: str
    depends_on: Sequence[str]
    url: str
    method: str
    headers: Mapping[str, str]


class ChangeOptions(TypedDict, total=False):
    """The fields of a job that can be changed. None removes a field that allows it."""

    cron: str
    every: int | timedelta | str
    timezone: str
    dst: Mapping[str, str]
    start_at: Time | None
    end_at: Time | None
    jitter_seconds: int
    max_runs: int | None
    misfire: Mapping[str, Any]
    overlap: str
    name: str | None
    description: str | None
    tags: Mapping[str, str]
    at: Time
    delay: float | timedelta
    on_event: Mapping[str, Any]
    target: Mapping[str, Any]
    payload: Any
    priority: str
    retry: int | Mapping[str, Any]
    timeout_seconds: int
    requirements: Mapping[str, Any]
    gates: Sequence[str] | None
    start_within_seconds: int | None
    url: str
    method: str
    headers: Mapping[str, str]
    handler: str


class WorkflowOptions(TypedDict, total=False):
    """The options of a workflow. `docs/workflows.md` describes each field."""

    cron: str
    every: int | timedelta | str
    timezone: str
    dst: Mapping[str, str]
    start_at: Time
    end_at: Time
    jitter_seconds: int
    max_runs: int
    misfire: Mapping[str, Any]
    overlap: str
    name: str
    description: str
    tags: Mapping[str, str]
    at: Time
    delay: float | timedelta
    priority: str
    idempotency_key: str


class PreviewOptions(TypedDict, total=False):
    """A schedule to preview."""

    cron: str
    every: int | timedelta | str
    timezone: str
    dst: Mapping[str, str]
    start_at: Time
    end_at: Time
    jitter_seconds: int
    count: int
    after: Time


class JobFilter(TypedDict, total=False):
    """Filters of jobs. A job must pass all of them."""

    status: str
    kind: str
    priority: str
    name: str
    full_name: str
    tag: str
    workflow: str


class DeadLetterOptions(TypedDict, total=False):
    """Filters of dead letters. One must pass all of them. `job` is the id of a job, or its name."""

    since: Time
    until: Time
    name: str
    job: str
    cause: str

# Generated from the API's description by tools/client/types.py: run `make generate`, and edit nothing here.
"""The options of calls, as a caller gives them. `requests` turns them into what the API accepts."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, TypedDict

Time = datetime | str | int | float
"""An aware datetime, a string that the API accepts, or epoch seconds."""
DEAD_LETTER_NAMES: Final = {"since": "from", "until": "to", "job": "job_id"}
"""The API names of options that are named differently here."""


class JobOptions(TypedDict, total=False):
    """The options of a job. `docs/jobs.md` describes each field."""

    at: Time
    delay: float | timedelta
    cron: str
    every: int | timedelta | str
    on_event: Mapping[str, Any]
    timezone: str
    dst: Mapping[str, str]
    start_at: Time
    end_at: Time
    max_runs: int
    jitter_seconds: int
    misfire: Mapping[str, Any]
    overlap: str
    start_within_seconds: int
    target: Mapping[str, Any]
    name: str
    description: str
    tags: Mapping[str, str]
    priority: str
    gates: Sequence[str]
    timeout_seconds: int
    retry: int | Mapping[str, Any]
    requirements: Mapping[str, Any]
    dependencies: Sequence[str]
    on_parent_failure: str
    idempotency_key: str
    key: str
    depends_on: Sequence[str]
    url: str
    method: str
    headers: Mapping[str, str]


class ChangeOptions(TypedDict, total=False):
    """The fields of a job that can be changed. None removes the field, where that is allowed."""

    at: Time
    delay: float | timedelta
    cron: str
    every: int | timedelta | str
    on_event: Mapping[str, Any]
    timezone: str
    dst: Mapping[str, str]
    start_at: Time | None
    end_at: Time | None
    max_runs: int | None
    jitter_seconds: int
    misfire: Mapping[str, Any]
    overlap: str
    start_within_seconds: int | None
    target: Mapping[str, Any]
    payload: Any
    name: str | None
    description: str | None
    tags: Mapping[str, str]
    priority: str
    gates: Sequence[str] | None
    timeout_seconds: int
    retry: int | Mapping[str, Any]
    requirements: Mapping[str, Any]
    url: str
    method: str
    headers: Mapping[str, str]
    handler: str


class WorkflowOptions(TypedDict, total=False):
    """The options of a workflow. `docs/workflows.md` describes each field."""

    at: Time
    delay: float | timedelta
    cron: str
    every: int | timedelta | str
    timezone: str
    dst: Mapping[str, str]
    start_at: Time
    end_at: Time
    max_runs: int
    jitter_seconds: int
    misfire: Mapping[str, Any]
    overlap: str
    name: str
    description: str
    tags: Mapping[str, str]
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
    """Filters of jobs. A job must match all of them."""

    status: str
    kind: str
    priority: str
    name: str
    full_name: str
    tag: str
    workflow: str


class DeadLetterOptions(TypedDict, total=False):
    """Filters of dead letters, which must match all of them. `job` is the id of a job, or its name."""

    since: Time
    until: Time
    name: str
    job: str
    cause: str

# Generated from the API's description by tools/client/types.py: run `make generate`, and edit nothing here.
# ruff: noqa: RUF012 - each value gets an object of its own
"""The answers of the API as typed values."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from onthedot.client.values import Status, Value

__all__ = [
    "Attempt",
    "Backfilled",
    "BulkStep",
    "Cause",
    "Causes",
    "Change",
    "Execution",
    "Explanation",
    "FireTime",
    "Forecast",
    "Gate",
    "Health",
    "HeavyJob",
    "Hour",
    "Job",
    "Lateness",
    "ListedJob",
    "Minute",
    "Moment",
    "NotDone",
    "NotRedriven",
    "Outcome",
    "Outcomes",
    "Overview",
    "Progress",
    "Queue",
    "Reason",
    "RedriveRun",
    "Redriven",
    "Statistics",
    "WhatIf",
    "Worker",
    "Workflow",
    "WorkflowJob",
]


class Outcome(Value):
    """A run that ended, or a range of skipped fire times, and why it has this status.

    `lateness_ms` is None when the run never started.
    """

    execution_id: str
    status: Status | str
    fire_time: datetime | None = None
    finished_at: datetime | None = None
    lateness_ms: int | None = None
    reason: str | None = None


class Change(Value):
    """A change that a client made to a job. `by` is the name of its token, `fields` are those of a PATCH request."""

    at: datetime
    action: str
    by: str | None = None
    fields: list[str] = []
    version: int = 1


class Job(Value):
    """A job. The answer to a new job has the fields up to `next_fire_time`, `Client.get` answers with all."""

    _keys = {"id": "job_id"}
    id: str
    status: Status | str
    version: int = 1
    name: str | None = None
    priority: str = "MEDIUM"
    pool: str | None = None
    created_at: datetime | None = None
    fire_time: datetime | None = None
    next_fire_time: datetime | None = None
    cron: str | None = None
    every: int | None = None
    timezone: str | None = None
    dst: Mapping[str, str] = {}
    start_at: datetime | None = None
    end_at: datetime | None = None
    max_runs: int | None = None
    jitter_seconds: int = 0
    misfire: Mapping[str, Any] = {}
    overlap: str | None = None
    runs: int | None = None
    on_event: Mapping[str, Any] | None = None
    outcomes: list[Status | str] = []
    description: str | None = None
    tags: Mapping[str, str] = {}
    timeout_seconds: int | None = None
    retry: Mapping[str, Any] = {}
    requirements: Mapping[str, Any] = {}
    start_within_seconds: int | None = None
    gates: list[str] = []
    target: Mapping[str, Any] = {}
    payload: Any = None
    payload_url: str | None = None
    retry_count: int = 0
    last_run: datetime | None = None
    finished_at: datetime | None = None
    last_outcome: Outcome | None = None
    lateness_ms: int | None = None
    reason: str | None = None
    result: str | None = None
    result_url: str | None = None
    dependencies: list[str] = []
    on_parent_failure: str | None = None
    trace_id: str | None = None
    workflow_id: str | None = None
    key: str | None = None
    changes: list[Change] = []


class Attempt(Value):
    """One try of an execution. `ended_at` is None while it runs. `span_id` is its span in the trace."""

    _keys = {"number": "attempt"}
    number: int
    outcome: str
    worker: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    error: str | None = None
    error_class: str | None = None
    span_id: str | None = None


class Progress(Value):
    """The latest report of an attempt: how much is done, from 0 to 1, and a short text. `at`: when it was stored."""

    at: datetime
    fraction: float | None = None
    text: str | None = None


class Execution(Value):
    """One occurrence of a job, or a range of `count` skipped fire times from `fire_time` to `until`."""

    _keys = {"id": "execution_id"}
    id: str
    job_id: str
    status: Status | str
    name: str | None = None
    target: str | None = None
    trigger: str | None = None
    priority: str | None = None
    pool: str | None = None
    fire_time: datetime | None = None
    next_fire_time: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    lateness_ms: int | None = None
    running_ms: int | None = None
    deadline: datetime | None = None
    progress: Progress | None = None
    worker: str | None = None
    attempts: list[Attempt] = []
    lost_attempts: int = 0
    error: str | None = None
    reason: str | None = None
    result: str | None = None
    result_url: str | None = None
    trace_id: str | None = None
    until: datetime | None = None
    count: int = 1


class FireTime(Value):
    """A fire time in UTC and in the schedule's time zone. `note` says how a change of the clocks or jitter moves it."""

    time: datetime
    local: str
    note: str | None = None


class WorkflowJob(Value):
    """A job of the workflow and its status."""

    key: str
    job_id: str | None = None
    status: Status | str | None = None
    depends_on: list[str] = []
    on_parent_failure: str | None = None
    name: str | None = None
    fire_time: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    reason: str | None = None


class Workflow(Value):
    """A workflow with the statuses of its jobs.

    `run_id` is the run that makes the graph. For a recurring workflow it is the latest run. `critical_path` lists the
    keys of the chain of jobs that takes longest.
    """

    _keys = {"id": "workflow_id"}
    id: str
    status: Status | str
    run_id: str | None = None
    name: str | None = None
    reason: str | None = None
    fire_time: datetime | None = None
    progress: Mapping[str, Any] = {}
    critical_path: list[str] = []
    jobs: list[WorkflowJob] = []
    schedule: Mapping[str, Any] | None = None
    next_fire_time: datetime | None = None


class Reason(Value):
    """One reason. `code` is meant for programs, `message` for people."""

    code: str
    message: str


class Moment(Value):
    """A moment in the history of a run."""

    time: datetime
    message: str


class WhatIf(Value):
    """An action and its effect if it were done now. `action` is meant for programs, `message` for people."""

    action: str
    message: str


class Explanation(Value):
    """The reasons why a job has not run, or what it is doing.

    `timeline` is the history of its latest run, the oldest moment first, up to 30. `what_if` says what actions would
    do.
    """

    job_id: str
    status: Status | str
    name: str | None = None
    reasons: list[Reason] = []
    timeline: list[Moment] = []
    what_if: list[WhatIf] = []


class Backfilled(Value):
    """The outcome of a backfill.

    `existing` counts fire times that had an execution already. `left` counts fire times of the window that still have
    none. Call again with `next_from`, the first of them, as `from`.
    """

    created: int
    existing: int
    left: int
    next_from: datetime | None = None
    executions: list[str] = []


class HeavyJob(Value):
    """A job with many runs in a minute."""

    job_id: str
    runs: int
    name: str | None = None


class Minute(Value):
    """The number of runs that are scheduled for a minute, and up to 3 jobs with the most of them."""

    time: datetime
    runs: int
    heaviest: list[HeavyJob] = []


class Forecast(Value):
    """The scheduled runs of each coming minute. When `truncated` is true there are more than were counted.

    From `complete_until` on, some runs that wait already were not counted. Runs of recurring jobs were.
    """

    minutes: list[Minute]
    truncated: bool = False
    complete_until: datetime | None = None


class Worker(Value):
    """A worker. `running` and `host` are empty when it serves all tenants.

    It must send a heartbeat every `heartbeat_seconds`. Its leases last for `lease_seconds`. A lease may ask the API to
    wait for up to `longest_wait_seconds`. 0: the API answers at once. `recent` is the number of its latest ended
    executions that are known, up to 100: `GET /v1/executions?worker_id=` lists them.
    """

    _keys = {"id": "worker_id"}
    id: str
    pool: str
    status: str
    capabilities: list[str] = []
    resources: dict[str, Any] = {}
    used: dict[str, Any] = {}
    running: list[str] = []
    recent: int | None = None
    registered_at: datetime | None = None
    heartbeat_at: datetime | None = None
    host: str | None = None
    lease_seconds: int | None = None
    heartbeat_seconds: int | None = None
    longest_wait_seconds: int | None = None


class Health(Value):
    """Whether the scheduler is alive.

    `status` is `ok`, `starting` (there was no tick yet) or `late` (the last completed tick is older than three minutes,
    or the ticks cannot be read). `late` is answered with 503.
    """

    status: str
    version: str | None = None
    time: datetime | None = None
    last_tick: datetime | None = None
    tick_age_seconds: int | None = None


class ListedJob(Value):
    """A job in a list. `target` is one line, without secrets. `key` is the name of the job in its workflow.

    `at` is the time of a one-off job. A recurring job has `cron` with its `timezone`, or `every`, and in `outcomes` the
    statuses of its latest 12 ended runs, the latest first. So has an event job. `last_outcome` is the latest run that
    ended.
    """

    _keys = {"id": "job_id"}
    id: str
    kind: str
    status: Status | str
    name: str | None = None
    reason: str | None = None
    priority: str = "MEDIUM"
    pool: str | None = None
    target: str | None = None
    tags: Mapping[str, str] = {}
    at: datetime | None = None
    cron: str | None = None
    timezone: str | None = None
    every: int | None = None
    next_fire_time: datetime | None = None
    created_at: datetime | None = None
    workflow_id: str | None = None
    key: str | None = None
    last_outcome: Outcome | None = None
    outcomes: list[str] = []


class NotDone(Value):
    """A job on which a call did not act, and why."""

    id: str
    code: str
    message: str


class BulkStep(Value):
    """One step of an act on many jobs. `failed` is the length of `failures`.

    `matched` counts the jobs that this step found. There is more to do while `next_cursor` is not None.
    """

    matched: int
    done: int = 0
    failed: int = 0
    failures: list[NotDone] = []
    next_cursor: str | None = None


class Queue(Value):
    """A queue of a pool: the runs of all tenants that were sent to it.

    `waiting` runs are due and no worker has them, `delayed` ones are due soon, `in_flight` ones are with a worker.
    `dead_letters` are messages that could not be delivered; the scheduler sends their runs again. `priority` is None
    where all priorities share the queue. `kind` is `push` where queues start workers, and `pull` where workers ask for
    runs. `error` says why the numbers are not known.
    """

    pool: str
    kind: str | None = None
    priority: str | None = None
    waiting: int | None = None
    delayed: int | None = None
    in_flight: int | None = None
    oldest_age_seconds: float | None = None
    dead_letters: int | None = None
    error: str | None = None


class Lateness(Value):
    """How late the last attempts of ended runs started. All but `counts` are None without attempts.

    `counts` has a number for each of `bounds_ms`, of starts that were not later, and one for starts later than all
    bounds. `p50_ms` and `p99_ms` are bounds, and `max_ms` is exact.
    """

    p50_ms: float | None = None
    p99_ms: float | None = None
    max_ms: float | None = None
    counts: list[int] = []


class Outcomes(Value):
    """Ended runs by outcome. `retries` and `lost` are attempts of these runs."""

    succeeded: int = 0
    failed: int = 0
    skipped: int = 0
    cancelled: int = 0
    retries: int = 0
    lost: int = 0
    lateness: Lateness = Lateness()
    time: datetime | None = None


class Hour(Outcomes):
    """The runs that ended in the last hour, and in each of its 60 minutes, the oldest first."""

    _keys = {"start": "from", "end": "to"}
    start: datetime | None = None
    end: datetime | None = None
    bounds_ms: list[int] = []
    minutes: list[Outcomes] = []


class Overview(Value):
    """The overview of the caller's tenant. A part that cannot be read now is None, and `unknown` has its name."""

    time: datetime
    tenant: str | None = None
    role: str | None = None
    principal: str | None = None
    version: str | None = None
    engine: str | None = None
    stage: str | None = None
    status: str = "unknown"
    last_tick: datetime | None = None
    tick_age_seconds: float | None = None
    summary: Mapping[str, Any] = {}
    hour: Hour | None = None
    queues: list[Queue] = []
    workers: Mapping[str, Any] = {}
    due: list[Minute] = []
    next: list[Mapping[str, Any]] = []
    failures: list[Mapping[str, Any]] = []
    causes: list[Mapping[str, Any]] = []
    hold_ups: list[Mapping[str, Any]] = []
    limits: Mapping[str, Any] = {}
    unknown: list[str] = []


class Statistics(Value):
    """The runs that ended in a range of time, by steps, the oldest first."""

    _keys = {"start": "from", "end": "to"}
    start: datetime
    end: datetime
    step_seconds: int
    bounds_ms: list[int] = []
    steps: list[Outcomes] = []
    total: Outcomes = Outcomes()


class Gate(Value):
    """A gate with its limits and its use. The use of a gate does not contain that of its keys."""

    name: str
    in_flight: int | None = None
    per_second: float | None = None
    burst: int | None = None
    paused: bool = False
    changed_at: datetime | None = None
    changed_by: str | None = None
    in_use: int | None = None
    waiting: int | None = None
    waiting_is_more: bool | None = None
    oldest_waiting_seconds: float | None = None
    holders: list[Mapping[str, Any]] = []
    first_waiting: list[Mapping[str, Any]] = []
    waiting_keys: int | None = None
    waiting_keys_is_more: bool = False
    first_waiting_keys: list[str] = []


class NotRedriven(Value):
    """An execution that is not run again, and why."""

    id: str
    reason: str


class RedriveRun(Value):
    """An execution that a redrive would run again."""

    _keys = {"id": "execution_id"}
    id: str
    job_id: str
    name: str | None = None
    fire_time: datetime | None = None
    error: str | None = None
    cause: str | None = None


class Redriven(Value):
    """The outcome of a redrive.

    When `left` is true there are more: call again with `cursor`, so that an execution that has failed again is
    not run once more. `undecided` names executions that may run again. Of a dry run, `matched` says how many
    would run again, and `runs` has the first 20 of them.
    """

    _keys = {"cursor": "next_cursor"}
    redriven: int
    refused: list[NotRedriven] = []
    undecided: list[NotRedriven] = []
    left: bool = False
    cursor: str | None = None
    matched: int = 0
    runs: list[RedriveRun] = []


class Cause(Value):
    """The executions that failed for good in the same way.

    `successes_since` counts the executions of the same recurring and event jobs that succeeded after the latest
    failure. `job_id`, `name` and `execution_id` are those of the latest, `jobs` is the number of jobs. `over_time` has
    the number of failures in each of 24 equal parts of the time from `start` to `end`.
    """

    cause: str
    count: int
    latest: datetime | None = None
    oldest: datetime | None = None
    successes_since: int = 0
    job_id: str | None = None
    name: str | None = None
    jobs: int = 1
    execution_id: str | None = None
    over_time: list[int] = []


class Causes(Value):
    """The causes of dead letters, or the jobs that have them, the most frequent first.

    `start` and `end` are the time that was looked at.

    `truncated`: a call looks at the latest 2,000 dead letters and the runs of 40 jobs, and there are more.
    """

    _keys = {"start": "from", "end": "to"}
    causes: list[Cause]
    start: datetime | None = None
    end: datetime | None = None
    truncated: bool = False

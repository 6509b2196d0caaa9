"""Types of the answers that list jobs."""

from typing import NotRequired

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.
from typing_extensions import TypedDict

from onthedot.api.executions.views import OutcomeView, UnreadableView


class ListedJobView(TypedDict):
    """A job in a list. `target` is one line, without secrets. `key` is the name of the job in its workflow.

    `at` is the time of a one-off job. A recurring job has `cron` with its `timezone`, or `every`, and in `outcomes` the
    statuses of its latest 12 ended runs, the latest first. So has an event job. `last_outcome` is the latest run that
    ended.
    """

    job_id: str
    name: str | None
    kind: str
    status: str
    reason: str | None
    priority: str
    pool: str
    target: str | None
    tags: dict[str, str]
    at: NotRequired[str]
    cron: NotRequired[str]
    timezone: NotRequired[str]
    every: NotRequired[int]
    next_fire_time: str | None
    created_at: str
    workflow_id: str | None
    key: str | None
    last_outcome: OutcomeView | None
    outcomes: NotRequired[list[str]]


class JobsView(TypedDict):
    """One page of jobs, the latest first. Send `next_cursor` as `cursor` to get the next page.

    A page may be empty and have a `next_cursor`: a call looks at a bounded number of jobs. `unreadable` names the jobs
    of this page that this version cannot read, if there are any.
    """

    jobs: list[ListedJobView]
    next_cursor: str | None
    unreadable: NotRequired[list[UnreadableView]]


class BulkFailureView(TypedDict):
    """A job on which a call did not act, and why."""

    id: str
    code: str
    message: str


class BulkView(TypedDict):
    """One step of an act on many jobs. `failed` is the length of `failures`.

    `matched` counts the jobs that this step found. There is more to do while `next_cursor` is not null.
    """

    matched: int
    done: int
    failed: int
    failures: list[BulkFailureView]
    next_cursor: str | None

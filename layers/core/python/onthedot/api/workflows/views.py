"""Types of the answers about workflows."""

from typing import NotRequired

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.
from typing_extensions import TypedDict

from onthedot.api.jobs.views import AcceptedView
from onthedot.api.schedules.views import RecurrenceView


class MemberIdView(TypedDict):
    """A job of the workflow by its key. `job_id` is null when the workflow recurs: each time makes new jobs."""

    key: str
    job_id: str | None


class AcceptedWorkflowView(AcceptedView):
    """A workflow as it was accepted, with the ids of its jobs."""

    workflow_id: str
    jobs: list[MemberIdView]


class MemberView(TypedDict):
    """A job of the workflow and its status."""

    key: str
    job_id: str | None
    status: str
    depends_on: list[str]
    on_parent_failure: NotRequired[str]
    name: str | None
    fire_time: str | None
    started_at: str | None
    finished_at: str | None
    reason: str | None


class ProgressView(TypedDict):
    """The number of jobs: in all, ended, and by status."""

    total: int
    ended: int
    by_status: dict[str, int]


class ScheduleView(RecurrenceView):
    """The schedule of a workflow that recurs."""

    status: str
    next_fire_time: str | None


class WorkflowView(TypedDict):
    """A workflow with the statuses of its jobs.

    `run_id` is the run that makes the graph. For a recurring workflow it is the latest run. `critical_path` lists the
    keys of the chain of jobs that takes longest.
    """

    workflow_id: str
    run_id: str | None
    name: str | None
    status: str
    reason: str | None
    fire_time: str | None
    progress: ProgressView
    critical_path: list[str]
    jobs: list[MemberView]
    schedule: ScheduleView | None

"""Types of the answers about dead letters."""

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.
from typing import NotRequired

from typing_extensions import TypedDict

from onthedot.api.executions.views import ExecutionView, UnreadableView


class DeadLettersView(TypedDict):
    """One page of executions that failed for good. Send `next_cursor` as `cursor` to get the next page.

    A page may be short, or empty, and have a `next_cursor`: a call looks at a bounded number of executions.
    `unreadable` names the executions of this page that this version cannot read, if there are any.
    """

    dead_letters: list[ExecutionView]
    next_cursor: str | None
    unreadable: NotRequired[list[UnreadableView]]


class CauseView(TypedDict):
    """The executions that failed for good in the same way.

    `successes_since` counts the executions of the same recurring and event jobs that succeeded after the latest
    failure. `job_id`, `name` and `execution_id` are those of the latest, `jobs` is the number of jobs. `over_time` has
    the number of failures in each of 24 equal parts of the time from `from` to `to`.
    """

    cause: str
    count: int
    latest: str | None
    oldest: str
    successes_since: int
    job_id: str
    name: str | None
    jobs: int
    execution_id: str
    over_time: list[int]


_Times = TypedDict("_Times", {"from": str, "to": str})


class CausesView(_Times):
    """The causes of dead letters, or the jobs that have them, the most frequent first.

    `from` and `to` are the time that was looked at.

    `truncated`: a call looks at the latest 2,000 dead letters and the runs of 40 jobs, and there are more.
    """

    causes: list[CauseView]
    truncated: bool


class RedriveRunView(TypedDict):
    """An execution that a redrive would run again."""

    execution_id: str
    job_id: str
    name: str | None
    fire_time: str
    error: str | None
    cause: str


class RefusedView(TypedDict):
    """An execution that is not run again, and why."""

    id: str
    reason: str


class RedrivenView(TypedDict):
    """The outcome of a redrive. `redriven` is the number of executions that run again.

    `undecided` names executions that may run again: the store did not answer in time. When `left` is true there are
    more: call again with `next_cursor` as `cursor`, so that an execution that has failed again is not run once more. A
    dry run says in `matched` how many would run again, and in `runs` the first 20 of them.
    """

    redriven: int
    refused: list[RefusedView]
    undecided: list[RefusedView]
    left: bool
    next_cursor: str | None
    matched: NotRequired[int]
    runs: NotRequired[list[RedriveRunView]]

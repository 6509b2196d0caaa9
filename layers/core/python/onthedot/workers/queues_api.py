"""The state of the queues."""

from collections.abc import Sequence
from typing import Final, NotRequired

from typing_extensions import TypedDict

from onthedot.api.route import RequestContext, Route
from onthedot.workers.queues import QueueReport, read_queues

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.


class QueueView(TypedDict):
    """A queue of a pool: the runs of all tenants that were sent to it.

    `waiting` runs are due and no worker has them, `delayed` ones are due soon, `in_flight` ones are with a worker.
    `dead_letters` are messages that could not be delivered; the scheduler sends their runs again. `priority` is null
    where all priorities share the queue. `kind` is `push` where queues start workers, and `pull` where workers ask for
    runs. `error` says why the numbers are not known.
    """

    pool: str
    kind: str
    priority: str | None
    waiting: int | None
    delayed: int | None
    in_flight: int | None
    oldest_age_seconds: int | None
    dead_letters: int | None
    error: NotRequired[str]


class QueuesView(TypedDict):
    """All queues of the stage."""

    queues: list[QueueView]


def queues_view(reports: Sequence[QueueReport]) -> QueuesView:
    """Return the state of all queues."""
    return {"queues": [_queue(report) for report in reports]}


def _queue(report: QueueReport) -> QueueView:
    counts, age = report.counts, report.oldest_age_ms
    view: QueueView = {
        "pool": report.pool,
        "kind": report.kind.value,
        "priority": None if report.priority is None else report.priority.value,
        "waiting": None if counts is None else counts.visible,
        "delayed": None if counts is None else counts.delayed,
        "in_flight": None if counts is None else counts.in_flight,
        "oldest_age_seconds": None if age is None else age // 1000,
        "dead_letters": None if counts is None else counts.dead,
    }
    return view if report.problem is None else {**view, "error": report.problem}


def list_queues(context: RequestContext) -> QueuesView:
    """Answer how many runs wait in each queue, of all tenants."""
    return queues_view(read_queues(context.engine))


ROUTES: Final = (
    Route("GET", "/v1/queues", list_queues, "List the queues with the runs that wait in them", QueuesView),
)

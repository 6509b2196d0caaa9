"""The state of the queues of a stage. A queue that fails does not hide the others."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NotRequired

from typing_extensions import TypedDict

from onthedot.api.route import RequestContext, Route
from onthedot.core import patience
from onthedot.core.choices import Priority
from onthedot.core.errors import Unavailable
from onthedot.core.pools import Pool, PoolKind
from onthedot.core.ports import Deadline, QueueCounts
from onthedot.core.schema import PRIORITIES
from onthedot.engine import Engine


@dataclass(frozen=True, slots=True)
class QueueReport:
    """The state of one queue, or why it is not known."""

    pool: str
    priority: Priority | None
    """None: all priorities of the pool share the queue."""
    kind: PoolKind
    counts: QueueCounts | None = None
    oldest_age_ms: int | None = None
    """The age of the oldest message that waits. None: none waits, or its age is not known."""
    problem: str | None = None


def read_queues(engine: Engine) -> Sequence[QueueReport]:
    deadline = Deadline.after(engine.clock.now(), patience.REQUEST_MS)
    return [report for pool in engine.deployment.pools.all for report in _queues_of(engine, pool, deadline)]


def _queues_of(engine: Engine, pool: Pool, deadline: Deadline) -> Iterator[QueueReport]:
    reports = [_report(engine, pool, priority, deadline) for priority in PRIORITIES]
    names = {report.counts.name for report in reports if report.counts is not None}
    if len(names) == 1 and all(report.counts is not None for report in reports):
        yield replace(reports[0], priority=None)
    else:
        yield from reports


def _report(engine: Engine, pool: Pool, priority: Priority, deadline: Deadline) -> QueueReport:
    report = QueueReport(pool.name, priority, pool.kind)
    if not deadline.allows(engine.clock.now()):
        return replace(report, problem="it was not asked in time; call again")
    try:
        counts = engine.queues.counts(pool.name, priority)
    except Unavailable as error:
        return replace(report, problem=str(error))
    age = engine.queues.oldest_age_ms(pool.name, priority) if counts.visible else None
    return replace(report, counts=counts, oldest_age_ms=age)


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
    return queues_view(read_queues(context.engine))


ROUTES: Final = (
    Route("GET", "/v1/queues", list_queues, "List the queues with the runs that wait in them", QueuesView),
)

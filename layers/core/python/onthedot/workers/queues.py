"""Read the state of the queues of a stage. A queue that fails hides no other."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

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
    counts: QueueCounts | None = None
    kind: PoolKind = PoolKind.PUSH
    oldest_age_ms: int | None = None
    """The age of the oldest message that waits. None: none waits, or its age is not known."""
    problem: str | None = None


def read_queues(engine: Engine) -> Sequence[QueueReport]:
    """Return a report on each queue of each pool of the stage."""
    deadline = Deadline.after(engine.clock.now(), patience.REQUEST_MS)
    reports = (
        (pool.kind, report) for pool in engine.deployment.pools.all for report in _queues_of(engine, pool, deadline)
    )
    return [replace(report, kind=kind) for kind, report in reports]


def _queues_of(engine: Engine, pool: Pool, deadline: Deadline) -> Iterator[QueueReport]:
    reports = [_report(engine, pool.name, priority, deadline) for priority in PRIORITIES]
    names = {report.counts.name for report in reports if report.counts is not None}
    if len(names) == 1 and all(report.counts is not None for report in reports):
        yield replace(reports[0], priority=None)
    else:
        yield from reports


def _report(engine: Engine, pool: str, priority: Priority, deadline: Deadline) -> QueueReport:
    if not deadline.allows(engine.clock.now()):
        return QueueReport(pool, priority, problem="it was not asked in time; call again")
    try:
        counts = engine.queues.counts(pool, priority)
    except Unavailable as error:
        return QueueReport(pool, priority, problem=str(error))
    age = engine.queues.oldest_age_ms(pool, priority) if counts.visible else None
    return QueueReport(pool, priority, counts, oldest_age_ms=age)

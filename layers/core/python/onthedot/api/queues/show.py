"""Show the state of queues."""

from collections.abc import Sequence

from onthedot.api.queues.views import QueuesView, QueueView
from onthedot.use_cases.workers.read_queues import QueueReport


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

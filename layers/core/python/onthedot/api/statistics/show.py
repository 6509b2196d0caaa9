"""Show statistics."""

from onthedot.api.statistics.views import CountersView, LatenessView, StatisticsView, StepView
from onthedot.domain.instants import format_instant
from onthedot.domain.statistics.counters import BOUNDS_MS, Counters
from onthedot.use_cases.statistics.read_statistics import Statistics


def statistics_view(found: Statistics) -> StatisticsView:
    """Return the counters of a range of time."""
    return {
        "from": format_instant(found.asked.since),
        "to": format_instant(found.asked.until),
        "step_seconds": found.asked.step_ms // 1000,
        "bounds_ms": list(BOUNDS_MS),
        "steps": [_step(start, counters) for start, counters in found.steps],
        "total": counters_view(found.total),
    }


def counters_view(counters: Counters) -> CountersView:
    """Return the ends of runs by outcome."""
    return {
        "succeeded": counters.succeeded,
        "failed": counters.failed,
        "skipped": counters.skipped,
        "cancelled": counters.cancelled,
        "retries": counters.retries,
        "lost": counters.lost,
        "lateness": _lateness(counters),
    }


def _step(start: int, counters: Counters) -> StepView:
    return {"time": format_instant(start), **counters_view(counters)}


def _lateness(counters: Counters) -> LatenessView:
    return {
        "p50_ms": counters.percentile(0.5),
        "p99_ms": counters.percentile(0.99),
        "max_ms": counters.max_ms,
        "counts": list(counters.counts),
    }

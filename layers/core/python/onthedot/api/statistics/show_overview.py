"""Show an overview."""

from collections.abc import Sequence
from typing import Final

import onthedot
from onthedot.api.core.times import show_time
from onthedot.api.executions.show import error_of
from onthedot.api.queues.show import queues_view
from onthedot.api.statistics.show import counters_view
from onthedot.api.statistics.views import (
    DueView,
    FailureView,
    HoldUpView,
    HourCauseView,
    HourView,
    NextView,
    OverviewView,
    OwnLimitsView,
    WorkersSummaryView,
)
from onthedot.domain.gates.limits import TenantLimits
from onthedot.domain.instants import format_instant
from onthedot.domain.reports.hold_ups import HoldUp
from onthedot.domain.runs.records import Definition, Record
from onthedot.domain.statistics.counters import BOUNDS_MS, Counters, added
from onthedot.domain.targets.one_line import one_line
from onthedot.domain.workers.records import WorkerRecord, WorkerStatus
from onthedot.ports import Engine, Principal
from onthedot.use_cases.overview.read_overview import Coming, Overview
from onthedot.use_cases.runs.count_causes import Cause

_FIELDS_OF: Final = {
    "ticks": ("status", "last_tick", "tick_age_seconds"),
    "due": ("due", "next"),
    "failures": ("failures", "causes"),
}
"""The fields of a part that has several."""


def overview_view(engine: Engine, caller: Principal, found: Overview) -> OverviewView:
    """Return the overview of a caller's tenant."""
    ticks, failures, coming = found.ticks, found.failures, found.coming
    age = None if ticks is None else ticks.age_ms
    view: OverviewView = {
        "time": format_instant(found.now),
        "tenant": caller.tenant,
        "role": caller.role,
        "principal": caller.name,
        "version": onthedot.__version__,
        "engine": engine.kind,
        "stage": engine.stage_name,
        "status": None if ticks is None else ticks.status.value,
        "last_tick": None if ticks is None else show_time(ticks.last_tick),
        "tick_age_seconds": None if age is None else age // 1000,
        "summary": {"state": found.summary.state.value, "message": found.summary.message},
        "hour": None if found.hour is None else _hour(found.hour, found.now),
        "queues": None if found.queues is None else queues_view(found.queues)["queues"],
        "workers": None if found.workers is None else _workers(found.workers, found.now),
        "due": None if coming is None else _due(coming),
        "next": None if coming is None else _next(coming),
        "failures": None if failures is None else [_failure(*one) for one in failures.failures],
        "causes": None if failures is None else [_cause(one) for one in failures.causes],
        "hold_ups": None if found.hold_ups is None else [_hold_up(one) for one in found.hold_ups],
        "limits": None if "limits" in found.unknown else _limits(found.limits),
    }
    unknown = [field for part in found.unknown for field in _FIELDS_OF.get(part, (part,))]
    return {**view, "unknown": unknown} if unknown else view


def _hour(minutes: Sequence[tuple[int, Counters]], now: int) -> HourView:
    total = counters_view(added(counters for _, counters in minutes))
    return {
        "from": format_instant(minutes[0][0]),
        "to": format_instant(now),
        **total,
        "bounds_ms": list(BOUNDS_MS),
        "minutes": [
            {
                "time": format_instant(start),
                "succeeded": counters.succeeded,
                "failed": counters.failed,
                "skipped": counters.skipped,
                "cancelled": counters.cancelled,
                "retries": counters.retries,
            }
            for start, counters in minutes
        ],
    }


def _workers(workers: Sequence[WorkerRecord], now: int) -> WorkersSummaryView:
    alive = [one for one in workers if one.status(now) in (WorkerStatus.ACTIVE, WorkerStatus.DRAINING)]
    return {
        "alive": len(alive),
        "silent": sum(one.status(now) is WorkerStatus.LOST for one in workers),
        "running": sum(len(one.load.running) for one in alive),
        "concurrency": sum(one.resources.concurrency for one in alive),
    }


def _due(coming: Coming) -> list[DueView]:
    return [{"time": format_instant(start), "runs": runs} for start, runs in coming.forecast.minutes.items()]


def _next(coming: Coming) -> list[NextView]:
    return [
        {"job_id": job_id, "name": coming.names.get(job_id), "fire_time": format_instant(at)}
        for at, job_id in coming.forecast.nearest
    ]


def _failure(run: Record, definition: Definition | None) -> FailureView:
    return {
        "execution_id": run.run_id,
        "job_id": run.job_id,
        "name": None if definition is None else definition.name,
        "target": None if definition is None else one_line(definition.target),
        "error": error_of(run),
        "finished_at": show_time(run.finished_at),
    }


def _cause(found: Cause) -> HourCauseView:
    return {
        "cause": found.text,
        "count": found.count,
        "latest": show_time(found.latest.finished_at),
        "successes_since": found.successes_since,
        "job_id": found.latest.job_id,
        "name": found.name,
    }


def _limits(limits: TenantLimits | None) -> OwnLimitsView:
    if limits is None:
        return {"in_flight": None, "per_second": None}
    return {"in_flight": limits.in_flight, "per_second": limits.per_second}


def _hold_up(found: HoldUp) -> HoldUpView:
    return {
        "code": found.code,
        "message": found.message,
        "since": show_time(found.since),
        "job_id": found.job_id,
        "name": found.name,
        "gate": found.gate,
        "pool": found.pool,
        "runs": found.runs,
    }

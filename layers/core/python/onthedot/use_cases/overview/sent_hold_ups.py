"""Find the due runs of a tenant that were sent and do not start: no worker can run them, or has room for them.

Queues are shared by all tenants, so the counts of a queue say nothing about one of them. They only say whether it is
worth to look at the sent runs of the tenant. The message of a run that no worker can run is hidden from one delivery to
the next, so its queue seems to be empty.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from onthedot.domain.reports.explain import Reason
from onthedot.domain.reports.explain_workers import NO_ROOM, UNABLE, full_worker, why_no_worker, with_holders
from onthedot.domain.reports.hold_ups import OLD_MS, HoldUp, at_workers, in_queue
from onthedot.domain.runs.records import Record, Status
from onthedot.domain.workers.pools import Needs, PoolKind, worker_needs
from onthedot.domain.workers.records import WorkerRecord
from onthedot.ports import Engine
from onthedot.use_cases.runs.jobs_of_runs import jobs_of, name_of
from onthedot.use_cases.runs.running_runs import running_runs
from onthedot.use_cases.workers.read_queues import QueueReport
from onthedot.use_cases.workers.worker_places import read_places

LOOKED_AT: Final = 100
"""Sent runs of the tenant that are looked at."""
MOST_SHOWN: Final = 5
PATIENT_MS: Final = 5_000
"""A run that is due for less time may just be on its way to a worker."""


@dataclass(frozen=True, slots=True)
class SentHoldUps:
    """The hold-ups of runs that were sent, the oldest run first."""

    at_workers: Sequence[HoldUp] = ()
    """No worker can run them, or has room for them."""
    in_queues: Sequence[HoldUp] = ()
    """They wait in a queue that has been full for a while."""


def may_hold_up(engine: Engine, queues: Sequence[QueueReport], workers: Sequence[WorkerRecord] | None) -> bool:
    """Return whether sent runs of any tenant seem to wait: in an old queue, or in a pull pool without a worker."""
    return any(_is_old(report) for report in queues) or _has_hidden_runs(engine, queues, workers or ())


def sent_hold_ups(
    engine: Engine, tenant: str, queues: Sequence[QueueReport], workers: Sequence[WorkerRecord] | None
) -> SentHoldUps:
    """Return why sent runs of the tenant do not start. `workers` is None when they are unknown. Raise Unavailable."""
    now = engine.clock.now()
    page = running_runs(engine, tenant, LOOKED_AT, status=Status.DISPATCHED)
    waiting = sorted((run for run in page.items if run.fire_at <= now - PATIENT_MS), key=lambda run: run.fire_at)
    pulled = [] if workers is None else [run for run in waiting if _is_pulled(engine, run)]
    jobs = jobs_of(engine, pulled)
    found: dict[Reason, list[Record]] = {}
    for run in pulled:
        why = _lacking(run, _needs(run, jobs), workers or (), now)
        if why is not None:
            found.setdefault(why, []).append(run)
    explained = {run.run_id for runs in found.values() for run in runs}
    others = [run for run in waiting if run.run_id not in explained]
    shown = list(found.items())[:MOST_SHOWN]
    first = {why: (runs[0], _needs(runs[0], jobs)) for why, runs in shown if why.code == NO_ROOM}
    full = _with_holders(engine, tenant, first, workers or (), now)
    return SentHoldUps(
        [at_workers(runs[0], name_of(jobs.get(runs[0].job_id)), full.get(why, why), len(runs)) for why, runs in shown],
        list(_in_queues(others, queues, now, more=page.cursor is not None)),
    )


def _is_old(report: QueueReport) -> bool:
    return report.counts is not None and report.counts.visible > 0 and (report.oldest_age_ms or 0) > OLD_MS


def _has_hidden_runs(engine: Engine, queues: Sequence[QueueReport], workers: Sequence[WorkerRecord]) -> bool:
    """Return whether the queues of a pull pool have more messages than its workers have runs."""
    for pool in engine.deployment.pools.all:
        counts = [report.counts for report in queues if report.pool == pool.name and report.counts is not None]
        running = sum(len(worker.load.running) for worker in workers if worker.pool == pool.name)
        if pool.kind is PoolKind.PULL and sum(count.visible + count.in_flight for count in counts) > running:
            return True
    return False


def _in_queues(runs: Sequence[Record], queues: Sequence[QueueReport], now: int, *, more: bool) -> Iterator[HoldUp]:
    """Yield the old queues in which runs of the tenant wait. The oldest of these runs is the first."""
    for report in filter(_is_old, queues):
        own = [run for run in runs if run.pool == report.pool and report.priority in (None, run.priority)]
        if own:
            # A run that waited at a gate before is younger in its queue than its fire time says.
            age = min(now - own[0].fire_at, report.oldest_age_ms or 0)
            priority = None if report.priority is None else report.priority.value
            hold_up = in_queue(report.pool, priority, len(own), age, now, more)
            yield from [] if hold_up is None else [hold_up]


def _is_pulled(engine: Engine, run: Record) -> bool:
    pool = engine.deployment.pools.get(run.pool)
    return pool is not None and pool.kind is PoolKind.PULL


def _with_holders(
    engine: Engine, tenant: str, first: Mapping[Reason, tuple[Record, Needs]], workers: Sequence[WorkerRecord], now: int
) -> Mapping[Reason, Reason]:
    """Return reasons that workers are full with the runs that they have. `first` has a run of each reason."""
    found = {
        why: full_worker(run.pool, run.tenant, needs, workers, now, alone=run.losses > 0)
        for why, (run, needs) in first.items()
    }
    full = {why: worker for why, worker in found.items() if worker is not None}
    places = read_places(engine, list(full.values()), tenant) if full else {}
    return {why: with_holders(why, places[worker.worker_id]) for why, worker in full.items()}


def _needs(run: Record, jobs: Mapping[str, Record]) -> Needs:
    """Return what a worker must have for a run. One whose job is gone needs some worker too."""
    job = jobs.get(run.job_id)
    definition = run.definition or (None if job is None else job.definition)
    if definition is None:
        return Needs(frozenset())
    return worker_needs(definition.target, definition.requirements, definition.timeout_seconds)


def _lacking(run: Record, needs: Needs, workers: Sequence[WorkerRecord], now: int) -> Reason | None:
    reason = why_no_worker(run.pool, run.tenant, needs, workers, now, alone=run.losses > 0, say_ago=True)
    is_old = run.fire_at <= now - OLD_MS  # a full worker takes such a run when it has room: that is usual for a while
    return reason if reason is not None and (reason.code == UNABLE or is_old) else None

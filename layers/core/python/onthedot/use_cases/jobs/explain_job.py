"""Explain why a job has not run, or what it does now: read the facts from which `domain.reports` finds the reasons."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from onthedot.domain.errors import Unavailable, Unreadable, UnreadableRecord
from onthedot.domain.gates.names import gate_of_slot
from onthedot.domain.reports.explain import MOST_NAMED, QueueState, Reason, explain, unreadable_reason
from onthedot.domain.reports.explain_gates import name_gate
from onthedot.domain.reports.explain_workers import whose_turn, why_no_worker
from onthedot.domain.runs.records import SCHEDULED, STAMPING, Definition, Kind, Record, Status
from onthedot.domain.workers.pools import PoolKind, worker_needs
from onthedot.ports import Deadline, Engine
from onthedot.use_cases.gates.explain_gates import explain_at_gate, explain_stopped_gates
from onthedot.use_cases.jobs.list_runs import recent_runs
from onthedot.use_cases.jobs.read_jobs import read_job
from onthedot.use_cases.shards.read_ticks import late_ticks

PATIENCE_MS: Final = 3_000
Fact = TypeVar("Fact")


@dataclass(frozen=True, slots=True)
class Explained:
    """A job, and the reasons for its status."""

    job: Record | Unreadable
    """The job, or the facts about one that cannot be read."""
    reasons: list[Reason]


def explain_job(engine: Engine, tenant: str, job_id: str) -> Explained:
    """Return the reasons for the job's status. Raise JobNotFound."""
    try:
        job = read_job(engine, tenant, job_id)
    except UnreadableRecord as error:
        return Explained(error.record, [unreadable_reason(error.record)])
    now = engine.clock.now()
    unknown: list[str] = []
    latest = _known(unknown, "its runs", lambda: _latest_due(engine, job, now)) if job.kind in STAMPING else None
    run = latest or job
    at_gate = _known(unknown, "the gate", lambda: explain_at_gate(engine, run, now)) or name_gate(run)
    ahead = _known(unknown, "its gates", lambda: _stopped_gates(engine, job, run)) or []
    definition = run.definition or job.definition
    workers = _known(unknown, "the workers", lambda: _workers(engine, run, definition, now)) or []
    waits = [*_pool(engine, run), *workers]
    backlog = _backlog(engine, run, now)
    parents = _known(unknown, "its parents", lambda: _parents(engine, job)) or []
    reasons = explain(job, now, backlog, latest, at_gate=at_gate, ahead=ahead, workers=waits, parents=parents)
    late = _known(unknown, "the last tick", lambda: late_ticks(engine)) if _needs_ticks(job, run) else None
    slow = [] if late is None else [Reason("scheduler_late", late)]
    return Explained(job, [*slow, *reasons, *(Reason("unknown", f"{what} cannot be read now") for what in unknown)])


def _needs_ticks(job: Record, run: Record) -> bool:
    """Return whether the job or its latest run waits for a tick."""
    return (job.kind is Kind.RECURRING and job.status is Status.ACTIVE) or run.status in SCHEDULED


def _known(unknown: list[str], what: str, read: Callable[[], Fact]) -> Fact | None:
    """Read a fact. When that fails, note it as unknown and return None: the other facts explain something too."""
    try:
        return read()
    except Unavailable:
        unknown.append(what)
        return None


def _parents(engine: Engine, job: Record) -> list[str]:
    """Name the parents that the job waits for, by key or id, with their statuses.

    Only the parents that are named are read.
    """
    waits = [parent for parent in job.parents if parent in job.waits_for]
    deadline = Deadline.after(engine.clock.now(), PATIENCE_MS)
    found = engine.store.get_many(waits[:MOST_NAMED], deadline).found if waits else {}
    return [_named(parent, found.get(parent)) for parent in waits]


def _named(parent_id: str, parent: Record | None) -> str:
    if parent is None:
        return parent_id
    return f"{parent_id if parent.key is None else f'{parent.key} ({parent_id})'}, which is {parent.status.value}"


def _latest_due(engine: Engine, job: Record, now: int) -> Record | None:
    """Return the latest run that is due, started, ended or skipped, and not only a time to come."""
    for run in recent_runs(engine, job):
        if run.status not in SCHEDULED or run.attempt or run.fire_at <= now:
            return run
    return None


def _stopped_gates(engine: Engine, job: Record, run: Record) -> list[Reason]:
    """Say at which stopped gates a run that is to come will have to wait. Raise Unavailable."""
    if job.status is not Status.ACTIVE and run.status not in SCHEDULED:
        return []
    gate = gate_of_slot(run.slot) if run.status is Status.PENDING else None
    return explain_stopped_gates(engine, job.tenant, job.gates, gate)


def _backlog(engine: Engine, run: Record, now: int) -> QueueState | None:
    """Read the backlog of the run's queue, but only where it explains something."""
    if not _waits_in_queue(run, now) or engine.deployment.pools.get(run.pool) is None:
        return None
    try:
        visible = engine.queues.visible(run.pool, run.priority)
    except Unavailable:
        return QueueState(None)
    return QueueState(visible, engine.queues.oldest_age_ms(run.pool, run.priority) if visible else None)


def _pool(engine: Engine, run: Record) -> list[Reason]:
    """Say that the stage no longer has the pool of a waiting run."""
    if run.status not in SCHEDULED or engine.deployment.pools.get(run.pool) is not None:
        return []
    stage = ", ".join(pool.name for pool in engine.deployment.pools.all)
    return [Reason("no_pool", f"this stage has no pool {run.pool!r} any more; it has {stage}")]


def _workers(engine: Engine, run: Record, definition: Definition | None, now: int) -> list[Reason]:
    """Say which worker a due run of a pull pool waits for: one that it is assigned to, or one that is missing."""
    pool = engine.deployment.pools.get(run.pool)
    if definition is None or pool is None or pool.kind is not PoolKind.PULL or not _waits_in_queue(run, now):
        return []
    workers = engine.registry.workers()
    turn = whose_turn(run.run_id, [worker for worker in workers if worker.tenant in (None, run.tenant)], now)
    if turn is not None:
        return [Reason("assigned", turn)]
    needs = worker_needs(definition.target, definition.requirements, definition.timeout_seconds)
    lacking = why_no_worker(pool.name, run.tenant, needs, workers, now, alone=run.losses > 0)
    return [] if lacking is None else [lacking]


def _waits_in_queue(run: Record, now: int) -> bool:
    return run.status is Status.DISPATCHED and run.fire_at <= now

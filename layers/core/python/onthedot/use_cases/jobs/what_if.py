"""Read the facts from which `domain.reports.what_if` says what an action on a job would do now. Reads are bounded."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from onthedot.domain.errors import Unavailable
from onthedot.domain.gates.names import gate_of_slot
from onthedot.domain.reports import what_if
from onthedot.domain.reports.explain import LAST_RUN, MOST_NAMED, STAGE_CLOSED, QueueState, Reason
from onthedot.domain.reports.explain_gates import GateFacts
from onthedot.domain.reports.explain_workers import UNABLE, why_no_worker
from onthedot.domain.reports.what_if import WhatIf
from onthedot.domain.runs.dependencies import called
from onthedot.domain.runs.records import SCHEDULED, Definition, Kind, Record, Status
from onthedot.domain.workers.pools import Needs, PoolKind, worker_needs
from onthedot.ports import Deadline, Engine
from onthedot.use_cases import patience
from onthedot.use_cases.dispatch.store_stamps import records_since

LATE: Final = "scheduler_late"
MOST_PARENTS: Final = 2
"""Failed parents that a redrive names."""


@dataclass(frozen=True, slots=True)
class Situation:
    """A job that is explained, and the facts that were read about it."""

    job: Record
    latest: Record | None
    """The latest due run of a job that stamps runs."""
    definition: Definition | None
    at_gate: GateFacts | None
    """The facts about the gate at which the run waits."""
    now: int

    @property
    def run(self) -> Record:
        """The latest due run, or the job itself."""
        return self.latest or self.job


def what_if_of(engine: Engine, case: Situation, reasons: Sequence[Reason]) -> list[WhatIf]:
    """Return the actions that would help, and their effects. One whose facts cannot be read is left out."""
    codes = {reason.code.removeprefix(LAST_RUN) for reason in reasons}
    if STAGE_CLOSED in codes:
        return [what_if.stage_opened()]
    found = [
        *([what_if.ticks_on_time()] if LATE in codes else []),
        *_resume(engine, case),
        *_lift(case),
        *([_worker(case)] if UNABLE in codes else []),
        *_again(engine, case),
    ]
    return [one for one in found if one is not None]


def _resume(engine: Engine, case: Situation) -> list[WhatIf]:
    job, now = case.job, case.now
    if job.status is not Status.PAUSED:
        return []
    records: Sequence[Record] = ()
    unreadable: list[str] = []
    if job.kind is Kind.RECURRING and job.fire_at <= now:
        try:
            page = records_since(engine, job, Deadline.after(now, patience.READ_MS))
        except Unavailable:
            return []
        records, unreadable = page.items, [one.run_id for one in page.unreadable]
    return [what_if.resumed(job, now, engine.deployment, records, unreadable)]


def _lift(case: Situation) -> list[WhatIf | None]:
    run = case.run
    gate = gate_of_slot(run.slot) if run.status is Status.PENDING else None
    return [] if gate is None else [what_if.lifted(gate, run.priority, case.at_gate, case.now)]


def _worker(case: Situation) -> WhatIf | None:
    """Say which worker would run it. None: what it needs is unknown."""
    needs = _needs(case)
    return None if needs is None else what_if.worker_started(case.run.pool, needs)


def _needs(case: Situation) -> Needs | None:
    definition = case.definition
    if definition is None:
        return None
    return worker_needs(definition.target, definition.requirements, definition.timeout_seconds)


def _again(engine: Engine, case: Situation) -> list[WhatIf | None]:
    """Say what another run would do: of a dead letter a redrive, of a job that is not due a run now."""
    job, run, now = case.job, case.run, case.now
    if run.status is Status.FAILED:
        retry = None if case.definition is None else case.definition.retry
        missing = _no_worker(engine, case)
        redriven = what_if.redriven(run, retry, queue_state(engine, run), _failed_parents(engine, run), missing)
        return [redriven, *([] if missing is None else [_worker(case)])]
    is_waiting = job.status in SCHEDULED and job.fire_at > now
    is_recurring = job.kind is Kind.RECURRING and job.status is Status.ACTIVE and run.status not in SCHEDULED
    if (is_waiting and not job.attempt) or is_recurring or (job.kind is Kind.RECURRING and run is job):
        return [] if job.status is Status.PAUSED else [what_if.run_now(job, now, queue_state(engine, job))]
    return []


def _no_worker(engine: Engine, case: Situation) -> Reason | None:
    """Say that no live worker can run the run again. None: one can, or none is needed, or that is unknown."""
    run = case.run
    pool, needs = engine.deployment.pools.get(run.pool), _needs(case)
    if pool is None or pool.kind is not PoolKind.PULL or needs is None:
        return None
    try:
        workers = engine.registry.workers()
    except Unavailable:
        return None
    reason = why_no_worker(pool.name, run.tenant, needs, workers, case.now)
    return reason if reason is not None and reason.code == UNABLE else None


def _failed_parents(engine: Engine, run: Record) -> list[str]:
    """Name the parents because of which a run failed without an attempt, as far as they can be read."""
    if run.attempt or not run.parents:
        return []
    deadline = Deadline.after(engine.clock.now(), patience.READ_MS)
    found = engine.store.get_many(run.parents[:MOST_NAMED], deadline).found
    parents = [found[parent] for parent in run.parents if parent in found]
    return [f"its parent {called(parent)}" for parent in parents if parent.status is Status.FAILED][:MOST_PARENTS]


def queue_state(engine: Engine, run: Record) -> QueueState | None:
    """Read the backlog of a run's queue. None: the stage does not have its pool."""
    if engine.deployment.pools.get(run.pool) is None:
        return None
    try:
        visible = engine.queues.visible(run.pool, run.priority)
    except Unavailable:
        return QueueState(None)
    return QueueState(visible, engine.queues.oldest_age_ms(run.pool, run.priority) if visible else None)

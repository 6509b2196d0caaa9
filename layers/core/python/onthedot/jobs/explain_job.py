"""Explain why a job has not run, or what it does now: read the facts from which `explain` finds the reasons."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from onthedot.core.errors import Unavailable, Unreadable, UnreadableRecord
from onthedot.core.gate_names import gate_of_slot
from onthedot.core.pools import PoolKind, worker_needs
from onthedot.core.ports import Deadline
from onthedot.core.reasons import Reason
from onthedot.core.records import SCHEDULED, STAMPING, TERMINAL, Definition, Kind, Record, Status
from onthedot.core.slots import queue_key
from onthedot.engine import Engine
from onthedot.gates.explain import explain_at_gate, explain_stopped_gates, read_gate_facts
from onthedot.jobs.explain import LAST_RUN, MOST_NAMED, STAGE_CLOSED, explain, unreadable_reason
from onthedot.jobs.list_runs import FEW_RUNS, read_job, recent_runs
from onthedot.jobs.timeline import Moment, runs_fail, timeline
from onthedot.jobs.what_if import LATE, Situation, WhatIf, queue_state, what_if_of
from onthedot.statistics.health import late_ticks
from onthedot.workers.explain import NO_ROOM, holds_up, whose_turn, why_no_worker, with_holders
from onthedot.workflows.dependencies import called

PATIENCE_MS: Final = 3_000
Fact = TypeVar("Fact")


@dataclass(frozen=True, slots=True)
class Explanation:
    """A job, the reasons for its status, the history of its latest run, and the effects of actions."""

    job: Record | Unreadable
    """The job, or the facts about one that cannot be read."""
    reasons: list[Reason]
    timeline: list[Moment] = field(default_factory=list)
    what_if: list[WhatIf] = field(default_factory=list)


def explain_job(engine: Engine, tenant: str, job_id: str) -> Explanation:
    """Raise JobNotFound."""
    try:
        job = read_job(engine, tenant, job_id)
    except UnreadableRecord as error:
        return Explanation(error.record, [unreadable_reason(error.record)])
    now = engine.clock.now()
    unknown: list[str] = []
    due: Sequence[Record] = ()
    more = False
    if job.kind in STAMPING:
        due, more = _known(unknown, "its runs", lambda: _latest_due(engine, job, now)) or ((), False)
    latest = due[0] if due else None
    run = latest or job
    at_gate = _known(unknown, "the gate", lambda: read_gate_facts(engine, run, now))
    case = Situation(job, latest, run.definition or job.definition, at_gate, now)
    failing = runs_fail(due, more=more)
    reasons = _reasons(engine, case, failing, unknown)
    story = timeline(job, latest if job.kind in STAMPING else job, now, _present(reasons))
    return Explanation(job, reasons, story, what_if_of(engine, case, reasons))


def _reasons(engine: Engine, case: Situation, failing: Reason | None, unknown: list[str]) -> list[Reason]:
    job, run, now = case.job, case.run, case.now
    at_gate = explain_at_gate(run, case.at_gate, now)
    ahead = _known(unknown, "its gates", lambda: _stopped_gates(engine, job, run)) or []
    workers = _known(unknown, "the workers", lambda: _workers(engine, run, case.definition, now)) or []
    waits = [*_pool(engine, run), *workers]
    behind = _known(unknown, "the queue", lambda: _waiting_behind(engine, run)) or []
    backlog = queue_state(engine, run) if _waits_in_queue(run, now) else None
    parents = _known(unknown, "its parents", lambda: _parents(engine, job)) or []
    reasons = explain(
        job,
        now,
        backlog,
        case.latest,
        at_gate=at_gate,
        ahead=ahead,
        workers=waits,
        parents=parents,
        behind=behind,
        failing=failing,
    )
    late = _known(unknown, "the last tick", lambda: late_ticks(engine)) if _needs_ticks(job, run) else None
    slow = [] if late is None else [Reason(LATE, late)]
    closed = _known(unknown, "the state of the stage", lambda: _closed_stage(engine, job, run)) or []
    return [*closed, *slow, *reasons, *(Reason("unknown", f"{what} cannot be read now") for what in unknown)]


def _present(reasons: Sequence[Reason]) -> Reason | None:
    """Return the reason that stops the latest run now: of a job with runs, the first one of that run."""
    of_run = (reason for reason in reasons if reason.code.startswith(LAST_RUN))
    return next(of_run, reasons[0] if reasons else None)


def _closed_stage(engine: Engine, job: Record, run: Record) -> list[Reason]:
    """Say that the stage of a job that is not done is frozen or imports data. Raise Unavailable."""
    if job.status in TERMINAL and run.status in TERMINAL:
        return []
    state = engine.stage.read()
    return [] if state.is_open else [Reason(STAGE_CLOSED, state.why_closed)]


def _needs_ticks(job: Record, run: Record) -> bool:
    return (job.kind is Kind.RECURRING and job.status is Status.ACTIVE) or run.status in SCHEDULED


def _known(unknown: list[str], what: str, read: Callable[[], Fact]) -> Fact | None:
    """Note a fact that cannot be read as unknown: the other facts explain something too."""
    try:
        return read()
    except Unavailable:
        unknown.append(what)
        return None


def _parents(engine: Engine, job: Record) -> list[str]:
    # Only the parents that are named are read.
    waits = [parent for parent in job.parents if parent in job.waits_for]
    deadline = Deadline.after(engine.clock.now(), PATIENCE_MS)
    found = engine.store.get_many(waits[:MOST_NAMED], deadline).found if waits else {}
    return [_named(parent, found.get(parent)) for parent in waits]


def _named(parent_id: str, parent: Record | None) -> str:
    return parent_id if parent is None else f"{called(parent)}, which is {parent.status.value}"


def _latest_due(engine: Engine, job: Record, now: int) -> tuple[Sequence[Record], bool]:
    """Return the latest runs that are not only times to come, and whether there may be older ones."""
    found: list[Record] = []
    for number, run in enumerate(recent_runs(engine, job), 1):
        if run.status not in SCHEDULED or run.attempt or run.due_at <= now:
            found.append(run)
        if found and number >= FEW_RUNS:
            return found, True
    return found, False


def _stopped_gates(engine: Engine, job: Record, run: Record) -> list[Reason]:
    """Say at which stopped gates a run that is to come will have to wait. Raise Unavailable."""
    if job.status is not Status.ACTIVE and run.status not in SCHEDULED:
        return []
    gate = gate_of_slot(run.slot) if run.status is Status.PENDING else None
    return explain_stopped_gates(engine, job.tenant, job.gates, gate)


def _pool(engine: Engine, run: Record) -> list[Reason]:
    """Say that the stage no longer has the pool of a waiting run."""
    if run.status not in SCHEDULED or engine.deployment.pools.get(run.pool) is not None:
        return []
    stage = ", ".join(pool.name for pool in engine.deployment.pools.all)
    return [Reason("no_pool", f"this stage no longer has pool {run.pool!r}; it has {stage}")]


def _workers(engine: Engine, run: Record, definition: Definition | None, now: int) -> list[Reason]:
    """Say which worker a due run of a pull pool waits for: one that has it, or that is missing or full."""
    pool = engine.deployment.pools.get(run.pool)
    if definition is None or pool is None or pool.kind is not PoolKind.PULL or not _waits_in_queue(run, now):
        return []
    workers = engine.registry.workers()
    turn = whose_turn(run.run_id, [worker for worker in workers if worker.tenant in (None, run.tenant)], now)
    if turn is not None:
        return [Reason("assigned", turn)]
    needs = worker_needs(definition.target, definition.requirements, definition.timeout_seconds)
    lacking = why_no_worker(pool.name, run.tenant, needs, workers, now, alone=run.losses > 0)
    if lacking is None or lacking.code != NO_ROOM:
        return [] if lacking is None else [lacking]
    full = with_holders(engine, run.tenant, {lacking: (run, needs)}, workers, now)
    return [full.get(lacking, lacking)]


def _waiting_behind(engine: Engine, run: Record) -> list[Reason]:
    """Say that runs wait while this one has a place of a full worker. Raise Unavailable."""
    pool = engine.deployment.pools.get(run.pool)
    if run.status is not Status.RUNNING or run.worker is None or pool is None or pool.kind is not PoolKind.PULL:
        return []
    worker = engine.registry.find(run.worker)
    if worker is None or worker.tenant not in (None, run.tenant):
        return []
    waiting = engine.queues.visible(run.pool, run.priority)
    found = holds_up(worker, queue_key(run.pool, run.priority), waiting)
    return [] if found is None else [found]


def _waits_in_queue(run: Record, now: int) -> bool:
    return run.status is Status.DISPATCHED and run.due_at <= now

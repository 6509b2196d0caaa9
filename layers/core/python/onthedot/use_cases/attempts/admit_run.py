"""Before a stamped run starts: read its job, and let it run, skip it with a reason, or have it wait its turn."""

from dataclasses import dataclass
from typing import Final

from onthedot.domain.ids import fresh_generation, is_stamped, job_id_of
from onthedot.domain.runs import lifecycle
from onthedot.domain.runs.records import TERMINAL, Definition, Record, Status
from onthedot.domain.runs.still_scheduled import why_not_scheduled
from onthedot.domain.schedules.recurrence import OverlapPolicy
from onthedot.domain.workers.pools import missing, needs_of
from onthedot.ports import Deadline, Engine, Moved, Refused, RunMessage
from onthedot.use_cases.dispatch.send_runs import send_runs
from onthedot.use_cases.workflows.notify_children import notify_children

LEAST_WAIT_MS: Final = 2_000
LONGEST_WAIT_MS: Final = 60_000
SEND_PATIENCE_MS: Final = 5_000


@dataclass(frozen=True, slots=True)
class Admitted:
    """`definition` is the job's present one, but for the payload of an event's run; None where it carries its own."""

    definition: Definition | None


@dataclass(frozen=True, slots=True)
class NotNow:
    """Settled without a start: the message has served."""

    what: str


def admit_run(engine: Engine, message: RunMessage, *, by_name: bool = False) -> Admitted | NotNow:
    """`by_name`: the very worker was chosen, which may be of another pool than the job's."""
    if not is_stamped(message.run_id):
        return Admitted(None)
    job = engine.store.get(job_id_of(message.run_id))
    why = why_not_scheduled(job, message.run_id)
    if why is not None or job is None:
        return _skip(engine, message, why or "job deleted", job)
    if not by_name and _needs_other_workers(engine, job, message):
        return _reroute(engine, job, message)
    if job.recurrence is None or job.recurrence.overlap is OverlapPolicy.ALLOW:
        return Admitted(job.definition)
    return _take_turn(engine, job, job.recurrence.overlap, message)


def _needs_other_workers(engine: Engine, job: Record, message: RunMessage) -> bool:
    """A change of the job may have made it one for another pool after this run was stamped."""
    pool = engine.deployment.pools.get(message.pool)
    if pool is None or job.definition is None or job.pool == message.pool:
        return False
    definition = job.definition
    needs = needs_of(definition.target, definition.requirements, definition.timeout_seconds)
    return bool(missing(pool, needs))


def _reroute(engine: Engine, job: Record, message: RunMessage) -> NotNow:
    now = engine.clock.now()
    run = engine.store.get(message.run_id)
    if run is None or run.generation != message.generation or run.status is not Status.DISPATCHED:
        return NotNow("stale")
    why = f"its job needs workers of pool {job.pool} by now"
    move = lifecycle.reroute(run, job.pool, now, why, generation=fresh_generation(), deployment=engine.deployment)
    if not isinstance(engine.store.move(move), Refused):
        send_runs(engine, [lifecycle.applied(run, move)], Deadline(now + SEND_PATIENCE_MS))
    return NotNow(why)


def _skip(engine: Engine, message: RunMessage, why: str, job: Record | None) -> NotNow:
    makes_graph = job is None or job.workflow == job.run_id
    run = engine.store.get(message.run_id) if makes_graph else None
    move = lifecycle.skip(message.run_id, message.generation, engine.clock.now(), why, engine.deployment, half_done=run)
    outcome = engine.store.move(move)
    ended = outcome.run if isinstance(outcome, Moved) else outcome.current
    if ended is not None:
        notify_children(engine, ended)
    return NotNow(f"skipped: {why}")


def _take_turn(engine: Engine, job: Record, overlap: OverlapPolicy, message: RunMessage) -> Admitted | NotNow:
    """The run that started last is named on the job; while it has not ended, this one skips or waits."""
    last_started_run = None
    if job.last_started_run not in (None, message.run_id):
        last_started_run = engine.store.get(job.last_started_run or "")
    if last_started_run is None or last_started_run.status in TERMINAL:
        taken = job.last_started_run == message.run_id or isinstance(
            engine.store.move(lifecycle.name_last_started(job, message.run_id)), Moved
        )
        return Admitted(job.definition) if taken else _wait(engine, message, "another run takes its turn")
    if overlap is OverlapPolicy.SKIP:
        return _skip(engine, message, f"overlap: run {last_started_run.run_id} has not ended (policy skip)", job)
    return _wait(engine, message, f"overlap: waits for run {last_started_run.run_id}")


def _wait(engine: Engine, message: RunMessage, why: str) -> NotNow:
    """Come again later; the longer it waits, the longer the steps."""
    now = engine.clock.now()
    run = engine.store.get(message.run_id)
    if run is None or run.generation != message.generation or run.status is not Status.DISPATCHED:
        return NotNow("stale")
    at = now + min(max((now - run.nominal_at) // 4, LEAST_WAIT_MS), LONGEST_WAIT_MS)
    move = lifecycle.postpone(run, at, now, why, generation=fresh_generation(), deployment=engine.deployment)
    if not isinstance(engine.store.move(move), Refused):
        send_runs(engine, [lifecycle.applied(run, move)], Deadline(now + SEND_PATIENCE_MS))
    return NotNow(why)

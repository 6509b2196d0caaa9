"""Check a run before it starts: it is in time, its job still schedules it, the pool is right, and it is its turn.

The last three are checks of a stamped run. A run that may not start now is settled at once: skipped with a reason, sent
to another pool, or put on the list of runs that wait for their turn.
"""

from dataclasses import dataclass

from onthedot.core import lifecycle, patience
from onthedot.core.engine import Core
from onthedot.core.find_pool import GONE_WHY, why_not_scheduled
from onthedot.core.ids import fresh_generation, is_stamped, job_id_of
from onthedot.core.keep_jobs import keep_jobs
from onthedot.core.moves import Move, applied
from onthedot.core.outcomes import current_record, is_record_written, is_written
from onthedot.core.pools import missing, needs_of
from onthedot.core.ports import Deadline, RunMessage
from onthedot.core.records import TERMINAL, Definition, Record, Status
from onthedot.core.send import send_runs
from onthedot.core.skip_expired import skip_expired
from onthedot.core.start_window import is_over, why_expired
from onthedot.schedules.choices import OverlapPolicy


@dataclass(frozen=True, slots=True)
class MayStart:
    """The decision that the run may start."""

    definition: Definition | None
    """The job's present definition, without the payload of an event's run. None: the run carries its own definition."""
    gates: tuple[str, ...] | None = None
    """The gates that the job names now. None: the run names its own."""
    turn: str | None = None
    """The job, if its next run may wait for the end of this one."""


@dataclass(frozen=True, slots=True)
class Settled:
    """The decision that the run does not start by this message, which may be deleted."""

    what: str


def check_before_start(engine: Core, message: RunMessage, *, assigned: bool = False) -> MayStart | Settled:
    """Check the run of a message, and settle it when it may not start. Raise Unavailable.

    `assigned`: the run is assigned to the worker that starts it, which may be of another pool than the job's.
    """
    if message.start_by is not None and (late := _skip_expired(engine, message, message.start_by)) is not None:
        return late
    if not is_stamped(message.run_id):
        return MayStart(None)
    job = engine.store.get(job_id_of(message.run_id))
    why = why_not_scheduled(job, message.run_id)
    if why is not None or job is None:
        return _skip(engine, message, why or GONE_WHY)
    keep_jobs(engine, [job], Deadline.after(engine.clock.now(), patience.SEND_MS))
    if not assigned and _needs_other_workers(engine, job, message):
        return _reroute(engine, job, message)
    if job.recurrence is None or job.recurrence.overlap is OverlapPolicy.ALLOW:
        return MayStart(job.definition, job.gates)
    return _take_turn(engine, job, job.recurrence.overlap, message)


def _skip_expired(engine: Core, message: RunMessage, start_by: int) -> Settled | None:
    """End the run if the time for its first start is over. None: it is not, or another process has moved the run."""
    if not is_over(start_by, engine.clock.now()):
        return None
    run = _dispatched_run(engine, message)
    return Settled(f"skipped: {why_expired(run)}") if run is not None and skip_expired(engine, run) else None


def _needs_other_workers(engine: Core, job: Record, message: RunMessage) -> bool:
    """Return whether the job was changed, after this run was stamped, so that this pool cannot run it."""
    pool = engine.deployment.pools.get(message.pool)
    if pool is None or job.definition is None or job.pool == message.pool:
        return False
    definition = job.definition
    needs = needs_of(definition.target, definition.requirements, definition.timeout_seconds)
    return bool(missing(pool, needs))


def _reroute(engine: Core, job: Record, message: RunMessage) -> Settled:
    """Send the run to its job's present pool."""
    now = engine.clock.now()
    run = _dispatched_run(engine, message)
    if run is None:
        return Settled("stale")
    why = _as_redriven(run, f"its job needs workers of pool {job.pool} by now")
    move = lifecycle.reroute(run, job.pool, now, why, generation=fresh_generation(), deployment=engine.deployment)
    _move_and_send(engine, run, move)
    return Settled(why)


def _skip(engine: Core, message: RunMessage, why: str) -> Settled:
    """End the run as skipped. A redriven run becomes a dead letter again, so that its failure is not forgotten."""
    now = engine.clock.now()
    run = engine.store.get(message.run_id)
    if run is not None and lifecycle.is_redriven(run) and run.generation == message.generation:
        move = lifecycle.fail_again(run, now, why, engine.deployment)
    else:
        move = lifecycle.skip(message.run_id, message.generation, now, why, engine.deployment, half_done=run)
    ended = current_record(engine.store.move(move))
    if ended is not None:
        engine.notify_children(ended)
    return Settled(f"skipped: {why}")


def _take_turn(engine: Core, job: Record, overlap: OverlapPolicy, message: RunMessage) -> MayStart | Settled:
    """Let the run start if the job's run that started last has ended. Otherwise skip this run, or let it wait.

    The job names the run that started last. Before this run may start, the job names this run instead. A redriven run
    waits for its turn under both policies, because a client asked for it.
    """
    may_start = MayStart(job.definition, job.gates, job.job_id if overlap is OverlapPolicy.QUEUE else None)
    if job.last_started_run == message.run_id:
        return may_start
    last_started_run = None if job.last_started_run is None else engine.store.get(job.last_started_run)
    if last_started_run is None or last_started_run.status in TERMINAL:
        if may_start.turn is not None and message.woken is None and engine.points.is_turn_awaited(engine, job):
            return _wait(engine, job, message, "overlap: other runs wait before it")
        if _name_last_started(engine, job, message.run_id):
            return may_start
        return _wait(engine, job, message, "overlap: another run takes its turn")
    if overlap is OverlapPolicy.SKIP and not _is_redriven(engine, message):
        return _skip(engine, message, f"overlap: run {last_started_run.run_id} has not ended (policy skip)")
    return _wait(engine, job, message, f"overlap: waits for run {last_started_run.run_id}")


def _name_last_started(engine: Core, job: Record, run_id: str) -> bool:
    outcome = engine.store.move(lifecycle.name_last_started(job, run_id))
    return is_written(outcome, lambda current: current.last_started_run == run_id)


def _is_redriven(engine: Core, message: RunMessage) -> bool:
    run = engine.store.get(message.run_id)
    return run is not None and lifecycle.is_redriven(run)


def _wait(engine: Core, job: Record, message: RunMessage, why: str) -> Settled:
    """Put the run on the list of its job's runs that wait. The end of the run that started last wakes the first one."""
    run = _dispatched_run(engine, message)
    if run is None:
        return Settled("stale")
    why = _as_redriven(run, why)
    engine.points.wait_for_turn(engine, message, job, why)
    return Settled(why)


def _as_redriven(run: Record, why: str) -> str:
    """Return the reason why the run waits. It says of a redriven run that it is one, until the run starts."""
    return f"{lifecycle.REDRIVEN_WHY}; {why}" if lifecycle.is_redriven(run) else why


def _move_and_send(engine: Core, run: Record, move: Move) -> None:
    """Reschedule the run and send it, unless another process has moved it meanwhile."""
    moved = applied(run, move)
    if is_record_written(moved, engine.store.move(move)) and moved.status is Status.DISPATCHED:
        send_runs(engine, [moved], Deadline.after(engine.clock.now(), patience.SEND_MS))


def _dispatched_run(engine: Core, message: RunMessage) -> Record | None:
    """Return the run that the message names, if it waits for its start and was not scheduled again since."""
    run = engine.store.get(message.run_id)
    if run is None or run.generation != message.generation or run.status is not Status.DISPATCHED:
        return None
    return run

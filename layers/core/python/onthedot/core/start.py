"""Start the attempt that a message names, on every kind of worker. A message may be delivered twice.

Before it starts, a run is checked: it is in time, its job still schedules it, the pool is right, and it is its turn. A
run that may not start now is settled at once: skipped with a reason, sent to another pool, or put on the list of runs
that wait for their turn.

A run reads its definition from its job, and a job that has ended expires. Its last run can live longer: it may be
retried for weeks, wait for a worker, or be redriven. So the start of a run, the redrive and the sweep extend the expiry
of its job when that is near (`keep_jobs`). A run that starts soon after the end of its job costs no write.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from onthedot.core import lifecycle, patience
from onthedot.core.engine import Core, Listed, Permit
from onthedot.core.errors import Unavailable
from onthedot.core.find_pool import GONE_WHY, why_not_scheduled
from onthedot.core.gate_names import gate_of_slot
from onthedot.core.ids import fresh_generation, is_stamped, job_id_of
from onthedot.core.moves import Move, applied
from onthedot.core.outcomes import current_record, is_record_written, is_written
from onthedot.core.payloads import with_own_payload
from onthedot.core.pools import missing, needs_of
from onthedot.core.ports import Deadline, RunMessage
from onthedot.core.records import SCHEDULED, TERMINAL, Definition, Kind, Record, Status
from onthedot.core.send import send_runs
from onthedot.core.start_window import has_expired, is_over, why_expired
from onthedot.schedules.choices import OverlapPolicy

TRIES: Final = 8


def skip_expired(engine: Core, run: Record, deadline: Deadline | None = None) -> bool:
    """End the run as skipped if it was not started in time, and notify its children. Return whether it has ended so.

    A run that another process moves meanwhile is left to that process. Raise Unavailable.
    """
    for _ in range(TRIES):
        now = engine.clock.now()
        if run.status not in SCHEDULED or not has_expired(run, now):
            return False
        current = current_record(engine.store.move(lifecycle.skip_expired(run, now, engine.deployment)))
        if current is None or current.generation != run.generation:
            return False
        if current.status is Status.SKIPPED:
            with suppress(Unavailable):
                engine.notify_children(current, deadline)
            return True
        if current.status is not run.status:
            return False
        run = current  # a child was added meanwhile
    raise Unavailable(f"{run.run_id} keeps changing; try again")


WAITED_MS: Final = 86_400_000
"""The sweep reads the job of a run that has waited for this long."""


def keep_jobs(engine: Core, jobs: Iterable[Record], deadline: Deadline) -> None:
    """Extend the expiry of these jobs, if they have ended and expire soon. A later step repeats a write that failed."""
    now = engine.clock.now()
    moves = [lifecycle.keep_for_run(job, now, engine.deployment) for job in jobs]
    if wanted := [move for move in moves if move is not None]:
        with suppress(Unavailable):
            engine.store.move_many(wanted, deadline)


def keep_jobs_of(engine: Core, runs: Sequence[Record], deadline: Deadline) -> None:
    now = engine.clock.now()
    job_ids = {run.job_id for run in runs if run.kind is Kind.STAMPED and now - run.due_at > WAITED_MS}
    if job_ids:
        with suppress(Unavailable):
            keep_jobs(engine, engine.store.get_many(sorted(job_ids), deadline).found.values(), deadline)


@dataclass(frozen=True, slots=True)
class MayStart:
    definition: Definition | None
    """The job's current definition, without the payload of an event's run. None: the run carries its own definition."""
    gates: tuple[str, ...] | None = None
    """The gates that the job names now. None: the run names its own."""
    turn: str | None = None
    """The job, if its next run may wait for the end of this one."""


@dataclass(frozen=True, slots=True)
class Done:
    """The message is no longer needed and may be deleted."""

    what: str
    run: Record | None = field(default=None, compare=False, repr=False)
    """The run, if this worker has performed it."""


def check_before_start(engine: Core, message: RunMessage, *, assigned: bool = False) -> MayStart | Done:
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


def _skip_expired(engine: Core, message: RunMessage, start_by: int) -> Done | None:
    if not is_over(start_by, engine.clock.now()):
        return None
    run = _dispatched_run(engine, message)
    return Done(f"skipped: {why_expired(run)}") if run is not None and skip_expired(engine, run) else None


def _needs_other_workers(engine: Core, job: Record, message: RunMessage) -> bool:
    """Return whether the job was changed, after this run was stamped, so that this pool cannot run it."""
    pool = engine.deployment.pools.get(message.pool)
    if pool is None or job.definition is None or job.pool == message.pool:
        return False
    definition = job.definition
    needs = needs_of(definition.target, definition.requirements, definition.timeout_seconds)
    return bool(missing(pool, needs))


def _reroute(engine: Core, job: Record, message: RunMessage) -> Done:
    now = engine.clock.now()
    run = _dispatched_run(engine, message)
    if run is None:
        return Done("stale")
    why = _as_redriven(run, f"its job now needs workers of pool {job.pool}")
    move = lifecycle.reroute(run, job.pool, now, why, generation=fresh_generation(), deployment=engine.deployment)
    moved = applied(run, move)
    if is_record_written(moved, engine.store.move(move)):
        send_if_dispatched(engine, moved)
    return Done(why)


def _skip(engine: Core, message: RunMessage, why: str) -> Done:
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
    return Done(f"skipped: {why}")


def _take_turn(engine: Core, job: Record, overlap: OverlapPolicy, message: RunMessage) -> MayStart | Done:
    """Let the run start if the job's run that started last has ended. Otherwise skip this run, or let it wait.

    The job names the run that started last. A redriven run waits under both policies, because a client asked for it.
    """
    may_start = MayStart(job.definition, job.gates, job.job_id if overlap is OverlapPolicy.QUEUE else None)
    if job.last_started_run == message.run_id:
        return may_start
    last_started_run = None if job.last_started_run is None else engine.store.get(job.last_started_run)
    if last_started_run is None or last_started_run.status in TERMINAL:
        if may_start.turn is not None and message.woken is None and engine.points.is_turn_awaited(engine, job):
            return _wait(engine, job, message, "overlap: other runs wait before it")
        outcome = engine.store.move(lifecycle.name_last_started(job, message.run_id))
        if is_written(outcome, lambda current: current.last_started_run == message.run_id):
            return may_start
        return _wait(engine, job, message, "overlap: another run takes its turn")
    run = engine.store.get(message.run_id) if overlap is OverlapPolicy.SKIP else None
    if overlap is OverlapPolicy.SKIP and (run is None or not lifecycle.is_redriven(run)):
        return _skip(engine, message, f"overlap: run {last_started_run.run_id} has not ended (policy skip)")
    return _wait(engine, job, message, f"overlap: waits for run {last_started_run.run_id}")


def _wait(engine: Core, job: Record, message: RunMessage, why: str) -> Done:
    """Put the run on the list of its job's runs that wait. The end of the run that started last wakes the first one."""
    run = _dispatched_run(engine, message)
    if run is None:
        return Done("stale")
    why = _as_redriven(run, why)
    engine.points.wait_for_turn(engine, message, job, why)
    return Done(why)


def _as_redriven(run: Record, why: str) -> str:
    """Return the reason why the run waits. It says of a redriven run that it is one, until the run starts."""
    return f"{lifecycle.REDRIVEN_WHY}; {why}" if lifecycle.is_redriven(run) else why


def _dispatched_run(engine: Core, message: RunMessage) -> Record | None:
    run = engine.store.get(message.run_id)
    if run is None or run.generation != message.generation or run.status is not Status.DISPATCHED:
        return None
    return run


NEAR_MS: Final = 1_000
"""A worker waits this long for the rate of a gate. For longer, the run gets an instant and holds no worker."""
ASK_AGAIN_MS: Final = 1_000
"""When a message is delivered again whose run's gates were too busy to answer."""
CLOSED_MS: Final = 30_000
"""When a message is delivered again that came while the stage was closed."""
LONGEST_CHECK_MS: Final = 5_000
"""The gates that a job named when it was read count for this long."""


@dataclass(frozen=True, slots=True)
class Waits(Done):
    """The run waits at a gate now."""


@dataclass(frozen=True, slots=True)
class Redeliver:
    """The message is still needed: the queue delivers it again after this time."""

    after_ms: int
    why: str


Verdict = Done | Redeliver


@dataclass(frozen=True, slots=True)
class Started:
    run: Record
    definition: Definition | None


FitCheck = Callable[[RunMessage, Definition | None], Verdict | None]
"""Decides whether the worker can take the run now, from the message and a stamped run's definition. None: it can."""


def start_run(
    engine: Core,
    message: RunMessage,
    worker_id: str,
    check_fit: FitCheck | None = None,
    *,
    assigned: bool = False,
    near_ms: int = NEAR_MS,
) -> Started | Verdict:
    """Start the run that the message names, if it is still scheduled, is due, and no other attempt is alive.

    `assigned`: the run is assigned to this worker, so the pool of its job does not count. `near_ms` is how long the
    worker can wait for the rate of a gate. Raise Unavailable.
    """
    closed = engine.points.why_closed(engine)
    if closed is not None:
        return Redeliver(CLOSED_MS, closed)
    began = engine.clock.now()
    checked = check_before_start(engine, message, assigned=assigned)
    if isinstance(checked, Done):
        return _dropped(engine, message, checked)
    refusal = None if check_fit is None else check_fit(message, checked.definition)
    if refusal is not None:
        return _dropped(engine, message, refusal) if isinstance(refusal, Done) else refusal
    if engine.clock.now() - began > LONGEST_CHECK_MS:
        return Redeliver(ASK_AGAIN_MS, "the worker was stopped, and the job may name other gates now")
    gates = message.gates if checked.gates is None else checked.gates
    permit = _ask(engine, message, gates, checked.turn, near_ms)
    if not isinstance(permit, Permit):
        return permit
    return _start(engine, message, worker_id, permit, checked.definition)


def definition_of(engine: Core, run: Record) -> Definition | None:
    if run.definition is not None or not is_stamped(run.run_id):
        return run.definition
    job = engine.store.get(job_id_of(run.run_id))
    return None if job is None else job.definition


def _dropped(engine: Core, message: RunMessage, done: Done) -> Verdict:
    """Drop a message before its run has asked any gate. Its run may be on a list, and its wake belongs to the next."""
    run = engine.store.get(message.run_id)
    if run is not None:
        _flag_again(engine, run)
    return _passed_on(engine, message, done)


def _passed_on(engine: Core, message: RunMessage, verdict: Verdict) -> Verdict:
    if isinstance(verdict, Done) and message.woken is not None:
        engine.points.pass_on(engine, message)
    return verdict


def _flag_again(engine: Core, run: Record) -> None:
    if gate_of_slot(run.slot) is not None:
        engine.points.flag_again(engine, run)


def _ask(engine: Core, message: RunMessage, gates: Sequence[str], turn: str | None, near_ms: int) -> Permit | Verdict:
    """Ask the run's gates, if it has any, for its start. A run that they refuse waits on a list."""
    began = engine.clock.now()
    if not gates and turn is None and not engine.points.is_limited(engine, message.tenant):
        at = engine.clock.now()
        if at - began <= patience.ASK_MS:
            return Permit(at, fresh_generation())
    answer = engine.points.ask(engine, message, gates, turn, near_ms)
    if answer is None:
        return Redeliver(ASK_AGAIN_MS, "its gates did not answer in time")
    if isinstance(answer, Listed):
        return Waits(f"waits at gate {answer.gate}")
    if isinstance(answer, Record):
        return _passed_on(engine, message, _settle(engine, message, answer, engine.clock.now()))
    return answer


def _start(
    engine: Core, message: RunMessage, worker_id: str, permit: Permit, definition: Definition | None
) -> Started | Verdict:
    move = lifecycle.start(
        message.run_id,
        message.generation,
        now=permit.at,
        worker=worker_id,
        attempt_token=permit.token,
        held=permit.held,
        timeout_seconds=None if definition is None else definition.timeout_seconds,
    )
    current = current_record(engine.store.move(move))
    if current is None or current.status is not Status.RUNNING or current.attempt_token != permit.token:
        verdict = _settle(engine, message, current, permit.at)
    elif lifecycle.lease_is_over(current, now := engine.clock.now()):
        # The worker was stopped while it started the run, so another attempt may begin at any time.
        verdict = take_over(engine, current, now)
    else:
        return Started(current, with_own_payload(definition or current.definition, current))
    if permit.held:
        engine.points.give_back(engine, message, permit)
    return _passed_on(engine, message, verdict)


def _settle(engine: Core, message: RunMessage, current: Record | None, now: int) -> Verdict:
    if current is None:
        return Done("stale")
    engine.notify_children(current)  # the process that ended the run died before it notified them
    if current.generation != message.generation:
        _flag_again(engine, current)
        return Done("stale")
    if current.status is Status.RUNNING and lifecycle.lease_is_over(current, now):
        return take_over(engine, current, now)
    if current.status is Status.RUNNING:
        left = (current.lease_until or now) + lifecycle.CLOCK_MARGIN_MS - now
        return Redeliver(left + 1000, "another attempt is alive")
    if current.status is Status.DISPATCHED:
        return Redeliver(current.due_at - now, "early")
    return Done(f"already {current.status}")


def take_over(engine: Core, run: Record, now: int) -> Verdict:
    """Declare lost an attempt whose lease is over or whose process is gone, by the move that the sweep would make."""
    move = end_lost_attempt(engine, run, now, fresh_generation())
    lost = applied(run, move)
    outcome = engine.store.move(move)
    if is_record_written(lost, outcome):
        engine.give_back_places(run)
        send_if_dispatched(engine, lost)
    current = current_record(outcome)
    if current is not None:
        engine.notify_children(current)  # this write, or an earlier one, may have ended the run
    return Done("lost attempt taken back")


def end_lost_attempt(engine: Core, run: Record, now: int, generation: str) -> Move:
    end = lifecycle.take_back if engine.points.was_never_begun(engine, run, now) else lifecycle.lose
    return end(run, now, generation=generation, deployment=engine.deployment)


def send_if_dispatched(engine: Core, run: Record) -> None:
    """Send a run that is near. A run that cannot be sent now stays in its watch slot, for the sweep."""
    if run.status is Status.DISPATCHED:
        send_runs(engine, [run], Deadline.after(engine.clock.now(), patience.SEND_MS))

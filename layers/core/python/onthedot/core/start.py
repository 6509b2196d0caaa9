"""Start the attempt that a message names, on every kind of worker. A message may be delivered twice."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from onthedot.core import lifecycle, patience
from onthedot.core.check_before_start import Settled, check_before_start
from onthedot.core.engine import Core
from onthedot.core.gate_names import gate_of_slot
from onthedot.core.ids import fresh_generation, is_stamped, job_id_of
from onthedot.core.moves import Move, applied
from onthedot.core.outcomes import current_record, is_record_written
from onthedot.core.payloads import with_own_payload
from onthedot.core.points import Listed, Permit
from onthedot.core.ports import Deadline, RunMessage
from onthedot.core.records import Definition, Record, Status
from onthedot.core.send import send_runs

NEAR_MS: Final = 1_000
"""A worker waits this long for the rate of a gate. For longer, the run gets an instant and holds no worker."""
ASK_AGAIN_MS: Final = 1_000
"""When a message is delivered again whose run's gates were too busy to answer."""
CLOSED_MS: Final = 30_000
"""When a message is delivered again that came while the stage was closed."""
LONGEST_CHECK_MS: Final = 5_000
"""The gates that a job named when it was read count for this long."""


@dataclass(frozen=True, slots=True)
class Done:
    """The verdict that a message is not needed any more and may be deleted."""

    what: str
    run: Record | None = field(default=None, compare=False, repr=False)
    """The run, if this worker has performed it."""


@dataclass(frozen=True, slots=True)
class Waits(Done):
    """The verdict that the run waits at a gate now, so that its message is not needed any more."""


@dataclass(frozen=True, slots=True)
class Redeliver:
    """The verdict that a message is still needed: the queue delivers it again after this time."""

    after_ms: int
    why: str


Verdict = Done | Redeliver
"""The decision about a message whose run this worker has not started."""


@dataclass(frozen=True, slots=True)
class Started:
    """An attempt that this worker owns, and the definition of its work."""

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
    return _check_and_start(engine, message, worker_id, check_fit, assigned=assigned, near_ms=near_ms)


def _check_and_start(
    engine: Core, message: RunMessage, worker_id: str, check_fit: FitCheck | None, *, assigned: bool, near_ms: int
) -> Started | Verdict:
    began = engine.clock.now()
    checked = check_before_start(engine, message, assigned=assigned)
    if isinstance(checked, Settled):
        return _dropped(engine, message, checked.what)
    refusal = None if check_fit is None else check_fit(message, checked.definition)
    if isinstance(refusal, Done):
        return _dropped(engine, message, refusal.what)
    if refusal is not None:
        return refusal
    if engine.clock.now() - began > LONGEST_CHECK_MS:
        return Redeliver(ASK_AGAIN_MS, "the worker was stopped, and the job may name other gates by now")
    gates = message.gates if checked.gates is None else checked.gates
    permit = _ask(engine, message, gates, checked.turn, near_ms)
    if not isinstance(permit, Permit):
        return permit
    return _start_with(engine, message, worker_id, permit, checked.definition)


def _start_with(
    engine: Core, message: RunMessage, worker_id: str, permit: Permit, definition: Definition | None
) -> Started | Verdict:
    run = _start(engine, message, worker_id, permit, definition)
    if isinstance(run, Record):
        return Started(run, with_own_payload(definition or run.definition, run))
    if permit.held:
        engine.points.give_back(engine, message, permit)
    return _passed_on(engine, message, run)


def definition_of(engine: Core, run: Record) -> Definition | None:
    """Return the run's own definition, or the present one of its job."""
    if run.definition is not None or not is_stamped(run.run_id):
        return run.definition
    job = engine.store.get(job_id_of(run.run_id))
    return None if job is None else job.definition


def _dropped(engine: Core, message: RunMessage, what: str) -> Done:
    """Drop a message before its run has asked any gate. Its run may be on a list, and its wake belongs to the next."""
    run = engine.store.get(message.run_id)
    if run is not None:
        _flag_again(engine, run)
    done = Done(what)
    _passed_on(engine, message, done)
    return done


def _passed_on(engine: Core, message: RunMessage, verdict: Verdict) -> Verdict:
    """Let another run have the wake of a run that will not start."""
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
) -> Record | Verdict:
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
        return _settle(engine, message, current, permit.at)
    now = engine.clock.now()
    return take_over(engine, current, now) if _is_too_late(current, now) else current


def _is_too_late(run: Record, now: int) -> bool:
    """Return whether the worker was stopped while it started the run, so that another attempt may begin at any time."""
    return lifecycle.lease_is_over(run, now)


def _settle(engine: Core, message: RunMessage, current: Record | None, now: int) -> Verdict:
    """Decide about a message whose run could not be started, from the run as it is stored."""
    if current is not None:
        engine.notify_children(current)  # the process that ended the run died before it notified them
    if current is None or current.generation != message.generation:
        if current is not None:
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
    """Return the move that ends an attempt whose lease is over, and schedules the next one."""
    end = lifecycle.take_back if engine.points.was_never_begun(engine, run, now) else lifecycle.lose
    return end(run, now, generation=generation, deployment=engine.deployment)


def send_if_dispatched(engine: Core, run: Record) -> None:
    """Send a run that is near. A run that cannot be sent now stays in its watch slot, for the sweep."""
    if run.status is Status.DISPATCHED:
        send_runs(engine, [run], Deadline.after(engine.clock.now(), patience.SEND_MS))

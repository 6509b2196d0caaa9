"""Start the attempt that a message names, on every kind of worker. A message may be delivered twice."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from onthedot.core import lifecycle, patience
from onthedot.core.check_before_start import Settled, check_before_start
from onthedot.core.ids import fresh_generation, is_stamped, job_id_of
from onthedot.core.moves import applied
from onthedot.core.outcomes import current_record, is_record_written
from onthedot.core.ports import Deadline, RunMessage
from onthedot.core.records import Definition, Record, Status
from onthedot.core.send import send_runs
from onthedot.engine import Engine
from onthedot.events.payloads import with_own_payload
from onthedot.gates.ask import NEAR_MS, Denied, Permit, TooSoon, ask_gates
from onthedot.gates.give_back import NO_PAGE, give_back, give_back_places
from onthedot.gates.wait import flag_again, pass_on, wait_at_gate, wait_for_rate
from onthedot.workers.lost import end_lost_attempt
from onthedot.workflows.notify import notify_children

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
    engine: Engine,
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
    stage = engine.stage.read()
    if not stage.is_open:
        return Redeliver(CLOSED_MS, stage.why_closed)
    return _check_and_start(engine, message, worker_id, check_fit, assigned=assigned, near_ms=near_ms)


def _check_and_start(
    engine: Engine, message: RunMessage, worker_id: str, check_fit: FitCheck | None, *, assigned: bool, near_ms: int
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
    permit = ask_gates(engine, message, gates, fresh_generation(), near_ms)
    if isinstance(permit, Permit) and checked.turn is not None:
        permit = replace(permit, held=(*permit.held, f"{NO_PAGE}#{checked.turn.named}"))
    run = _start_with(engine, message, worker_id, permit, checked.definition)
    if not isinstance(run, Record):
        return run
    return Started(run, with_own_payload(checked.definition or run.definition, run))


def definition_of(engine: Engine, run: Record) -> Definition | None:
    """Return the run's own definition, or the present one of its job."""
    if run.definition is not None or not is_stamped(run.run_id):
        return run.definition
    job = engine.store.get(job_id_of(run.run_id))
    return None if job is None else job.definition


def _dropped(engine: Engine, message: RunMessage, what: str) -> Done:
    """Drop a message before its run has asked any gate. Its run may be on a list, and its wake belongs to the next."""
    run = engine.store.get(message.run_id)
    if run is not None:
        flag_again(engine, run)
    pass_on(engine, message)
    return Done(what)


def _start_with(
    engine: Engine,
    message: RunMessage,
    worker_id: str,
    permit: Permit | Denied | TooSoon | None,
    definition: Definition | None,
) -> Record | Verdict:
    """Start the run if its gates have places for it. Otherwise it waits at the gate that refuses it."""
    if permit is None:
        return Redeliver(ASK_AGAIN_MS, "its gates did not answer in time")
    if not isinstance(permit, Permit):
        return _wait(engine, message, permit)
    run = _start(engine, message, worker_id, permit, definition)
    if not isinstance(run, Record) and permit.holder is not None:
        give_back(engine, message.tenant, permit.held, permit.holder)
    if isinstance(run, Done):
        pass_on(engine, message)
    return run


def _wait(engine: Engine, message: RunMessage, refused: Denied | TooSoon) -> Verdict:
    if isinstance(refused, TooSoon):
        moved = wait_for_rate(engine, message, refused)
    else:
        moved = wait_at_gate(engine, message, refused)
    if moved is None:
        return Waits(f"waits at gate {refused.at.gate.named}")
    verdict = _settle(engine, message, moved, engine.clock.now())
    if isinstance(verdict, Done):
        pass_on(engine, message)
    return verdict


def _start(
    engine: Engine, message: RunMessage, worker_id: str, permit: Permit, definition: Definition | None
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


def _settle(engine: Engine, message: RunMessage, current: Record | None, now: int) -> Verdict:
    """Decide about a message whose run could not be started, from the run as it is stored."""
    if current is not None and current.notify_pending is not None:
        notify_children(engine, current)  # the process that ended the run died before it notified them
    if current is None or current.generation != message.generation:
        if current is not None:
            flag_again(engine, current)
        return Done("stale")
    if current.status is Status.RUNNING and lifecycle.lease_is_over(current, now):
        return take_over(engine, current, now)
    if current.status is Status.RUNNING:
        left = (current.lease_until or now) + lifecycle.CLOCK_MARGIN_MS - now
        return Redeliver(left + 1000, "another attempt is alive")
    if current.status is Status.DISPATCHED:
        return Redeliver(current.due_at - now, "early")
    return Done(f"already {current.status}")


def take_over(engine: Engine, run: Record, now: int) -> Verdict:
    """Declare lost an attempt whose lease is over or whose process is gone, by the move that the sweep would make."""
    move = end_lost_attempt(engine, run, now, fresh_generation())
    lost = applied(run, move)
    outcome = engine.store.move(move)
    if is_record_written(lost, outcome):
        give_back_places(engine, run)
        send_if_dispatched(engine, lost)
    current = current_record(outcome)
    if current is not None:
        notify_children(engine, current)  # this write, or an earlier one, may have ended the run
    return Done("lost attempt taken back")


def send_if_dispatched(engine: Engine, run: Record) -> None:
    """Send a run that is near. A run that cannot be sent now stays in its watch slot, for the sweep."""
    if run.status is Status.DISPATCHED:
        send_runs(engine, [run], Deadline.after(engine.clock.now(), patience.SEND_MS))

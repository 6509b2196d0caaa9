"""The beginning of an attempt, wherever it runs: admit what a message names, and start it. It may happen twice."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from onthedot.domain.ids import fresh_generation, is_stamped, job_id_of
from onthedot.domain.runs import lifecycle
from onthedot.domain.runs.records import Definition, Record, Status
from onthedot.ports import Deadline, Engine, Moved, RunMessage
from onthedot.use_cases.attempts.admit_run import NotNow, admit_run
from onthedot.use_cases.dispatch.send_runs import send_runs
from onthedot.use_cases.events.event_payloads import with_own_payload
from onthedot.use_cases.workflows.notify_children import notify_children

SEND_PATIENCE_MS: Final = 5_000


@dataclass(frozen=True, slots=True)
class Done:
    """The message has served and may be deleted."""

    what: str


@dataclass(frozen=True, slots=True)
class GiveBack:
    """The message is still needed: deliver it again after this time."""

    after_ms: int
    why: str


Verdict = Done | GiveBack


@dataclass(frozen=True, slots=True)
class Started:
    """An attempt that is ours, and what it is to do."""

    run: Record
    definition: Definition | None


Judge = Callable[[RunMessage, Definition | None], Verdict | None]
"""Whether this worker can take the run now; it is given a stamped run's definition. None: it can."""


def start_run(
    engine: Engine, message: RunMessage, worker_id: str, judge: Judge | None = None, *, by_name: bool = False
) -> Started | Verdict:
    """Start what the message names, if it is still meant to run, is due, and nobody else runs it.

    `by_name`: the run was handed to this very worker, whatever its pool promises.
    """
    admitted = admit_run(engine, message, by_name=by_name)
    if isinstance(admitted, NotNow):
        return Done(admitted.what)
    refusal = None if judge is None else judge(message, admitted.definition)
    if refusal is not None:
        return refusal
    begun = _begin(engine, message, worker_id)
    if not isinstance(begun, Record):
        return begun
    return Started(begun, with_own_payload(admitted.definition or begun.definition, begun))


def definition_of(engine: Engine, run: Record) -> Definition | None:
    """What the run is to do: its own definition, or its job's present one."""
    if run.definition is not None or not is_stamped(run.run_id):
        return run.definition
    job = engine.store.get(job_id_of(run.run_id))
    return None if job is None else job.definition


def _begin(engine: Engine, message: RunMessage, worker_id: str) -> Record | Verdict:
    now = engine.clock.now()
    attempt_token = fresh_generation()
    move = lifecycle.start(message.run_id, message.generation, now=now, worker=worker_id, attempt_token=attempt_token)
    outcome = engine.store.move(move)
    current = outcome.run if isinstance(outcome, Moved) else outcome.current
    if current is not None and current.notify_pending is not None:
        notify_children(engine, current)  # whoever ended it died before its children knew
    if current is None or current.generation != message.generation:
        return Done("stale")
    if current.status is Status.RUNNING and current.attempt_token == attempt_token:
        return current  # started by us, even if the reply to the first try was lost
    if current.status is Status.RUNNING and lifecycle.lease_is_over(current, now):
        return _take_over(engine, current, now)
    if current.status is Status.RUNNING:
        left = (current.lease_until or now) + lifecycle.CLOCK_MARGIN_MS - now
        return GiveBack(left + 1000, "another attempt is alive")
    if current.status is Status.DISPATCHED:
        return GiveBack(current.fire_at - now, "early")
    return Done(f"already {current.status}")


def _take_over(engine: Engine, run: Record, now: int) -> Verdict:
    """The attempt before this delivery died: the same transition that the sweep would make."""
    move = lifecycle.lose(run, now, generation=fresh_generation(), deployment=engine.deployment)
    outcome = engine.store.move(move)
    if isinstance(outcome, Moved):
        lost = lifecycle.applied(run, move)
        send_if_dispatched(engine, lost)
        notify_children(engine, lost)
    return Done("lost attempt taken back")


def send_if_dispatched(engine: Engine, run: Record) -> None:
    """What cannot be sent now stands in its watch slot."""
    if run.status is Status.DISPATCHED:
        send_runs(engine, [run], Deadline.after(engine.clock, SEND_PATIENCE_MS))

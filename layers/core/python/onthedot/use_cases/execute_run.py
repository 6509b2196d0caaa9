"""One delivered message: hold it to the millisecond, start, perform, finish. Everything here may happen twice.

Whatever dies in between leaves the run in its watch slot, and the message comes again.
"""

import random
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, Protocol

from onthedot.domain import lifecycle
from onthedot.domain.errors import Unavailable
from onthedot.domain.ids import fresh_generation
from onthedot.domain.retry import GiveUp, after_failure
from onthedot.domain.run import Definition, Move, Record, RetryPolicy, Status
from onthedot.ports import Answer, Call, Deadline, Engine, Moved, Received, Refused, RunMessage, Target
from onthedot.use_cases.admit_run import NotNow, admit_run
from onthedot.use_cases.hand_over import hand_over
from onthedot.use_cases.payloads import load_payload

HOLD_MS: Final = 2_000
"""A message that comes earlier than this before its time is given back instead of held."""
SEND_PATIENCE_MS: Final = 5_000
FINISH_PAUSE_MS: Final = 500
ERROR_CHARACTERS: Final = 300


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


class Leases(Protocol):
    """Keeps the lease of a running attempt alive while its target works."""

    def keeping(self, run: Record) -> AbstractContextManager[None]: ...


@dataclass(frozen=True, slots=True)
class Worker:
    """Who executes, and with what."""

    engine: Engine
    target: Target
    leases: Leases
    worker_id: str
    chance: random.Random


def execute_run(worker: Worker, received: Received) -> Verdict:
    """Run what the message names, if it is still meant to run. Never raises for a passing failure."""
    clock = worker.engine.clock
    early = received.message.fire_at - clock.now()
    if early > HOLD_MS:
        return GiveBack(early, "early")
    clock.sleep_until(received.message.fire_at)
    try:
        admitted = admit_run(worker.engine, received.message)
        if isinstance(admitted, NotNow):
            return Done(admitted.what)
        begun = _begin(worker, received.message)
        if not isinstance(begun, Record):
            return begun
        with worker.leases.keeping(begun):
            definition = admitted.definition or begun.definition
            answer = _perform(worker, begun, definition)
            return _end(worker, begun, definition, answer)
    except Unavailable as error:
        return GiveBack(min(1000 << received.receive_count, lifecycle.LEASE_MS), f"unavailable: {error}")


def _begin(worker: Worker, message: RunMessage) -> Record | Verdict:
    engine = worker.engine
    now = engine.clock.now()
    token = fresh_generation()
    move = lifecycle.start(message.run_id, message.generation, now=now, worker=worker.worker_id, attempt_token=token)
    outcome = engine.store.move(move)
    current = outcome.run if isinstance(outcome, Moved) else outcome.current
    if current is None or current.generation != message.generation:
        return Done("stale")
    if current.status is Status.RUNNING and current.attempt_token == token:
        return current  # started by us, even if the reply to the first try was lost
    if current.status is Status.RUNNING and lifecycle.lease_is_over(current, now):
        return _take_over(worker, current, now)
    if current.status is Status.RUNNING:
        left = (current.lease_until or now) + lifecycle.CLOCK_MARGIN_MS - now
        return GiveBack(left + 1000, "another attempt is alive")
    if current.status is Status.DISPATCHED:
        return GiveBack(current.fire_at - now, "early")
    return Done(f"already {current.status}")


def _take_over(worker: Worker, run: Record, now: int) -> Verdict:
    """The attempt before this delivery died: the same transition that the sweep would make."""
    move = lifecycle.lose(run, now, generation=fresh_generation(), plan=worker.engine.plan)
    outcome = worker.engine.store.move(move)
    if isinstance(outcome, Moved):
        _send_if_dispatched(worker, lifecycle.applied(run, move))
    return Done("lost attempt taken back")


def _perform(worker: Worker, run: Record, definition: Definition | None) -> Answer:
    if definition is None:
        return Answer(ok=False, error="nothing says what this run is to do", retryable=False)
    try:
        payload = load_payload(worker.engine.blobs, definition)
    except Unavailable as error:
        return Answer(ok=False, error=str(error))
    return worker.target.perform(
        Call(
            run_id=run.run_id,
            job_id=run.job_id,
            attempt=run.attempt,
            nominal_at=run.nominal_at,
            definition=definition,
            payload=payload,
            timeout_ms=definition.timeout_seconds * 1000,
        )
    )


def _end(worker: Worker, run: Record, definition: Definition | None, answer: Answer) -> Verdict:
    now = worker.engine.clock.now()
    policy = RetryPolicy() if definition is None else definition.retry
    move = _finishing_move(worker, run, policy, answer, now)
    outcome = _move_persistently(worker.engine, move, now + lifecycle.LEASE_MS)
    if isinstance(outcome, Refused) and _asks_to_stop(outcome.current, run):
        move = lifecycle.stop(run, now, answer.error or "", worker.engine.plan)
        outcome = _move_persistently(worker.engine, move, now + lifecycle.LEASE_MS)
    if isinstance(outcome, Refused) and not _shows(outcome.current, run, move):
        return Done("fenced off")
    _send_if_dispatched(worker, lifecycle.applied(run, move))
    return Done(move.to.value.lower())


def _finishing_move(worker: Worker, run: Record, policy: RetryPolicy, answer: Answer, now: int) -> Move:
    plan = worker.engine.plan
    if answer.ok:
        return lifecycle.succeed(run, now, answer.result, plan)
    error = (answer.error or "failed without a reason")[:ERROR_CHARACTERS]
    decision = after_failure(
        policy,
        run.failures + 1,
        error=error,
        retryable=answer.retryable,
        retry_after_ms=answer.retry_after_ms,
        now=now,
        chance=worker.chance,
    )
    if isinstance(decision, GiveUp):
        return lifecycle.fail(run, now, error=error, why=decision.why, plan=plan)
    return lifecycle.retry(run, now, at=decision.at, error=error, generation=fresh_generation(), plan=plan)


def _move_persistently(engine: Engine, move: Move, until: int) -> Moved | Refused:
    """The work is done: a store that is away for a moment must not make us do it again."""
    while True:
        try:
            return engine.store.move(move)
        except Unavailable:
            if engine.clock.now() + FINISH_PAUSE_MS >= until:
                raise
            engine.clock.sleep_until(engine.clock.now() + FINISH_PAUSE_MS)


def _asks_to_stop(current: Record | None, run: Record) -> bool:
    """Our attempt still, but a cancel came while it ran: a retry is refused."""
    if current is None or current.status is not Status.RUNNING or current.attempt_token != run.attempt_token:
        return False
    return current.cancel_requested is not None


def _shows(current: Record | None, run: Record, move: Move) -> bool:
    """Whether what refused our finish is that very finish, its reply lost."""
    if current is None or current.attempt != run.attempt or current.attempt_token != run.attempt_token:
        return False
    return current.status is move.to and current.generation == move.changes.get("generation", run.generation)


def _send_if_dispatched(worker: Worker, run: Record) -> None:
    """What cannot be sent now stands in its watch slot."""
    if run.status is Status.DISPATCHED:
        hand_over(worker.engine, [run], Deadline(worker.engine.clock.now() + SEND_PATIENCE_MS))

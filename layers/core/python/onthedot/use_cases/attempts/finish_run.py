"""Finish an attempt, on every kind of worker: store how it ended, once, and send the run when it is tried again."""

import random
from dataclasses import replace
from typing import Final

from onthedot.domain.errors import Unavailable
from onthedot.domain.ids import fresh_generation
from onthedot.domain.runs import lifecycle
from onthedot.domain.runs.lifecycle import Failure
from onthedot.domain.runs.moves import Move
from onthedot.domain.runs.records import Definition, Record, RetryPolicy, Status
from onthedot.domain.runs.retry import GiveUp, after_failure
from onthedot.domain.targets.redaction import redacted
from onthedot.ports import Answer, Engine, Moved, Refused
from onthedot.use_cases.attempts.results import store_result
from onthedot.use_cases.attempts.start_run import send_if_dispatched
from onthedot.use_cases.gates.give_back_places import give_back_places, wake_late
from onthedot.use_cases.gates.wake import Accept
from onthedot.use_cases.outcomes import is_written
from onthedot.use_cases.workflows.notify_children import notify_children

FINISH_PAUSE_MS: Final = 500
ERROR_CHARACTERS: Final = 300
CLASS_CHARACTERS: Final = 60
FENCED_OFF: Final = "fenced off"


def finish_run(
    engine: Engine,
    run: Record,
    definition: Definition | None,
    answer: Answer,
    *,
    chance: random.Random,
    patience_ms: int = lifecycle.LEASE_MS,
    accept: Accept | None = None,
) -> str:
    """Store the end of the attempt. Return the run's new status in lower case.

    Then give back its places at gates, and wake the next run at each. `accept` may take such a run.

    Return FENCED_OFF when another attempt owns the run by now: then nothing was written. Raise Unavailable when the
    store fails for longer than the patience.
    """
    now = engine.clock.now()
    until = now + patience_ms
    move = _finishing_move(engine, run, definition, answer, now=now, chance=chance)
    outcome = _move_persistently(engine, move, until)
    while isinstance(outcome, Refused) and (grown := _with_new_children(outcome.current, run)) is not None:
        run = grown
        move = _finishing_move(engine, run, definition, answer, now=now, chance=chance)
        outcome = _move_persistently(engine, move, until)
    if isinstance(outcome, Refused) and _asks_to_stop(outcome.current, run):
        move = lifecycle.stop(run, now, failure_of(answer), engine.deployment)
        outcome = _move_persistently(engine, move, until)
    if not is_written(outcome, lambda current: _shows_finish(current, run, move)):
        give_back_places(engine, run)
        return FENCED_OFF
    late = give_back_places(engine, run, accept)
    stored = outcome.run if isinstance(outcome, Moved) else None
    finished = stored or lifecycle.applied(run, move)
    send_if_dispatched(engine, finished)
    notify_children(engine, finished)
    wake_late(engine, late, accept)
    return move.to.value.lower()


def _finishing_move(
    engine: Engine, run: Record, definition: Definition | None, answer: Answer, *, now: int, chance: random.Random
) -> Move:
    deployment = engine.deployment
    if answer.ok:
        stored = store_result(engine.blobs, run, answer.result)
        return lifecycle.succeed(run, now, stored.inline, deployment, result_ref=stored.ref)
    failure = failure_of(answer)
    if run.cancel_requested is not None:
        return lifecycle.stop(run, now, failure, deployment)
    if answer.lost:
        return lifecycle.lose(run, now, generation=fresh_generation(), deployment=deployment, how=failure.error)
    if answer.handed_back:
        return lifecycle.hand_back(
            run,
            now,
            failure,
            generation=fresh_generation(),
            deployment=deployment,
            after_ms=answer.retry_after_ms or 0,
        )
    decision = after_failure(
        RetryPolicy() if definition is None else definition.retry,
        run.failures + 1,
        error=failure.error,
        retryable=answer.retryable,
        retry_after_ms=answer.retry_after_ms,
        now=now,
        chance=chance,
    )
    if isinstance(decision, GiveUp):
        return lifecycle.fail(run, now, failure=failure, why=decision.why, deployment=deployment)
    return lifecycle.retry(
        run, now, at=decision.at, failure=failure, generation=fresh_generation(), deployment=deployment
    )


def failure_of(answer: Answer) -> Failure:
    """Return the failure of an attempt, bounded and without secrets: it is stored and shown with the run."""
    error = redacted(answer.error or "failed without a reason")[:ERROR_CHARACTERS]
    return Failure(error, answer.error_class and answer.error_class[:CLASS_CHARACTERS])


def _move_persistently(engine: Engine, move: Move, until: int) -> Moved | Refused:
    """Apply the move, and try again while the store fails.

    The work is done, and must not be repeated because the store failed.
    """
    while True:
        try:
            return engine.store.move(move)
        except Unavailable:
            if engine.clock.now() + FINISH_PAUSE_MS >= until:
                raise
            engine.clock.sleep_until(engine.clock.now() + FINISH_PAUSE_MS)


def _with_new_children(current: Record | None, run: Record) -> Record | None:
    """Return the run with the children that were added while it ran, because the move that ends it must know them.

    None: there are none, or another attempt owns the run.
    """
    if current is None or current.status is not Status.RUNNING or current.attempt_token != run.attempt_token:
        return None
    if current.dependents == run.dependents:
        return None
    return replace(run, dependents=current.dependents, children=current.children)


def _asks_to_stop(current: Record | None, run: Record) -> bool:
    """Return whether the job was cancelled while this attempt ran: then the run is not tried again."""
    if current is None or current.status is not Status.RUNNING or current.attempt_token != run.attempt_token:
        return False
    return current.cancel_requested is not None


def _shows_finish(current: Record, run: Record, move: Move) -> bool:
    """Return whether the stored record is the result of this very move."""
    if current.attempt != run.attempt or current.attempt_token != run.attempt_token:
        return False
    return current.status is move.to and current.generation == move.changes.get("generation", run.generation)

"""The end of an attempt, wherever it ran: record what became of it, once, and send what is tried again."""

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
) -> str:
    """The run's status after it, in lower case; or that another attempt owns the run by now, and nothing was written.

    Raises Unavailable when the store stays away for longer than the patience.
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
    if isinstance(outcome, Refused) and not _shows(outcome.current, run, move):
        return FENCED_OFF
    finished = lifecycle.applied(run, move)
    send_if_dispatched(engine, finished)
    notify_children(engine, finished)
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
        return lifecycle.hand_back(run, now, failure.error, generation=fresh_generation(), deployment=deployment)
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
    """Bounded and without secrets: it is kept, and shown to whoever may see the run."""
    error = redacted(answer.error or "failed without a reason")[:ERROR_CHARACTERS]
    return Failure(error, answer.error_class and answer.error_class[:CLASS_CHARACTERS])


def _move_persistently(engine: Engine, move: Move, until: int) -> Moved | Refused:
    """The work is done: a store that is away for a moment must not make us do it again."""
    while True:
        try:
            return engine.store.move(move)
        except Unavailable:
            if engine.clock.now() + FINISH_PAUSE_MS >= until:
                raise
            engine.clock.sleep_until(engine.clock.now() + FINISH_PAUSE_MS)


def _with_new_children(current: Record | None, run: Record) -> Record | None:
    """Our attempt still, but others wait for it by now: its end has to name them."""
    if current is None or current.status is not Status.RUNNING or current.attempt_token != run.attempt_token:
        return None
    if current.dependents == run.dependents:
        return None
    return replace(run, dependents=current.dependents, children=current.children)


def _asks_to_stop(current: Record | None, run: Record) -> bool:
    """Our attempt still, but a cancel came while it ran: it is not tried again."""
    if current is None or current.status is not Status.RUNNING or current.attempt_token != run.attempt_token:
        return False
    return current.cancel_requested is not None


def _shows(current: Record | None, run: Record, move: Move) -> bool:
    """Whether what refused our finish is that very finish, its reply lost."""
    if current is None or current.attempt != run.attempt or current.attempt_token != run.attempt_token:
        return False
    return current.status is move.to and current.generation == move.changes.get("generation", run.generation)

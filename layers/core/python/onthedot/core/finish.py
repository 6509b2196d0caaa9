"""The end of an attempt: store its result, retry or end the run, and free what it held."""

import random
from dataclasses import replace
from typing import Final

from onthedot.core import lifecycle
from onthedot.core.choices import RetryPolicy
from onthedot.core.engine import Accept, Core
from onthedot.core.errors import Unavailable
from onthedot.core.ids import fresh_generation
from onthedot.core.lifecycle import Failure
from onthedot.core.moves import Move, applied
from onthedot.core.outcomes import is_written
from onthedot.core.ports import RESULT_BYTES, Answer, Blobs, Moved, Refused
from onthedot.core.records import Definition, Record, Status
from onthedot.core.retry import GiveUp, after_failure
from onthedot.core.schema import RESULTS, blobs_of
from onthedot.core.start import send_if_dispatched
from onthedot.targets.redaction import redacted

INLINE_BYTES: Final = 1024
"""Longer results are blobs, so that the record's last move stays cheap."""


def store_result(blobs: Blobs, run: Record, result: str | None) -> tuple[str | None, str | None]:
    """Return the result if it is short, else the key of the blob in which it was stored.

    The key of a long result belongs to this attempt alone, so writing it twice is harmless. The work is done, so a
    result that cannot be stored is cut, and says so.
    """
    content = (result or "").encode()
    if len(content) <= INLINE_BYTES:
        return result, None
    key = f"{blobs_of(run.tenant, RESULTS)}{run.run_id}/{run.attempt}-{run.attempt_token}"
    try:
        blobs.put(key, content[:RESULT_BYTES])
    except Unavailable as error:
        return f"{content[: INLINE_BYTES // 2].decode(errors='ignore')}… (cut: {error})"[:INLINE_BYTES], None
    return None, key


FINISH_PAUSE_MS: Final = 500
ERROR_CHARACTERS: Final = 300
CLASS_CHARACTERS: Final = 60
FENCED_OFF: Final = "fenced off"


def finish_run(
    engine: Core,
    run: Record,
    definition: Definition | None,
    answer: Answer,
    *,
    chance: random.Random,
    patience_ms: int = lifecycle.LEASE_MS,
    accept: Accept | None = None,
) -> str:
    """Store the end of the attempt. Return the run's new status in lower case.

    Then give back its places at gates, and wake the next run at each, which `accept` may take. Return FENCED_OFF, and
    write nothing, when another attempt owns the run. Raise Unavailable when the store fails for longer than
    `patience_ms`.
    """
    now = engine.clock.now()
    until = now + patience_ms
    while True:
        move = _finishing_move(engine, run, definition, answer, now=now, chance=chance)
        outcome = _move_persistently(engine, move, until)
        current = _still_running(outcome, run)
        if current is None or current.dependents == run.dependents:
            break
        # The move that ends the run must know the children that were added in the meantime.
        run = replace(run, dependents=current.dependents, children=current.children)
    if current is not None and current.cancel_requested is not None:
        # The job was cancelled in the meantime, so the run is not tried again.
        move = lifecycle.stop(run, now, failure_of(answer), engine.deployment)
        outcome = _move_persistently(engine, move, until)
    if not is_written(outcome, lambda current: _shows_finish(current, run, move)):
        engine.give_back_places(run)
        return FENCED_OFF
    late = engine.give_back_places(run, accept)
    stored = outcome.run if isinstance(outcome, Moved) else None
    finished = stored or applied(run, move)
    send_if_dispatched(engine, finished)
    engine.notify_children(finished)
    if late:
        engine.points.wake_late(engine, late, accept)
    return move.to.value.lower()


def _finishing_move(
    engine: Core, run: Record, definition: Definition | None, answer: Answer, *, now: int, chance: random.Random
) -> Move:
    deployment = engine.deployment
    if answer.ok:
        short, ref = store_result(engine.blobs, run, answer.result)
        return lifecycle.succeed(run, now, short, deployment, result_ref=ref)
    failure = failure_of(answer)
    if run.cancel_requested is not None:
        return lifecycle.stop(run, now, failure, deployment)
    if answer.lost:
        return lifecycle.lose(run, now, generation=fresh_generation(), deployment=deployment, how=failure.error)
    if answer.handed_back:
        after_ms = answer.retry_after_ms or 0
        return lifecycle.hand_back(
            run, now, failure, generation=fresh_generation(), deployment=deployment, after_ms=after_ms
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
    return lifecycle.retry(run, now, at=decision, failure=failure, generation=fresh_generation(), deployment=deployment)


def failure_of(answer: Answer) -> Failure:
    """Return the failure of an attempt, bounded and without secrets: it is stored and shown with the run."""
    error = redacted(answer.error or "failed without a reason")[:ERROR_CHARACTERS]
    return Failure(error, answer.error_class and answer.error_class[:CLASS_CHARACTERS])


def _move_persistently(engine: Core, move: Move, until: int) -> Moved | Refused:
    """Apply the move, and try again while the store fails: the work is done, and must not be repeated."""
    while True:
        try:
            return engine.store.move(move)
        except Unavailable:
            if engine.clock.now() + FINISH_PAUSE_MS >= until:
                raise
            engine.clock.sleep_until(engine.clock.now() + FINISH_PAUSE_MS)


def _still_running(outcome: Moved | Refused, run: Record) -> Record | None:
    current = outcome.current if isinstance(outcome, Refused) else None
    if current is None or current.status is not Status.RUNNING or current.attempt_token != run.attempt_token:
        return None
    return current


def _shows_finish(current: Record, run: Record, move: Move) -> bool:
    if current.attempt != run.attempt or current.attempt_token != run.attempt_token:
        return False
    return current.status is move.to and current.generation == move.changes.get("generation", run.generation)


CANCELLED: Final = "the job was cancelled"
FENCED: Final = "another attempt owns the run"
NOT_EXTENDED: Final = "the lease could not be extended"
OVERRUN: Final = "it ran past its timeout"
STOPPED: Final = "the worker was stopped"


def answer_for_stopped(reason: str, answer: Answer | None) -> Answer:
    """Return the answer to record for an attempt that was asked to stop for this reason.

    `answer` is the target's own answer, or None if the target did not end. A success stays a success. An attempt that
    the worker had to cut short is handed back, so that it does not count as a failure of the run.
    """
    if answer is not None and answer.ok:
        return answer
    if reason in (STOPPED, NOT_EXTENDED):
        return Answer(ok=False, handed_back=True, error=reason, error_class="released")
    if reason == OVERRUN:
        return Answer(ok=False, error=reason, error_class="timeout")
    if answer is not None and not answer.lost:
        return answer
    return Answer(ok=False, error=reason, error_class="cancelled", retryable=False)

"""What a pull worker says about a run it has: that it goes on, or what became of it. Stale attempts are refused."""

import random
from contextlib import suppress

from onthedot.domain.errors import JobNotFound, StaleAttempt, Unavailable
from onthedot.domain.runs import lifecycle
from onthedot.domain.runs.records import Record, Status
from onthedot.ports import Answer, Engine, Moved, Received
from onthedot.use_cases.attempts.finish_run import FENCED_OFF, failure_of, finish_run
from onthedot.use_cases.attempts.start_run import definition_of
from onthedot.use_cases.dispatch.send_runs import message_for
from onthedot.use_cases.workers.lease_runs import VISIBILITY_MS
from onthedot.use_cases.workers.receipts import SealedReceipt


def keep_lease(
    engine: Engine,
    tenant: str | None,
    run_id: str,
    attempt: int | None = None,
    receipt: str | SealedReceipt | None = None,
    *,
    worker_id: str | None = None,
) -> Record:
    """Extend the lease, and the hiding of its message. The run tells whether a cancel was asked for.

    Without the attempt's number it is the present one, if it is this worker's. Raises JobNotFound and StaleAttempt.
    """
    run = _read(engine, tenant, run_id)
    _refuse_stale(run, run.attempt if attempt is None else attempt, worker_id)
    outcome = engine.store.move(lifecycle.extend_lease(run, engine.clock.now()))
    if not isinstance(outcome, Moved) or outcome.run is None:
        raise StaleAttempt(f"attempt {run.attempt} of {run_id} ended meanwhile")
    if (received := _received(run, receipt)) is not None:
        # A message that comes too early finds the attempt alive, and is given back: no reason to stop it.
        with suppress(Unavailable):
            engine.queues.hide(received, VISIBILITY_MS)
    return outcome.run


def complete_run(
    engine: Engine,
    tenant: str | None,
    run_id: str,
    attempt: int,
    answer: Answer,
    *,
    receipt: str | SealedReceipt | None = None,
    worker_id: str | None = None,
    chance: random.Random,
    patience_ms: int = lifecycle.LEASE_MS,
) -> Record:
    """Record what became of the attempt, once; saying it again is harmless. The run as it is then.

    Raises JobNotFound, StaleAttempt and Unavailable.
    """
    run = _read(engine, tenant, run_id)
    if _says_so_already(run, attempt, answer):
        return run
    _refuse_stale(run, attempt, worker_id)
    finished = finish_run(engine, run, definition_of(engine, run), answer, chance=chance, patience_ms=patience_ms)
    now_there = _read(engine, tenant, run_id)
    if finished == FENCED_OFF and not _says_so_already(now_there, attempt, answer):
        raise StaleAttempt(f"attempt {attempt} of {run_id} is over: the run is {now_there.status}")
    if (received := _received(run, receipt)) is not None:
        engine.queues.delete(received)
    return now_there


def _read(engine: Engine, tenant: str | None, run_id: str) -> Record:
    run = engine.store.get(run_id)
    if run is None or run.run_id != run_id or tenant not in (None, run.tenant):
        raise JobNotFound(run_id)
    return run


def _refuse_stale(run: Record, attempt: int, worker_id: str | None) -> None:
    if run.status is not Status.RUNNING:
        raise StaleAttempt(f"attempt {attempt} of {run.run_id} is over: the run is {run.status}")
    if run.attempt != attempt:
        raise StaleAttempt(f"attempt {attempt} of {run.run_id} is over: attempt {run.attempt} runs")
    if worker_id not in (None, run.worker):
        raise StaleAttempt(f"attempt {attempt} of {run.run_id} is another worker's")


def _says_so_already(run: Record, attempt: int, answer: Answer) -> bool:
    """The same report arrived before, and only its reply was lost."""
    if run.status is Status.RUNNING and run.attempt == attempt:
        return False
    said = "succeeded" if answer.ok else "lost" if answer.lost else "released" if answer.handed_back else "failed"
    recorded = next((ended for ended in run.attempts if ended.number == attempt), None)
    if recorded is None:
        return False
    # A worker's own report of a loss reads otherwise than the loss that was found without it.
    told_by_it = said != "lost" or recorded.error == failure_of(answer).error
    return told_by_it and recorded.outcome in (said, "cancelled") and (recorded.outcome != "cancelled" or not answer.ok)


def _received(run: Record, receipt: str | SealedReceipt | None) -> Received | None:
    plain = receipt.opened(run) if isinstance(receipt, SealedReceipt) else receipt
    return None if plain is None else Received(message_for(run), plain, 1)

"""Record the reports of a pull worker about a run: that it still runs, or how it ended. Stale attempts are refused."""

import hashlib
import hmac
import random
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from onthedot.core import lifecycle
from onthedot.core.errors import JobNotFound, StaleAttempt, Unavailable
from onthedot.core.finish import FENCED_OFF, failure_of, finish_run
from onthedot.core.ports import Answer, Moved, Received
from onthedot.core.progress import ProgressReport
from onthedot.core.records import Definition, Record, Status
from onthedot.core.send import message_for
from onthedot.core.start import definition_of
from onthedot.engine import Engine
from onthedot.jobs.list_runs import read_own
from onthedot.workers.lease import VISIBILITY_MS
from onthedot.workers.registrations import end_wait

_SEAL_CHARACTERS: Final = 24


@dataclass(frozen=True, slots=True)
class SealedReceipt:
    """A receipt as a worker that has only an API token sends it back. It is valid for its own attempt only.

    A queue's receipt may be guessed, or be another run's. So the seal is made with the attempt token, which no view
    shows. A receipt whose seal does not fit touches no message.
    """

    text: str

    def opened(self, run: Record) -> str | None:
        """Return the queue's receipt. None: the receipt does not belong to this attempt of the run."""
        seal, _, receipt = self.text.partition(".")
        return receipt if hmac.compare_digest(seal.encode(), _seal(run, receipt).encode()) else None


def sealed(run: Record, receipt: str) -> str:
    return f"{_seal(run, receipt)}.{receipt}"


def _seal(run: Record, receipt: str) -> str:
    content = f"{run.run_id}/{run.attempt}/{receipt}".encode()
    return hmac.new((run.attempt_token or "").encode(), content, hashlib.sha256).hexdigest()[:_SEAL_CHARACTERS]


@dataclass(frozen=True, slots=True)
class Reported:
    run: Record
    definition: Definition | None
    """The definition that the attempt had. None: it was not read, because the report had arrived before."""


def keep_lease(
    engine: Engine,
    tenant: str | None,
    run_id: str,
    attempt: int | None = None,
    receipt: str | SealedReceipt | None = None,
    *,
    worker_id: str | None = None,
    progress: ProgressReport | None = None,
) -> Record:
    """Extend the lease and the visibility timeout of its message. The returned run says whether it must be cancelled.

    The same write stores a report of the attempt about its progress.

    Without the attempt's number, this extends the current attempt, if it is this worker's. Raise JobNotFound,
    StaleAttempt or Unavailable.
    """
    run = _read(engine, tenant, run_id)
    _refuse_stale(run, run.attempt if attempt is None else attempt, worker_id)
    outcome = engine.store.move(lifecycle.extend_lease(run, engine.clock.now(), progress))
    if not isinstance(outcome, Moved) or outcome.run is None:
        raise StaleAttempt(f"attempt {run.attempt} of {run_id} ended meanwhile")
    if (received := _received(run, receipt)) is not None:
        # A message that is delivered too early finds the attempt alive, and is delivered again later.
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
) -> Reported:
    """Store how the attempt ended, once. Raise JobNotFound, StaleAttempt or Unavailable."""
    run = _read(engine, tenant, run_id)
    if _is_reported(run, attempt, answer):
        return Reported(run, run.definition)
    _refuse_stale(run, attempt, worker_id)
    definition = definition_of(engine, run)
    finished = finish_run(engine, run, definition, answer, chance=chance, patience_ms=patience_ms)
    current = _read(engine, tenant, run_id)
    if finished == FENCED_OFF and not _is_reported(current, attempt, answer):
        raise StaleAttempt(f"attempt {attempt} of {run_id} is over: the run is {current.status}")
    if (received := _received(run, receipt)) is not None:
        with suppress(Unavailable):  # the message comes again and is dropped, because the attempt is over
            engine.queues.delete(received)
    end_wait(engine, worker_id)  # the worker has more room than its lease that waits has said
    return Reported(current, definition)


def _read(engine: Engine, tenant: str | None, run_id: str) -> Record:
    run = engine.store.get(run_id) if tenant is None else read_own(engine, tenant, run_id)
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


def _is_reported(run: Record, attempt: int, answer: Answer) -> bool:
    """Return whether the same report arrived before, and only its reply was lost."""
    if run.status is Status.RUNNING and run.attempt == attempt:
        return False
    recorded = next((ended for ended in run.attempts if ended.number == attempt), None)
    if recorded is None:
        return False
    # A loss that the worker reported has another text than a loss that the sweep found.
    if answer.outcome == "lost" and recorded.error != failure_of(answer).error:
        return False
    return recorded.outcome == answer.outcome or (recorded.outcome == "cancelled" and not answer.ok)


def _received(run: Record, receipt: str | SealedReceipt | None) -> Received | None:
    plain = receipt.opened(run) if isinstance(receipt, SealedReceipt) else receipt
    return None if plain is None else Received(message_for(run), plain, 1)

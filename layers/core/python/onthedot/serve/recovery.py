"""What a server does at its start: send the runs again whose messages were lost with the process before it.

It does so while it answers and works already, because there may be a million of them.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from onthedot.core.errors import OnthedotError
from onthedot.core.ports import Deadline, SlotEntry
from onthedot.core.records import Kind, Record, Status
from onthedot.core.send import send_runs
from onthedot.core.shards import ServedShards
from onthedot.core.start import take_over
from onthedot.engine import Engine
from onthedot.serve.worker import PREFIX
from onthedot.wiring.embedded import Embedded

_LOG: Final = logging.getLogger(__name__)
_PATIENCE_MS: Final = 60_000
FAILED_SECONDS: Final = 1.0


class Recovery:
    """A thread that recovers once. While the file fails, it begins again: to send a run twice does no harm."""

    def __init__(self, embedded: Embedded, worker_id: str) -> None:
        self._embedded = embedded
        self._worker_id = worker_id
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="recovery", daemon=True)

    def start(self) -> None:
        """Let ticks begin at once, and begin to send. Raise Unavailable."""
        engine = self._embedded.engine
        self._embedded.progress.forget_ticks(range(ServedShards(engine.shards, engine.deployment.shards).count()))
        self._thread.start()

    def stop(self) -> None:
        """End within one page of runs."""
        self._stopping.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._stopping.is_set():
            try:
                counts = recover(self._embedded, self._worker_id, self._stopping.is_set)
            except Exception:  # noqa: BLE001 (whatever is wrong, these runs must be sent)
                _LOG.exception("not_recovered")
                self._stopping.wait(FAILED_SECONDS)
                continue
            _LOG.info("recovered", extra=counts)
            return


def recover(embedded: Embedded, worker_id: str, is_over: Callable[[], bool] = lambda: False) -> dict[str, int]:
    """Send each run in a watch slot again, and take back the attempts of the process before. Return the counts.

    This process owns the file. So an attempt of an embedded worker with another id, which still runs by its record, is
    dead. A run that cannot be handled here is left to the sweep.
    """
    counts = {"sent": 0, "taken_back": 0, "left": 0}
    for entries in _watched(embedded):
        if is_over():
            break
        dead, others = _divided(_read(embedded.engine, entries), worker_id)
        deadline = Deadline.after(embedded.engine.clock.now(), _PATIENCE_MS)
        send_runs(embedded.engine, others, deadline)
        counts["sent"] += len(others)
        for run in dead:
            counts["taken_back" if _taken_over(embedded, run) else "left"] += 1
    return counts


def _divided(runs: Sequence[Record], worker_id: str) -> tuple[list[Record], list[Record]]:
    """Return the runs whose attempts are dead, and the others except those of this process."""
    dead: list[Record] = []
    others: list[Record] = []
    for run in runs:
        is_embedded = run.status is Status.RUNNING and (run.worker or "").startswith(PREFIX)
        if not is_embedded:
            others.append(run)
        elif run.worker != worker_id:
            dead.append(run)
    return dead, others


def _watched(embedded: Embedded) -> Iterator[Sequence[SlotEntry]]:
    after = ("", "")
    while True:
        page = embedded.runs.watched(after)
        yield [entry for entry in page.items if entry.kind is not Kind.GATE]
        if page.cursor is None:
            return
        slot, _, run_id = page.cursor.partition("/")
        after = (slot, run_id)


def _read(engine: Engine, entries: Sequence[SlotEntry]) -> list[Record]:
    deadline = Deadline.after(engine.clock.now(), _PATIENCE_MS)
    read = engine.store.get_many([entry.run_id for entry in entries], deadline)
    return [run for run in read.found.values() if run.status in (Status.DISPATCHED, Status.RUNNING)]


def _taken_over(embedded: Embedded, run: Record) -> bool:
    engine = embedded.engine
    try:
        embedded.writer.run(lambda: take_over(engine, run, engine.clock.now()))
    except Exception as error:  # noqa: BLE001 (whatever is wrong with this run, the others must be taken back)
        # A service that fails is not a fault of ours, so its log needs no traceback. The sweep finds the run.
        known = isinstance(error, OnthedotError)
        _LOG.warning(
            "not_taken_back", extra={"run": run.run_id, "error": str(error)}, exc_info=None if known else error
        )
        return False
    return True

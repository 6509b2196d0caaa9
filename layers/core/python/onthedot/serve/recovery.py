"""What a server does at its start: send the runs again whose messages were lost with the process before it."""

import logging
from collections.abc import Iterator, Sequence
from typing import Final

from onthedot.domain.errors import OnthedotError
from onthedot.domain.runs.records import Kind, Record, Status
from onthedot.ports import Deadline, Engine, SlotEntry
from onthedot.serve.worker import PREFIX
from onthedot.use_cases.attempts.start_run import take_over
from onthedot.use_cases.dispatch.send_runs import send_runs
from onthedot.wiring.embedded import Embedded

_LOG: Final = logging.getLogger(__name__)
_PATIENCE_MS: Final = 60_000


def recover(embedded: Embedded) -> dict[str, int]:
    """Send each run in a watch slot again, and take back the attempts of the process before. Return the counts.

    This process owns the file, so an attempt of an embedded worker that still runs by its record is dead. A run that
    cannot be handled here is left to the sweep.
    """
    counts = {"sent": 0, "taken_back": 0, "left": 0}
    embedded.progress.forget_ticks()
    for entries in _watched(embedded):
        runs = _read(embedded.engine, entries)
        dead = [run for run in runs if run.status is Status.RUNNING and (run.worker or "").startswith(PREFIX)]
        others = [run for run in runs if run not in dead]
        deadline = Deadline.after(embedded.engine.clock.now(), _PATIENCE_MS)
        send_runs(embedded.engine, others, deadline)
        counts["sent"] += len(others)
        for run in dead:
            counts["taken_back" if _taken_over(embedded, run) else "left"] += 1
    return counts


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
    except OnthedotError as error:
        _LOG.warning("not_taken_back", extra={"run": run.run_id, "error": str(error)})
        return False
    return True

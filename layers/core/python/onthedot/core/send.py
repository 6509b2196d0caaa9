"""Read slots page by page, and send runs to their queues."""

from collections.abc import Iterator, Sequence

from onthedot.core.engine import Core
from onthedot.core.ports import Deadline, Page, RunMessage, SlotEntry
from onthedot.core.records import Kind, Record


def message_for(run: Record | SlotEntry) -> RunMessage:
    return RunMessage(
        run_id=run.run_id,
        generation=run.generation,
        due_at=run.due_at,
        tenant=run.tenant,
        priority=run.priority,
        pool=run.pool,
        gates=run.gates,
        woken=run.woken if isinstance(run, Record) else None,
        start_by=run.start_by,
        trace=run.trace if isinstance(run, Record) else None,
    )


def send_runs(engine: Core, runs: Sequence[Record | SlotEntry], deadline: Deadline) -> int:
    """Send the runs' messages. Return how many could not be sent: these runs stay in a watch slot, for the sweep."""
    return len(engine.queues.send([message_for(run) for run in runs], deadline))


def read_slot_pages(engine: Core, slot: str, at_once: int) -> Iterator[Page[SlotEntry]]:
    """Yield the slot's entries in pages of at most `at_once`, the earliest first.

    The records that cannot be read come with the first page after they were found.
    """
    seen: set[str] = set()
    cursor: str | None = None
    while True:
        page = engine.store.read_slot(slot, cursor)
        fresh = [entry for entry in page.items if entry.run_id not in seen]
        seen.update(entry.run_id for entry in fresh)
        faulty = page.unreadable
        for start in range(0, max(len(fresh), 1), at_once):
            yield Page(fresh[start : start + at_once], None, faulty)
            faulty = ()
        cursor = page.cursor
        if cursor is None:
            return


def read_slot_entries(engine: Core, slot: str, at_once: int) -> Iterator[list[SlotEntry]]:
    """Yield the slot's runs and jobs that can be read, in lists of at most `at_once`, the earliest first. No gates."""
    for page in read_slot_pages(engine, slot, at_once):
        if entries := [entry for entry in page.items if entry.kind is not Kind.GATE]:
            yield entries

"""Read a slot of the due index page by page, and yield each run and each gate once."""

from collections.abc import Iterator

from onthedot.domain.runs.records import Kind
from onthedot.ports import Engine, Page, SlotEntry


def read_slot_pages(engine: Engine, slot: str, at_once: int) -> Iterator[Page[SlotEntry]]:
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


def read_slot_entries(engine: Engine, slot: str, at_once: int) -> Iterator[list[SlotEntry]]:
    """Yield the slot's runs and jobs that can be read, in lists of at most `at_once`, the earliest first. No gates."""
    for page in read_slot_pages(engine, slot, at_once):
        if entries := [entry for entry in page.items if entry.kind is not Kind.GATE]:
            yield entries

"""Read a slot of the due index page by page, and yield each run once."""

from collections.abc import Iterator

from onthedot.ports import Engine, SlotEntry


def read_slot_entries(engine: Engine, slot: str, at_once: int) -> Iterator[list[SlotEntry]]:
    """Yield the slot's entries in lists of at most `at_once`, the earliest first."""
    seen: set[str] = set()
    cursor: str | None = None
    while True:
        page = engine.store.read_slot(slot, cursor)
        fresh = [entry for entry in page.items if entry.run_id not in seen]
        seen.update(entry.run_id for entry in fresh)
        for start in range(0, len(fresh), at_once):
            yield fresh[start : start + at_once]
        cursor = page.cursor
        if cursor is None:
            return

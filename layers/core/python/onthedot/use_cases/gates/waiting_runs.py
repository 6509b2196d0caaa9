"""Read the waiting lists of a gate."""

import heapq
from collections import Counter
from typing import Final

from onthedot.domain.gates.names import waiting_slot
from onthedot.domain.runs.records import Priority
from onthedot.ports import Deadline, Engine, SlotEntry
from onthedot.use_cases.dispatch.set_aside import faults_of, set_aside
from onthedot.use_cases.gates.limited_gates import SeenGate

SET_ASIDE_MS: Final = 5_000


def first_waiting(engine: Engine, seen: SeenGate, priority: Priority, most: int) -> list[SlotEntry]:
    """Return the first runs of one priority, as the index shows them. Records that cannot be read are set aside."""
    parts = [waiting_slot(seen.gate, priority, part) for part in range(seen.state.parts or 1)]
    pages = [engine.store.read_slot(slot, limit=most) for slot in parts]
    for slot, page in zip(parts, pages, strict=True):
        if page.unreadable:
            deadline = Deadline.after(engine.clock.now(), SET_ASIDE_MS)
            set_aside(engine, Counter(), slot, faults_of(page.unreadable), deadline)
    return list(heapq.merge(*(page.items for page in pages), key=_order))[:most]


def is_list_empty(engine: Engine, seen: SeenGate) -> bool:
    """Return whether the index shows no run that waits at the gate."""
    return not any(first_waiting(engine, seen, priority, 1) for priority in seen.state.priorities)


def is_before(entry: SlotEntry, fire_at: int, run_id: str) -> bool:
    """Return whether the entry is before this run in their list."""
    return _order(entry) < (fire_at, run_id)


def _order(entry: SlotEntry) -> tuple[int, str]:
    return entry.fire_at, entry.run_id

"""Read the waiting lists of a gate."""

import heapq
from collections import Counter
from collections.abc import Sequence
from typing import Final

from onthedot.domain.gates.names import waiting_slot
from onthedot.domain.runs.records import Priority
from onthedot.ports import Deadline, Engine, SlotEntry
from onthedot.use_cases.dispatch.set_aside import faults_of, set_aside
from onthedot.use_cases.gates.limited_gates import SeenGate

SET_ASIDE_MS: Final = 5_000
MOST_COUNTED: Final = 1_000
"""Runs of a list that a look reads to count them."""
OLDEST: Final = "gate_oldest_seconds"
"""The name of the count that is the largest of its values, not their sum."""


def first_waiting(engine: Engine, seen: SeenGate, priority: Priority, most: int) -> list[SlotEntry]:
    """Return the first runs of one priority, as the index shows them. Records that cannot be read are set aside."""
    return list(heapq.merge(*_parts(engine, seen, priority, most), key=_order))[:most]


def count_waiting(engine: Engine, seen: SeenGate, counts: Counter[str]) -> int:
    """Return how many runs wait at the gate, and count them and the age of the oldest for the metrics.

    One read of each part of a list shows about 1,000 of its runs at most. Further runs are not counted.
    """
    number = 0
    for priority in seen.state.priorities:
        for entries in _parts(engine, seen, priority, MOST_COUNTED // (seen.state.parts or 1)):
            number += len(entries)
            for entry in entries[:1]:
                age = max(0, engine.clock.now() - entry.fire_at) // 1000
                counts[OLDEST] = max(counts[OLDEST], age)
    counts["gates_waiting"] += number
    return number


def is_list_empty(engine: Engine, seen: SeenGate) -> bool:
    """Return whether the index shows no run that waits at the gate."""
    return not any(first_waiting(engine, seen, priority, 1) for priority in seen.state.priorities)


def is_before(entry: SlotEntry, fire_at: int, run_id: str) -> bool:
    """Return whether the entry is before this run in their list."""
    return _order(entry) < (fire_at, run_id)


def _parts(engine: Engine, seen: SeenGate, priority: Priority, limit: int) -> list[Sequence[SlotEntry]]:
    """Return the beginning of each part of a list."""
    slots = [waiting_slot(seen.gate, priority, part) for part in range(seen.state.parts or 1)]
    pages = [engine.store.read_slot(slot, limit=limit) for slot in slots]
    for slot, page in zip(slots, pages, strict=True):
        if page.unreadable:
            deadline = Deadline.after(engine.clock.now(), SET_ASIDE_MS)
            set_aside(engine, Counter(), slot, faults_of(page.unreadable), deadline)
    return [page.items for page in pages]


def _order(entry: SlotEntry) -> tuple[int, str]:
    return entry.fire_at, entry.run_id

"""Read the waiting lists of a gate."""

import heapq
from collections import Counter
from collections.abc import Sequence
from typing import Final

from onthedot.domain.gates.names import waiting_slot
from onthedot.domain.runs.records import Priority
from onthedot.domain.runs.slots import bucket_of, shard_of
from onthedot.ports import Deadline, Engine, SlotEntry
from onthedot.use_cases.dispatch.set_aside import faults_of, set_aside
from onthedot.use_cases.gates.limited_gates import SeenGate

SET_ASIDE_MS: Final = 5_000
MOST_COUNTED: Final = 1_000
"""Runs of a gate that a look reads to count them."""
HOUR: Final = 60
"""Buckets."""
OLDEST: Final = "gate_oldest_seconds"
"""The name of the count that is the largest of its values, not their sum."""


def first_waiting(engine: Engine, seen: SeenGate, priority: Priority, most: int) -> list[SlotEntry]:
    """Return the first runs of one priority, as the index shows them. Records that cannot be read are set aside."""
    return list(heapq.merge(*_parts(engine, seen, priority, most), key=_order))[:most]


def note_oldest(engine: Engine, seen: SeenGate, counts: Counter[str]) -> bool:
    """Note the age of the oldest waiting run for the metrics. Return whether the index shows any."""
    firsts = [entry for priority in seen.state.priorities for entry in first_waiting(engine, seen, priority, 1)]
    for entry in firsts:
        counts[OLDEST] = max(counts[OLDEST], (engine.clock.now() - entry.fire_at) // 1000)
    return bool(firsts)


def add_counts(counts: Counter[str], more: Counter[str]) -> None:
    """Add counts. The oldest run of both is the older one."""
    oldest = max(counts[OLDEST], more[OLDEST])
    counts.update(more)
    if oldest:
        counts[OLDEST] = oldest
    else:
        del counts[OLDEST]


def count_waiting(engine: Engine, seen: SeenGate, buckets: int, counts: Counter[str]) -> None:
    """Count the waiting runs for the metrics once an hour. `buckets` is the time until the next look at the gate.

    A single read of each part of the lists shows about 1,000 runs of the gate at most. So the reads of a tick do not
    grow with the number of runs that wait.
    """
    bucket = bucket_of(engine.clock.now()) + shard_of(seen.gate.text, HOUR)
    if bucket // HOUR == (bucket + buckets) // HOUR:
        return
    lists = len(seen.state.priorities) * (seen.state.parts or 1)
    for priority in seen.state.priorities:
        parts = _parts(engine, seen, priority, MOST_COUNTED // lists)
        counts["gates_waiting"] += sum(len(entries) for entries in parts)


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

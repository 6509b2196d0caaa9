"""Read the waiting lists of a gate."""

import heapq
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from onthedot.core.choices import Priority
from onthedot.core.errors import Unavailable
from onthedot.core.gate_names import GateId, queue_gate, waiting_slot
from onthedot.core.ports import Deadline, SlotEntry
from onthedot.core.records import Status
from onthedot.core.set_aside import faults_of, set_aside
from onthedot.core.slots import DECISION_MS, Placement, bucket_of, queue_key, shard_of
from onthedot.engine import Engine
from onthedot.gates.flag import FRESH_MS, flag_gate
from onthedot.gates.limited import SeenGate
from onthedot.gates.state import GateState

SET_ASIDE_MS: Final = 5_000
MOST_COUNTED: Final = 1_000
"""Runs of a gate that a look reads to count them."""
HOUR: Final = 60
OLDEST: Final = "gate_oldest_seconds"
"""The name of the count that is the largest of its values, not their sum."""


def first_waiting(engine: Engine, seen: SeenGate, priority: Priority, most: int) -> list[SlotEntry]:
    """Return the first runs of one priority, as the index shows them. Records that cannot be read are set aside."""
    return list(heapq.merge(*_parts(engine, seen, priority, most), key=_order))[:most]


def note_oldest(engine: Engine, seen: SeenGate, counts: Counter[str]) -> bool:
    """Note the age of the oldest waiting run for the metrics. Return whether the index shows any."""
    firsts = [entry for priority in seen.state.priorities for entry in first_waiting(engine, seen, priority, 1)]
    for entry in firsts:
        counts[OLDEST] = max(counts[OLDEST], (engine.clock.now() - entry.due_at) // 1000)
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


def is_before(entry: SlotEntry, due_at: int, run_id: str) -> bool:
    return _order(entry) < (due_at, run_id)


def _parts(engine: Engine, seen: SeenGate, priority: Priority, limit: int) -> list[Sequence[SlotEntry]]:
    slots = [waiting_slot(seen.gate, priority, part) for part in range(seen.state.parts or 1)]
    pages = [engine.store.read_slot(slot, limit=limit) for slot in slots]
    for slot, page in zip(slots, pages, strict=True):
        if page.unreadable:
            deadline = Deadline.after(engine.clock.now(), SET_ASIDE_MS)
            set_aside(engine, Counter(), slot, faults_of(page.unreadable), deadline)
    return [page.items for page in pages]


def _order(entry: SlotEntry) -> tuple[int, str]:
    return entry.due_at, entry.run_id


_LOG: Final = logging.getLogger(__name__)
STATE_MS: Final = 2_000
"""How long a process uses the state of a queue's gate that it has read."""
LISTING_MS: Final = DECISION_MS - FRESH_MS
"""A run goes on a list within this time after the list was chosen. The flag may be a little older than that choice."""


@dataclass(frozen=True, slots=True)
class QueueList:
    """The waiting list of a queue, flagged a moment ago."""

    gate: GateId
    priority: Priority
    state: GateState

    @property
    def until(self) -> int:
        """The time until which runs may be put on the list by this flag."""
        return (self.state.flagged_at or 0) + DECISION_MS

    def slot_for(self, run_id: str) -> str:
        return waiting_slot(self.gate, self.priority, shard_of(run_id, self.state.parts or 1))


def flag_queue(engine: Engine, pool: str, priority: Priority, now: int, state: GateState | None = None) -> QueueList:
    gate = queue_gate(queue_key(pool, priority))
    return QueueList(gate, priority, flag_gate(engine, gate, priority, now, state))


def is_queue_closed(engine: Engine, pool: str, priority: Priority, now: int) -> bool:
    """Return whether the last tick that looked at the queue found it closed, as this process knows it."""
    state = _seen(engine, pool, priority, now)
    return state.is_flagged and priority in state.priorities


def place_near(engine: Engine, run_id: str, placed: Placement, now: int, *, pool: str, priority: Priority) -> Placement:
    """Return where a new run goes: on the list of its queue instead of the direct path, if the queue is closed.

    The caller stores the run within `LISTING_MS`. When the gate of the queue cannot be read or flagged, the run goes
    the direct path: its queue may take it anyway, and the sweep looks after it.
    """
    if placed.status is not Status.DISPATCHED or not is_queue_closed(engine, pool, priority, now):
        return placed
    try:
        found = flag_queue(engine, pool, priority, now, _seen(engine, pool, priority, now))
    except Unavailable as error:
        _forget(engine, pool, priority, error)
        return placed
    engine.known_gates[found.gate] = now, found.state
    return Placement(Status.PENDING, found.slot_for(run_id))


def _seen(engine: Engine, pool: str, priority: Priority, now: int) -> GateState:
    """Return the state of a queue's gate, at most two seconds old. One that cannot be read counts as not flagged."""
    gate = queue_gate(queue_key(pool, priority))
    known = engine.known_gates.get(gate)
    if known is None or not 0 <= now - known[0] < STATE_MS:
        try:
            known = engine.known_gates[gate] = now, engine.gates.read(gate)
        except Unavailable as error:
            return _forget(engine, pool, priority, error)
    return known[1]


def _forget(engine: Engine, pool: str, priority: Priority, error: Unavailable) -> GateState:
    """Take the queue for open for a moment, so that the runs of a batch do not all wait for a gate that fails."""
    _LOG.warning("queue_flag_unknown", extra={"queue": queue_key(pool, priority), "error": str(error)})
    open_gate = GateState()
    engine.known_gates[queue_gate(queue_key(pool, priority))] = engine.clock.now(), open_gate
    return open_gate

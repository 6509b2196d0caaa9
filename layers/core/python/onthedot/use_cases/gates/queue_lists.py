"""The waiting lists of run queues. Runs wait there while their queue is closed.

A tick closes a queue that has too many messages or takes none: it flags the gate of the queue. The API and the workers
read the flag before they send a near run, so that new runs do not overtake those that wait. The look at the queue
forgets the priority as soon as no run waits, and then near runs are sent directly again, long before the flag itself
is old enough to be taken away.
"""

import logging
from collections.abc import MutableMapping
from dataclasses import dataclass, replace
from typing import Final
from weakref import WeakKeyDictionary

from onthedot.domain.errors import Unavailable
from onthedot.domain.gates.names import GateId, queue_gate, waiting_slot
from onthedot.domain.gates.state import GateState
from onthedot.domain.runs.placement import Placement
from onthedot.domain.runs.queue_names import queue_key
from onthedot.domain.runs.records import Priority, Record, Status
from onthedot.domain.runs.slots import DECISION_MS, shard_of
from onthedot.ports import Engine, GateStore
from onthedot.use_cases.gates.flag_gate import FRESH_MS, flag_gate

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
        """Return the part of the list on which the run waits."""
        return waiting_slot(self.gate, self.priority, shard_of(run_id, self.state.parts or 1))


@dataclass(frozen=True, slots=True)
class _Seen:
    at: int
    state: GateState


_SEEN: Final[WeakKeyDictionary[GateStore, MutableMapping[GateId, _Seen]]] = WeakKeyDictionary()
"""What this process knows of the gates of queues, by store."""


def flag_queue(engine: Engine, pool: str, priority: Priority, now: int, state: GateState | None = None) -> QueueList:
    """Flag the gate of a queue, and return its list. Raise Unavailable."""
    gate = queue_gate(queue_key(pool, priority))
    return QueueList(gate, priority, flag_gate(engine, gate, priority, now, state))


def place_near(engine: Engine, run_id: str, placed: Placement, now: int, *, pool: str, priority: Priority) -> Placement:
    """Return where a new run goes: on the list of its queue instead of the direct path, if runs wait there.

    The caller stores the run within `LISTING_MS`. When the gate of the queue cannot be read or flagged, the run goes
    the direct path: its queue may take it all the same, and the sweep looks after it.
    """
    if placed.status is not Status.DISPATCHED:
        return placed
    where = _list_of_closed(engine, pool, priority, now)
    return placed if where is None else Placement(Status.PENDING, where.slot_for(run_id))


def place_stamp(engine: Engine, run: Record, now: int) -> Record:
    """Return a new stamped run as it is placed, like `place_near`."""
    if run.status is not Status.DISPATCHED or run.slot is None:
        return run
    placed = Placement(run.status, run.slot)
    found = place_near(engine, run.run_id, placed, now, pool=run.pool, priority=run.priority)
    return run if found is placed else waiting(run, found.slot)


def waiting(run: Record, slot: str) -> Record:
    """Return a new run as it waits in this slot: a waiting list, or a fire slot."""
    return replace(run, status=Status.PENDING, slot=slot, claim_token=None)


def _list_of_closed(engine: Engine, pool: str, priority: Priority, now: int) -> QueueList | None:
    """Return the flagged list of a queue at which runs wait. None: no run waits, or that is not known."""
    gate = queue_gate(queue_key(pool, priority))
    seen = _SEEN.setdefault(engine.gates, {})
    known = seen.get(gate)
    try:
        if known is None or not 0 <= now - known.at < STATE_MS:
            known = seen[gate] = _Seen(now, engine.gates.read(gate))
        if not known.state.is_flagged or priority not in known.state.priorities:
            return None
        found = flag_queue(engine, pool, priority, now, known.state)
    except Unavailable as error:
        _LOG.warning("queue_flag_unknown", extra={"queue": gate.key, "error": str(error)})
        seen[gate] = _Seen(engine.clock.now(), GateState())  # so that the runs of a batch do not all wait for it
        return None
    if found.state is not known.state:
        seen[gate] = _Seen(now, found.state)
    return found

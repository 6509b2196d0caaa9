"""The waiting lists of run queues. Runs wait there while their queue is closed.

A tick that finds a queue closed flags the gate of the queue and puts its runs on the list. While the flag notes the
priority of the queue, the API and the event handler put near runs on the list too. A look that finds the queue open
forgets the priority. Then near runs are sent directly again, long before the flag itself is old enough to be taken
away.
"""

import logging
from dataclasses import dataclass
from typing import Final

from onthedot.domain.errors import Unavailable
from onthedot.domain.gates.names import GateId, queue_gate, waiting_slot
from onthedot.domain.gates.state import GateState
from onthedot.domain.runs.placement import Placement
from onthedot.domain.runs.queue_names import queue_key
from onthedot.domain.runs.records import Priority, Status
from onthedot.domain.runs.slots import DECISION_MS, shard_of
from onthedot.ports import Engine, KnownGate
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


def flag_queue(engine: Engine, pool: str, priority: Priority, now: int, state: GateState | None = None) -> QueueList:
    """Flag the gate of a queue, and return its list. Raise Unavailable."""
    gate = queue_gate(queue_key(pool, priority))
    return QueueList(gate, priority, flag_gate(engine, gate, priority, now, state))


def is_queue_closed(engine: Engine, pool: str, priority: Priority, now: int) -> bool:
    """Return whether the last tick that looked at the queue found it closed, as far as this process knows."""
    state = _seen(engine, pool, priority, now)
    return state.is_flagged and priority in state.priorities


def place_near(engine: Engine, run_id: str, placed: Placement, now: int, *, pool: str, priority: Priority) -> Placement:
    """Return where a new run goes: on the list of its queue instead of the direct path, if the queue is closed.

    The caller stores the run within `LISTING_MS`. When the gate of the queue cannot be read or flagged, the run goes
    the direct path: its queue may take it all the same, and the sweep looks after it.
    """
    if placed.status is not Status.DISPATCHED or not is_queue_closed(engine, pool, priority, now):
        return placed
    try:
        found = flag_queue(engine, pool, priority, now, _seen(engine, pool, priority, now))
    except Unavailable as error:
        _forget(engine, pool, priority, error)
        return placed
    engine.known_gates[found.gate] = KnownGate(now, found.state)
    return Placement(Status.PENDING, found.slot_for(run_id))


def _seen(engine: Engine, pool: str, priority: Priority, now: int) -> GateState:
    """Return the state of a queue's gate, at most two seconds old. One that cannot be read counts as not flagged."""
    gate = queue_gate(queue_key(pool, priority))
    known = engine.known_gates.get(gate)
    if known is None or not 0 <= now - known.at < STATE_MS:
        try:
            known = engine.known_gates[gate] = KnownGate(now, engine.gates.read(gate))
        except Unavailable as error:
            return _forget(engine, pool, priority, error)
    return known.state


def _forget(engine: Engine, pool: str, priority: Priority, error: Unavailable) -> GateState:
    """Take the queue for open for a moment, so that the runs of a batch do not all wait for a gate that fails."""
    _LOG.warning("queue_flag_unknown", extra={"queue": queue_key(pool, priority), "error": str(error)})
    unknown = KnownGate(engine.clock.now(), GateState())
    engine.known_gates[queue_gate(queue_key(pool, priority))] = unknown
    return unknown.state

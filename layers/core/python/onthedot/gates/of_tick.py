"""What gates do in one tick: share it out among tenants, list the runs of closed queues, look at gates."""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from onthedot.core.choices import Priority
from onthedot.core.errors import Unavailable
from onthedot.core.gate_names import QUEUE, GateId
from onthedot.core.ports import Deadline, SlotEntry
from onthedot.core.send import QueueStates
from onthedot.core.slots import queue_key
from onthedot.engine import Engine
from onthedot.gates.limits import Limits
from onthedot.gates.look import QueueLook, fair_order, look_at_gate, look_at_queue, look_failed
from onthedot.gates.state import GateState
from onthedot.gates.waiting import QueueList, flag_queue

_LOG: Final = logging.getLogger(__name__)


@dataclass(slots=True)
class TickGates:
    """The gates in one tick.

    A closed queue is flagged before its runs are put on its list. One whose flag cannot be written is not tried again
    in the tick: its runs stay in their slots.
    """

    engine: Engine
    queues: QueueStates
    counts: Counter[str]
    limits: Limits = field(init=False)
    _flags: dict[tuple[str, Priority], GateState | None] = field(default_factory=dict)
    """The last flag of each queue. None: it cannot be written now."""

    def __post_init__(self) -> None:
        try:
            self.limits = self.engine.limits.read()
        except Unavailable as error:  # each tenant has weight 1 then, and no run waits for the limits
            _LOG.warning("limits_unknown", extra={"error": str(error)})
            self.limits = Limits(known=False)
        self.counts["limits_unknown"] += not self.limits.known

    def in_turns(self, entries: Sequence[SlotEntry]) -> list[SlotEntry]:
        return fair_order(entries, self.limits)

    def list_of(self, pool: str, priority: Priority) -> QueueList | None:
        known = self._flags.get((pool, priority))
        if known is None and (pool, priority) in self._flags:
            return None
        try:
            found = flag_queue(self.engine, pool, priority, self.engine.clock.now(), known)
        except Unavailable as error:
            _LOG.warning("queue_not_flagged", extra={"queue": queue_key(pool, priority), "error": str(error)})
            self._flags[pool, priority] = None
            return None
        self._flags[pool, priority] = found.state
        return found

    def look_at(self, gate: str, slot: str, claim_token: str, deadline: Deadline) -> bool:
        at = GateId.read(gate)
        try:
            if at.name != QUEUE:
                return look_at_gate(self.engine, at, slot, deadline, self.counts)
            look_at_queue(
                QueueLook(self.engine, self.queues, self.limits, claim_token, deadline, self.counts), at, slot
            )
        except Exception as error:  # noqa: BLE001 - whatever is wrong with this gate, the others are looked at
            return look_failed(self.engine, at, slot, error, self.counts)
        return True

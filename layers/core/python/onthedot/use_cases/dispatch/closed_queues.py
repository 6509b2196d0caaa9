"""The queues that are closed in one tick, and the waiting lists on which the tick puts their runs."""

import logging
from dataclasses import dataclass, field
from typing import Final

from onthedot.domain.errors import Unavailable
from onthedot.domain.gates.state import GateState
from onthedot.domain.runs.queue_names import queue_key
from onthedot.domain.runs.records import Priority, Record
from onthedot.ports import Engine
from onthedot.use_cases.dispatch.queue_states import QueueStates
from onthedot.use_cases.gates.queue_lists import QueueList, flag_queue

_LOG: Final = logging.getLogger(__name__)


@dataclass(slots=True)
class ClosedQueues:
    """The closed queues of a tick. Each is flagged before its runs are put on its list.

    A queue whose flag cannot be written is not tried again in the tick. Its runs stay in their slots.
    """

    engine: Engine
    queues: QueueStates
    _flags: dict[tuple[str, Priority], GateState | None] = field(default_factory=dict)
    """The last flag of each queue. None: it cannot be written now."""

    def is_closed(self, pool: str, priority: Priority) -> bool:
        """Return whether the queue takes no runs now."""
        return self.queues.is_closed(pool, priority, self.engine.deployment.backlog_limit)

    def is_open(self, run: Record) -> bool:
        """Return whether the queue of a run takes runs now."""
        return not self.is_closed(run.pool, run.priority)

    def list_of(self, pool: str, priority: Priority) -> QueueList | None:
        """Return the list of a closed queue, flagged. None: it cannot be flagged now."""
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

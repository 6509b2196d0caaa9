"""The run queues as one tick knows them. A queue that cannot be asked concerns only the runs that wait for it."""

import logging
from dataclasses import dataclass, field
from typing import Final

from onthedot.domain.errors import Unavailable, Unreachable
from onthedot.domain.runs.queue_names import queue_key
from onthedot.domain.runs.records import Priority, Record
from onthedot.domain.runs.sweep import is_backlogged
from onthedot.ports import RunQueues

_LOG: Final = logging.getLogger(__name__)
_Queue = tuple[str, Priority]


@dataclass(slots=True)
class QueueStates:
    """The backlog of each queue. A tick asks each queue once, and the age of its messages only for a late run."""

    queues: RunQueues
    _visible: dict[_Queue, int | Unavailable] = field(default_factory=dict)
    _ages: dict[_Queue, int | None] = field(default_factory=dict)

    def why_closed(self, pool: str, priority: Priority, limit: int) -> str | None:
        """Return why the queue takes no runs now: it has more than `limit` messages, or it cannot be used.

        A queue that does not answer may still take messages, so it stays open.
        """
        visible = self._ask(pool, priority)
        if isinstance(visible, Unreachable):
            return str(visible)
        if isinstance(visible, Unavailable) or visible <= limit:
            return None
        return f"backpressure: {visible} messages wait in {queue_key(pool, priority)} (limit {limit})"

    def may_hold(self, run: Record, now: int) -> bool | None:
        """Return whether the run's queue may still hold its message. None: the queue cannot be asked."""
        visible = self._ask(run.pool, run.priority)
        if isinstance(visible, Unavailable):
            return None
        age = self._age(run.pool, run.priority) if visible else None
        return is_backlogged(now - run.fire_at, visible, age)

    def _ask(self, pool: str, priority: Priority) -> int | Unavailable:
        queue = (pool, priority)
        if queue not in self._visible:
            try:
                self._visible[queue] = self.queues.visible(pool, priority)
            except Unavailable as error:
                _LOG.warning("queue_unavailable", extra={"queue": queue_key(pool, priority), "error": str(error)})
                self._visible[queue] = error
        return self._visible[queue]

    def _age(self, pool: str, priority: Priority) -> int | None:
        queue = (pool, priority)
        if queue not in self._ages:
            self._ages[queue] = self.queues.oldest_age_ms(pool, priority)
        return self._ages[queue]

"""The run that a worker takes over when the run before it has ended and has woken it at a gate.

Such a run needs no message: the worker starts it at once, and its place at the gate stays in use. A run that the worker
then cannot start is sent after all. If the worker dies, the run is in a watch slot, and the sweep finds it.
"""

from dataclasses import dataclass, replace
from typing import Final

from onthedot.domain.errors import Unavailable
from onthedot.ports import Deadline, Engine, RunMessage
from onthedot.use_cases import patience

LONGEST_MS: Final = 60_000
"""How long after its message has arrived a worker takes runs over. A batch of messages ends when all its runs have."""
EMPTY_MS: Final = 5_000
"""How long a queue counts as empty after it was asked. The question takes time in which a place is not in use."""
MARGIN_MS: Final = 60_000
"""The time that a worker needs for a run beside the longest call: to ask the gates, and to store the end."""


@dataclass(slots=True)
class NextRun:
    """The next run of a worker, at most one. `finish_run` offers it the runs that it wakes."""

    engine: Engine
    first: RunMessage
    """The message that the worker received. Only runs of its queue are taken over."""
    received_at: int
    ends_at: int | None
    """The time at which the worker's process ends. None: it does not end by itself."""
    message: RunMessage | None = None
    found_empty_at: int | None = None
    """The time at which the queue had no message for the last time."""

    def accept(self, message: RunMessage) -> bool:
        """Take a woken run over, if it is the only one and this worker can run it now. Return whether it did."""
        if self.message is None and self._fits(message):
            self.message = message
        return self.message is message

    def pop(self) -> RunMessage | None:
        """Return the run that was taken over, and forget it."""
        message, self.message = self.message, None
        return message

    def send(self) -> None:
        """Send the run that was taken over to its queue."""
        message = self.pop()
        if message is not None:
            send_later(self.engine, message, 0)

    def _fits(self, message: RunMessage) -> bool:
        now = self.engine.clock.now()
        pool = self.engine.deployment.pools.get(message.pool)
        if pool is None or message.pool != self.first.pool or message.fire_at > now:
            return False
        if pool.queues > 1 and message.priority is not self.first.priority:
            return False  # each priority has its share of the workers
        if now > self.received_at + LONGEST_MS:
            return False
        if self.ends_at is not None and now + pool.longest_seconds * 1000 + MARGIN_MS > self.ends_at:
            return False
        return self._no_other_waits(message)

    def _no_other_waits(self, message: RunMessage) -> bool:
        """Return whether the queue was empty lately. Otherwise the run takes its turn there, behind other runs."""
        now = self.engine.clock.now()
        if self.found_empty_at is not None and now - self.found_empty_at < EMPTY_MS:
            return True
        try:
            is_empty = self.engine.queues.visible(message.pool, message.priority) == 0
        except Unavailable:
            return False
        self.found_empty_at = now if is_empty else None
        return is_empty


def send_later(engine: Engine, message: RunMessage, after_ms: int) -> None:
    """Send a run that has no message, for later. If that fails, the sweep finds the run."""
    now = engine.clock.now()
    later = replace(message, fire_at=max(message.fire_at, now + after_ms))
    engine.queues.send([later], Deadline.after(now, patience.SEND_MS))

"""Faults that a test asks for: a message that comes twice, a worker that dies, an attempt that fails."""

from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from onthedot.ports import Answer, Call, Performer, Received
from onthedot.testing.scheduler import VirtualScheduler, WorkerDied


class Fault(Enum):
    """A fault of the next attempt. The value says what happens, as a part of a sentence."""

    DELIVERED_TWICE = "its message comes again, while it runs and after it has ended"
    DIES_BEFORE_START = "the worker dies before it stores the start"
    DIES_BEFORE_CALL = "the worker dies after the start and before the call"
    DIES_BEFORE_FINISH = "the worker dies after the call and before it stores the end"
    FAILS = "the attempt fails without a call"
    FAILS_AFTER_CALL = "the answer to the call is lost"


FAILED: Final = Answer(ok=False, error="failed by the test", error_class="injected")


@dataclass(frozen=True, slots=True)
class Armed:
    """A fault that waits for its attempt, with the answer of an attempt that is to fail."""

    fault: Fault
    answer: Answer = FAILED


@dataclass(slots=True)
class FaultyWorker(Performer):
    """A performer on another one. Each armed fault strikes one attempt, in order."""

    performer: Performer
    armed: deque[Armed] = field(default_factory=deque)
    scheduler: VirtualScheduler | None = None
    """The scheduler whose worker this is part of."""

    def before_start(self, received: Received) -> None:  # noqa: ARG002 - any message will do
        """Raise WorkerDied if the worker is to die before the start of the next run."""
        if self.armed and self.armed[0].fault is Fault.DIES_BEFORE_START:
            self.armed.popleft()
            raise WorkerDied

    def perform(self, call: Call) -> Answer:
        if not self.armed:
            return self.performer.perform(call)
        struck = self.armed.popleft()
        if struck.fault is Fault.FAILS:
            return struck.answer
        if struck.fault is Fault.DIES_BEFORE_CALL:
            raise WorkerDied
        if struck.fault is Fault.DELIVERED_TWICE:
            assert self.scheduler is not None
            self.scheduler.deliver_twice(call.run_id)
        answer = self.performer.perform(call)
        if struck.fault is Fault.DIES_BEFORE_FINISH:
            raise WorkerDied
        return struck.answer if struck.fault is Fault.FAILS_AFTER_CALL else answer

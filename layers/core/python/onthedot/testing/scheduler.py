"""Play the tick, the queues and the worker of one process in virtual time.

The clock jumps from one moment at which something is due to the next, so that an idle month costs nothing. Everything
that is due happens at its exact time, in order, in the calling thread.
"""

import gc
import random
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final, Protocol

from onthedot.core.attempt import RunExecutor, execute_run
from onthedot.core.claim import Pass, claim_slot
from onthedot.core.clock import VirtualClock
from onthedot.core.engine import Core
from onthedot.core.ids import fresh_generation
from onthedot.core.ports import Answer, Call, Deadline, Performer, Received, RunQueues, Tick
from onthedot.core.progress import LatestProgress
from onthedot.core.records import Record
from onthedot.core.schema import DEFAULT_POOL, PRIORITIES
from onthedot.core.send import message_for
from onthedot.core.slots import BUCKET_MS, SlotKind, bucket_of, slot_name
from onthedot.core.start import Done, Verdict
from onthedot.core.stopping import Stop
from onthedot.core.sweep import sweep_slot
from onthedot.core.tick import guarded
from onthedot.engine import Engine

TICK_MS: Final = 80_000
BATCH: Final = 10
VISIBILITY_MS: Final = 960_000
"""A message whose worker died is delivered again after this time, as by the queues of push pools."""
_NEVER_MS: Final = 2**61
_COLLECT_AFTER: Final = 100_000
"""New objects after which Python looks for garbage."""
WORKER: Final = "test-worker"


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Let Python look for garbage in cycles less often: a long simulation keeps most of the objects that it makes."""
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], _COLLECT_AFTER) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


class NoLeases:
    """A lease keeper that does nothing: attempts take no virtual time."""

    def keeping(self, run: Record, stop: Stop, progress: LatestProgress) -> AbstractContextManager[None]:  # noqa: ARG002
        return nullcontext()


@dataclass(frozen=True, slots=True)
class TickedNow:
    """The `TickTimes` of a process that always ticks in time."""

    clock: VirtualClock

    def last_ticks(self, shards: Sequence[int]) -> Mapping[int, int]:
        now = self.clock.now()
        return dict.fromkeys(shards, now)


class Outlook(Protocol):
    """The slots that have entries."""

    def first_buckets(self) -> tuple[int, int]: ...

    def slots_until(self, kind: SlotKind, bucket: int) -> Sequence[str]: ...


class TimedQueues(RunQueues, Protocol):
    """Run queues that say when their next messages come."""

    def next_at(self, pool: str) -> int | None: ...


class WorkerDied(BaseException):
    """The simulated death of the worker. No code of the scheduler may catch it, so it is not an Exception."""


class SlotsFailed(AssertionError):
    """A tick could not handle records. The log has the cause."""


@dataclass(slots=True)
class VirtualScheduler:
    """A scheduler in virtual time: its tick, its queues and its only worker."""

    clock: VirtualClock
    engine: Engine
    queues: TimedQueues
    outlook: Outlook
    performer: Performer
    last_tick: int = -1
    """The bucket of the last tick. There is at most one tick in a minute."""
    is_at_work: bool = False
    before_start: Callable[[Received], None] = lambda _: None
    """Called with each message before its run starts. It may raise WorkerDied."""
    _executor: RunExecutor = field(init=False)
    _first: tuple[int, int] = (0, 0)
    """The buckets of the first slots, as they were when the current moment was chosen."""
    _again: list[Received] = field(default_factory=list)
    """Messages to deliver a second time, after the current attempt."""

    def __post_init__(self) -> None:
        self.engine = replace(self.engine, queues=self.queues, tick_times=TickedNow(self.clock))
        chance = random.Random(1)  # noqa: S311 (jitter that is the same in every test)
        self._executor = RunExecutor(self.engine, self.performer, NoLeases(), WORKER, chance)

    def let_pass(self, until: int) -> None:
        """Move the clock to this instant, and do everything that is due on the way."""
        if self.is_at_work:
            raise RuntimeError("a handler cannot move the clock; move it in the test")
        self.is_at_work = True
        try:
            with _rare_collections():
                while (moment := self.next_moment()) is not None and moment <= until:
                    self.clock.sleep_until(moment)
                    self._do_due()
            self.clock.sleep_until(until)
        finally:
            self.is_at_work = False

    def deliver_twice(self, run_id: str) -> None:
        """Deliver the message of a running attempt again: now, and as soon as the attempt has ended."""
        run = self.engine.store.get(run_id)
        assert run is not None, f"{run_id} runs, so it is stored"
        again = Received(message_for(run), receipt="again", receive_count=2)
        execute_run(self._executor, again)
        self._again.append(again)

    def next_moment(self) -> int | None:
        """Return when something is due next: a message, or a minute with entries in its slots. None: nothing is."""
        message_at = self._next_message()
        self._first = self.outlook.first_buckets()
        tick_at = max(min(self._first), self.last_tick + 1) * BUCKET_MS
        moment = min(message_at, tick_at)
        return max(moment, self.clock.now()) if moment < _NEVER_MS else None

    def _do_due(self) -> None:
        present = bucket_of(self.clock.now())
        if self.last_tick < present:
            self._tick(present)
        while self._next_message() <= self.clock.now():
            for priority in PRIORITIES:
                for received in self.queues.receive(DEFAULT_POOL, priority, BATCH, visibility_ms=VISIBILITY_MS):
                    self._work(received)

    def _next_message(self) -> int:
        at = self.queues.next_at(DEFAULT_POOL)
        return _NEVER_MS if at is None else at

    def _tick(self, present: int) -> None:
        fire, watch = self._first
        self.last_tick = present
        if fire > present and watch > present:
            return
        slots = (self._slots(SlotKind.FIRE, fire, present), self._slots(SlotKind.WATCH, watch, present))
        counts = dispatch_slots(self.engine, *slots, Deadline.after(self.clock.now(), TICK_MS))
        if counts["slot_failed"]:
            raise SlotsFailed(f"a tick could not handle {counts['slot_failed']} slots; the log has the cause")

    def _slots(self, kind: SlotKind, first: int, present: int) -> Sequence[str]:
        """Return the slots that are due. Usually there is one at most, and it need not be looked up."""
        if first > present:
            return ()
        return [slot_name(kind, 0, first)] if first == present else self.outlook.slots_until(kind, present)

    def _work(self, received: Received) -> None:
        """Execute one message. A worker that dies leaves its message in the queue."""
        try:
            self.before_start(received)
            self._settle(received, execute_run(self._executor, received))
            while self._again:
                execute_run(self._executor, self._again.pop())
        except WorkerDied:
            self._again.clear()

    def _settle(self, received: Received, verdict: Verdict) -> None:
        if isinstance(verdict, Done):
            self.queues.delete(received)
        else:
            self.queues.hide(received, max(verdict.after_ms, 1))


class Fault(Enum):
    """A fault of the next attempt. The value says what happens, as a part of a sentence."""

    DELIVERED_TWICE = "its message is delivered again, while it runs and after it has ended"
    DIES_BEFORE_START = "the worker dies before it stores the start"
    DIES_BEFORE_CALL = "the worker dies after the start and before the call"
    DIES_BEFORE_FINISH = "the worker dies after the call and before it stores the result"
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


def dispatch_slots(
    engine: Core, fire_slots: Sequence[str], watch_slots: Sequence[str], deadline: Deadline
) -> Counter[str]:
    """Claim the runs of the fire slots, sweep the watch slots, and return the counts of the tick."""
    now = engine.clock.now()
    tick_id = fresh_generation()
    work = Pass(engine, Tick(0, (0,), now, tick_id), now, deadline, f"{tick_id}/{fresh_generation()}")
    for slot in fire_slots:
        guarded(work, slot, lambda: claim_slot(work, slot))  # noqa: B023 - called at once
    for slot in watch_slots:
        guarded(work, slot, lambda: sweep_slot(work, slot))  # noqa: B023 - called at once
    return work.counts

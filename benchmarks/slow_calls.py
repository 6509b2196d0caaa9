"""A store and queues whose calls take virtual time, so that a deadline can pass inside a step.

A batch call works as the engine on AWS does: it makes several requests, and begins none after the deadline but the
first. Entries that it did not come to are undecided or unsent.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from onthedot.core.clock import VirtualClock
from onthedot.core.moves import Move
from onthedot.core.ports import Deadline, Page, ReadRecords, Refused, RunMessage, SlotEntry, Undecided
from onthedot.core.records import Record
from onthedot.engine import Engine

Item = TypeVar("Item")
Outcome = Any
WRITES_PER_CALL, READS_PER_CALL, MESSAGES_PER_CALL = 25, 100, 10


class TimedOut(BaseException):
    """The process was killed: nothing in it may catch this."""


@dataclass(frozen=True)
class Latency:
    """Milliseconds that one request takes."""

    write: float = 20
    """BatchExecuteStatement of 25 writes."""
    read: float = 15
    """BatchGetItem of 100 keys."""
    page: float = 10
    """A page of a query, and every other request."""
    send: float = 8
    """SendMessageBatch of 10 messages."""
    cpu_per_stamp: float = 0
    """CPU of the dispatcher for one run of a recurring job: read, plan, stamp, advance, send."""


@dataclass
class Meter:
    """The requests that were made, and the virtual time that they took."""

    clock: VirtualClock
    latency: Latency
    requests: Counter[str] = field(default_factory=Counter)
    owed_ms: float = 0
    dies_at: int | None = None
    """The end of the process, such as the timeout of a function."""

    def take(self, what: str, milliseconds: float) -> None:
        self.requests[what] += 1
        self.spend(milliseconds)

    def spend(self, milliseconds: float) -> None:
        self.owed_ms += milliseconds
        self.clock.advance(int(self.owed_ms) / 1000)
        self.owed_ms -= int(self.owed_ms)
        if self.dies_at is not None and self.clock.now() >= self.dies_at:
            raise TimedOut

    def batches(self, items: Sequence[Item], size: int, deadline: Deadline) -> Iterator[Sequence[Item]]:
        """Yield batches until the deadline has passed, and always the first."""
        for first in range(0, len(items), size):
            if first and not deadline.allows(self.clock.now()):
                return
            yield items[first : first + size]


@dataclass
class SlowStore:
    inner: Any
    meter: Meter
    on_write: Callable[[int, Sequence[Any]], None] = lambda _at, _written: None

    def create_many(self, records: Sequence[Record], deadline: Deadline) -> Sequence[Outcome]:
        outcomes: list[Outcome] = []
        for batch in self.meter.batches(records, WRITES_PER_CALL, deadline):
            self.meter.take("write", self.meter.latency.write)
            self.meter.spend(self.meter.latency.cpu_per_stamp * len(batch))
            outcomes += self.inner.create_many(batch, deadline)
            self.on_write(self.meter.clock.now(), batch)
        refused = [outcome for outcome in outcomes if isinstance(outcome, Refused)]
        for _ in self.meter.batches(refused, READS_PER_CALL, deadline):
            self.meter.take("read", self.meter.latency.read)
        return [*outcomes, *(Undecided("late") for _ in records[len(outcomes) :])]

    def move_many(self, moves: Sequence[Move], deadline: Deadline) -> Sequence[Outcome]:
        outcomes: list[Outcome] = []
        for batch in self.meter.batches(moves, WRITES_PER_CALL, deadline):
            self.meter.take("write", self.meter.latency.write)
            outcomes += self.inner.move_many(batch, deadline)
            self.on_write(self.meter.clock.now(), batch)
        return [*outcomes, *(Undecided("late") for _ in moves[len(outcomes) :])]

    def get_many(self, run_ids: Sequence[str], deadline: Deadline) -> ReadRecords:
        found: dict[str, Record] = {}
        read = 0
        for batch in self.meter.batches(run_ids, READS_PER_CALL, deadline):
            self.meter.take("read", self.meter.latency.read)
            found |= self.inner.get_many(batch, deadline).found
            read += len(batch)
        return ReadRecords(found, unread=frozenset(run_ids[read:]))

    def read_slot(self, slot: str, cursor: str | None = None, limit: int | None = None) -> Page[SlotEntry]:
        self.meter.take("page", self.meter.latency.page)
        page: Page[SlotEntry] = self.inner.read_slot(slot, cursor, limit)
        return page

    def __getattr__(self, name: str) -> Any:
        """Every other call is one request."""
        call = getattr(self.inner, name)

        def slow(*given: Any, **named: Any) -> Any:
            self.meter.take(name, self.meter.latency.page)
            return call(*given, **named)

        return slow


@dataclass
class SlowQueues:
    inner: Any
    meter: Meter

    def send(self, messages: Sequence[RunMessage], deadline: Deadline) -> Sequence[RunMessage]:
        begun = 0
        unsent: list[RunMessage] = []
        for batch in self.meter.batches(messages, MESSAGES_PER_CALL, deadline):
            self.meter.take("send", self.meter.latency.send)
            unsent += self.inner.send(batch, deadline)
            begun += len(batch)
        return [*unsent, *messages[begun:]]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def slowed(engine: Engine, meter: Meter) -> Engine:
    return replace(engine, store=SlowStore(engine.store, meter), queues=SlowQueues(engine.queues, meter))

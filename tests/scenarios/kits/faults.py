"""Faults at chosen effects: die before or after one, halfway through a batch, or lose its reply."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

from onthedot.domain.errors import Unavailable
from onthedot.domain.gates.limits import GateLimits
from onthedot.domain.gates.names import GateId
from onthedot.domain.gates.state import GateChange, GateState, Holder
from onthedot.domain.runs.dead_letters import ALWAYS, Window
from onthedot.domain.runs.moves import Move
from onthedot.domain.runs.pass_progress import ShardProgress
from onthedot.domain.runs.records import Priority, Record
from onthedot.ports import (
    Deadline,
    GateAnswer,
    GateStore,
    ListEntry,
    Moved,
    Page,
    PatternEntry,
    PatternStore,
    ProgressStore,
    QueueCounts,
    ReadRecords,
    Received,
    Refused,
    RunMessage,
    RunQueues,
    RunStore,
    SlotEntry,
    TickLease,
    Undecided,
)

Result = TypeVar("Result")


class Crash(BaseException):
    """The process dies here: nothing in it may catch this."""


class Fault(StrEnum):
    CRASH_BEFORE = "crash before"
    CRASH_HALFWAY = "crash halfway through"
    CRASH_AFTER = "crash after"
    LOST_REPLY = "lost reply of"
    AWAY = "unavailable for"
    MEANWHILE = "something happens before"


@dataclass
class Faults:
    """A counter of effects that strikes at one of them. With `at` None it only counts."""

    at: int | None = None
    fault: Fault = Fault.CRASH_AFTER
    meanwhile: Callable[[], object] | None = None
    """The act of another process just before the effect, with MEANWHILE."""
    seen: list[str] = field(default_factory=list)
    named: str | None = None
    """Count only effects of this name."""

    def around(self, name: str, effect: Callable[[], Result], half: Callable[[], Any] | None = None) -> Result:
        if self.named not in (None, name):
            return effect()
        number = len(self.seen)
        self.seen.append(name)
        return effect() if number != self.at else self._strike(name, effect, half)

    def _strike(self, name: str, effect: Callable[[], Result], half: Callable[[], Any] | None) -> Result:
        if self.fault is Fault.AWAY:
            raise Unavailable(name)
        if self.fault is Fault.MEANWHILE:
            assert self.meanwhile is not None
            self.meanwhile()
            return effect()
        if self.fault is Fault.CRASH_HALFWAY and half is not None:
            half()
        if self.fault in (Fault.CRASH_BEFORE, Fault.CRASH_HALFWAY):
            raise Crash(name)
        effect()
        if self.fault is Fault.LOST_REPLY:
            return effect()  # as the SDK does: it tries again and gets the answer of the second try
        raise Crash(name)


@dataclass
class FaultyStore:
    """A store whose writes are effects."""

    inner: RunStore
    faults: Faults

    def create(self, run: Record) -> Record | None:
        return self.faults.around("create", lambda: self.inner.create(run))

    def create_many(self, records: Sequence[Record], deadline: Deadline) -> Sequence[Moved | Refused | Undecided]:
        half = records[: len(records) // 2]
        return self.faults.around(
            "create_many",
            lambda: self.inner.create_many(records, deadline),
            lambda: self.inner.create_many(half, deadline),
        )

    def runs_of(self, job_id: str, limit: int, cursor: str | None = None, *, until: int | None = None) -> Page[Record]:
        return self.inner.runs_of(job_id, limit, cursor, until=until)

    def get(self, run_id: str) -> Record | None:
        return self.inner.get(run_id)

    def get_many(self, run_ids: Sequence[str], deadline: Deadline) -> ReadRecords:
        return self.inner.get_many(run_ids, deadline)

    def move(self, move: Move) -> Moved | Refused:
        return self.faults.around(f"move to {move.to}", lambda: self.inner.move(move))

    def move_many(self, moves: Sequence[Move], deadline: Deadline) -> Sequence[Moved | Refused | Undecided]:
        half = moves[: len(moves) // 2]
        return self.faults.around(
            "move_many",
            lambda: self.inner.move_many(moves, deadline),
            lambda: self.inner.move_many(half, deadline),
        )

    def failed(self, tenant: str, limit: int, cursor: str | None = None, window: Window = ALWAYS) -> Page[Record]:
        return self.inner.failed(tenant, limit, cursor, window)

    def listed(self, partition: str, limit: int, after: tuple[int, str] | None = None) -> tuple[list[ListEntry], bool]:
        return self.inner.listed(partition, limit, after)

    def read_slot(self, slot: str, cursor: str | None = None, limit: int | None = None) -> Page[SlotEntry]:
        return self.inner.read_slot(slot, cursor, limit)

    def set_aside(self, run_id: str, slot: str, why: str, now: int) -> bool:
        return self.faults.around("set aside", lambda: self.inner.set_aside(run_id, slot, why, now))


@dataclass
class FaultyQueues:
    """Queues whose sends are effects."""

    inner: RunQueues
    faults: Faults

    def send(self, messages: Sequence[RunMessage], deadline: Deadline) -> Sequence[RunMessage]:
        half = messages[: len(messages) // 2]
        return self.faults.around(
            "send", lambda: self.inner.send(messages, deadline), lambda: self.inner.send(half, deadline)
        )

    def visible(self, pool: str, priority: Priority) -> int:
        return self.inner.visible(pool, priority)

    def oldest_age_ms(self, pool: str, priority: Priority) -> int | None:
        return self.inner.oldest_age_ms(pool, priority)

    def counts(self, pool: str, priority: Priority) -> QueueCounts:
        return self.inner.counts(pool, priority)

    def receive(
        self, pool: str, priority: Priority, maximum: int, *, visibility_ms: int, wait_ms: int = 0
    ) -> Sequence[Received]:
        return self.inner.receive(pool, priority, maximum, visibility_ms=visibility_ms, wait_ms=wait_ms)

    def delete(self, received: Received) -> None:
        self.faults.around("delete", lambda: self.inner.delete(received))

    def hide(self, received: Received, milliseconds: int) -> None:
        self.inner.hide(received, milliseconds)


@dataclass
class FaultyPatterns:
    """An index of patterns whose writes are effects."""

    inner: PatternStore
    faults: Faults

    def put(self, tenant: str, keys: Sequence[str], entry: PatternEntry) -> None:
        half = keys[: len(keys) // 2]
        self.faults.around(
            "put pattern",
            lambda: self.inner.put(tenant, keys, entry),
            lambda: self.inner.put(tenant, half, entry),
        )

    def remove(self, tenant: str, keys: Sequence[str], job_id: str, name: str) -> None:
        half = keys[: len(keys) // 2]
        self.faults.around(
            "remove pattern",
            lambda: self.inner.remove(tenant, keys, job_id, name),
            lambda: self.inner.remove(tenant, half, job_id, name),
        )

    def matching(self, tenant: str, keys: Sequence[str]) -> Iterator[PatternEntry]:
        return self.inner.matching(tenant, keys)

    def first_time(self, tenant: str, event_id: str, time: int, expires_at: int) -> int:
        return self.faults.around("remember event", lambda: self.inner.first_time(tenant, event_id, time, expires_at))


@dataclass
class FaultyProgress:
    inner: ProgressStore
    faults: Faults

    def begin(self, lease: TickLease, now: int) -> Mapping[int, ShardProgress] | None:
        return self.faults.around("begin the tick", lambda: self.inner.begin(lease, now))

    def finish(
        self, lease: TickLease, before: Mapping[int, ShardProgress], after: Mapping[int, ShardProgress]
    ) -> frozenset[int]:
        return self.faults.around("write progress", lambda: self.inner.finish(lease, before, after))


@dataclass
class FaultyGates:
    """Gates whose writes are effects."""

    inner: GateStore
    faults: Faults

    def find(self, tenant: str, name: str) -> GateLimits | None:
        return self.inner.find(tenant, name)

    def put(self, tenant: str, name: str, limits: GateLimits | None) -> None:
        self.faults.around("put gate", lambda: self.inner.put(tenant, name, limits))

    def names(self, tenant: str, limit: int, cursor: str | None = None) -> Page[tuple[str, GateLimits]]:
        return self.inner.names(tenant, limit, cursor)

    def read(self, gate: GateId) -> GateState:
        return self.inner.read(gate)

    def pages(self, gate: GateId) -> Sequence[frozenset[Holder]]:
        return self.inner.pages(gate)

    def take(
        self, gate: GateId, page: int, holder: Holder, *, room: int, newcomer: bool, capacity: int | None
    ) -> GateAnswer:
        def take() -> GateAnswer:
            return self.inner.take(gate, page, holder, room=room, newcomer=newcomer, capacity=capacity)

        return self.faults.around("take place", take)

    def give_back(self, gate: GateId, page: int, holder: Holder) -> GateState:
        return self.faults.around("give place back", lambda: self.inner.give_back(gate, page, holder))

    def change(self, gate: GateId, change: GateChange) -> GateAnswer:
        return self.faults.around("change gate", lambda: self.inner.change(gate, change))

"""Faults at chosen effects: die before or after one, halfway through a batch, or lose its reply."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any, TypeVar

from onthedot.core.choices import Priority
from onthedot.core.errors import Unavailable
from onthedot.core.listing import ALWAYS, Window
from onthedot.core.moves import Move
from onthedot.core.pass_progress import ProgressStore
from onthedot.core.ports import (
    Deadline,
    ListEntry,
    Moved,
    Page,
    QueueCounts,
    ReadRecords,
    Received,
    Refused,
    RunMessage,
    RunQueues,
    RunStore,
    SlotEntry,
    Undecided,
)
from onthedot.core.records import Record
from onthedot.events.pattern_store import PatternStore
from onthedot.gates.state_store import GateStore

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
class FaultyPort:
    """A store of which some calls are effects. `halves` makes the arguments of half an effect."""

    inner: Any
    faults: Faults
    effects: Mapping[str, str]
    halves: Callable[..., tuple[Any, ...]] | None = None

    def __getattr__(self, name: str) -> Any:
        call = getattr(self.inner, name)
        return partial(self._around, call, self.effects[name]) if name in self.effects else call

    def _around(self, call: Callable[..., Any], effect: str, *given: Any, **named: Any) -> Any:
        halves = self.halves
        half = None if halves is None else lambda: call(*halves(*given), **named)
        return self.faults.around(effect, lambda: call(*given, **named), half)


def faulty_patterns(inner: PatternStore, faults: Faults) -> Any:
    """Return an index of patterns whose writes are effects."""
    effects = {"put": "put pattern", "remove": "remove pattern", "first_time": "remember event"}

    def half(tenant: str, keys: Any, *rest: Any) -> tuple[Any, ...]:
        return (tenant, keys, *rest) if isinstance(keys, str) else (tenant, keys[: len(keys) // 2], *rest)

    return FaultyPort(inner, faults, effects, half)


def faulty_progress(inner: ProgressStore, faults: Faults) -> Any:
    return FaultyPort(inner, faults, {"begin": "begin the tick", "finish": "write progress"})


def faulty_gates(inner: GateStore, faults: Faults) -> Any:
    """Return gates whose writes are effects."""
    effects = {"put": "put gate", "take": "take place", "give_back": "give place back", "change": "change gate"}
    return FaultyPort(inner, faults, effects)

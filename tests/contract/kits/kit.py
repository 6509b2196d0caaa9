"""What an engine gives to the contract suite: its ports, the receiving side of its queues, and time."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from onthedot.clock import VirtualClock
from onthedot.domain.gates.names import GateId
from onthedot.domain.runs.records import Priority, Record
from onthedot.engines.freezing import StoredStage
from onthedot.ports import (
    Clock,
    GateStore,
    LimitsStore,
    ListedBlobs,
    PatternStore,
    ProgressStore,
    Received,
    RunMessage,
    RunQueues,
    RunStore,
    ShardStore,
    SigningStore,
    StatisticsStore,
    StoredEntries,
    TenantData,
    Tick,
    TickQueue,
    TickTimes,
    TokenStore,
    WorkerRegistry,
)
from onthedot.schema import DEFAULT_POOL

PAGE_SIZE: Final = 10
VISIBILITY_SECONDS: Final = 2
MAX_RECEIVES: Final = 3
BUSY_MS: Final = 10_000
"""How late a busy machine may be in real time."""


def busy_ms(clock: Clock) -> int:
    """Return how late anything may be by this clock. On a virtual one the machine takes no time."""
    return 500 if isinstance(clock, VirtualClock) else BUSY_MS


def a_message(clock: Clock, due_in: float = 0.0, run_id: str = "job_a") -> RunMessage:
    fire_at = clock.now() + round(due_in * 1000)
    return RunMessage(run_id, "g1", fire_at, "acme", Priority.MEDIUM, DEFAULT_POOL)


class TickWithReceipt(NamedTuple):
    tick: Tick
    receipt: str


class BackDoor(Protocol):
    """Access to the queues of an engine that the ports do not give."""

    def post(self, pool: str, priority: Priority, body: str) -> None:
        """Put a message there that is none of ours."""
        ...

    def dead_letters(self, pool: str, priority: Priority) -> int: ...


@dataclass(frozen=True)
class Inbox:
    """The receiving side of the run queues. It does not wait for messages."""

    queues: RunQueues
    back_door: BackDoor

    def receive(self, pool: str, priority: Priority, maximum: int = 10) -> list[Received]:
        return list(self.queues.receive(pool, priority, maximum, visibility_ms=VISIBILITY_SECONDS * 1000))

    def delete(self, received: Received) -> None:
        self.queues.delete(received)

    def dead_letters(self, pool: str, priority: Priority) -> int:
        return self.back_door.dead_letters(pool, priority)


class TickInbox(Protocol):
    """The receiving side of the tick queue."""

    def receive(self) -> list[TickWithReceipt]: ...

    def delete(self, received: TickWithReceipt) -> None: ...


class Progress(ProgressStore, TickTimes, Protocol):
    """The progress of the passes, with the times of the ticks."""


class Kit(Protocol):
    """One engine, fresh for each test."""

    @property
    def clock(self) -> Clock: ...

    def let_pass(self, seconds: float) -> None:
        """Time goes by: in a moment on a virtual clock, really on a real one."""
        ...

    def store(self) -> RunStore: ...

    def damage(self, run_id: str, fields: Mapping[str, str | int | None]) -> None:
        """Write values into a stored record past the store, as another version or a fault would. None removes one."""
        ...

    def progress(self) -> "Progress": ...

    def write_progress(self, shard: int, text: str) -> None:
        """Write the progress of a shard past the store, as another version or a fault would."""
        ...

    def shards(self) -> ShardStore: ...

    def limits(self) -> LimitsStore: ...

    def gates(self) -> GateStore: ...

    def write_limits(self, tenant: str, name: str | None, text: str) -> None:
        """Write the limits of a tenant's gate, or of the tenant, past the store, as a fault would."""
        ...

    def write_holder(self, gate: GateId, page: int, text: str) -> None:
        """Add the text of a holder past the store, as a fault would. The page exists."""
        ...

    def tokens(self) -> TokenStore: ...

    def tenant_data(self) -> TenantData:
        """With the bucket of `blobs`, which must have been called."""
        ...

    def stage(self) -> StoredStage: ...

    def write_stage(self, text: str) -> None:
        """Write the state of the stage past the store, as another version or a fault would."""
        ...

    def stored_entries(self) -> StoredEntries: ...

    def blobs(self) -> ListedBlobs: ...

    def queues(self) -> tuple[RunQueues, Inbox]: ...

    def registry(self) -> WorkerRegistry: ...

    def signing(self) -> SigningStore: ...

    def patterns(self) -> PatternStore: ...

    def statistics(self) -> StatisticsStore: ...

    def count(self, old: Record | None, new: Record | None) -> None:
        """Let the consumer of the stream count a change. An engine that counts in its own commits does nothing."""
        ...

    def ticks(self) -> tuple[TickQueue, TickInbox]: ...

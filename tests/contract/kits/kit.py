"""What an engine gives to the contract suite: its ports, the receiving side of its queues, and time."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from onthedot.access.tenant_data import TenantData
from onthedot.core.choices import Priority
from onthedot.core.clock import VirtualClock
from onthedot.core.gate_names import GateId
from onthedot.core.items import Change, Items
from onthedot.core.pass_progress import ProgressStore
from onthedot.core.ports import (
    Blobs,
    Clock,
    DueIndex,
    ListedBlobs,
    Received,
    RunMessage,
    RunQueues,
    RunStore,
    Tick,
    TickQueue,
)
from onthedot.core.records import Record
from onthedot.core.schema import DEFAULT_POOL, gate_key, gate_limits_key, limits_key, progress_key, stage_key
from onthedot.core.shards import ShardStore
from onthedot.core.slots import Deployment
from onthedot.engine import Engine, Stores, stores_on
from onthedot.transfer.stored_entries import StoredEntries
from onthedot.wiring.points import FeaturePoints
from tests.builders import DEPLOYMENT

PAGE_SIZE: Final = 10
VISIBILITY_SECONDS: Final = 2
MAX_RECEIVES: Final = 3
BUSY_MS: Final = 10_000
"""How late a busy machine may be in real time."""


def busy_ms(clock: Clock) -> int:
    """Return how late anything may be by this clock. On a virtual one the machine takes no time."""
    return 500 if isinstance(clock, VirtualClock) else BUSY_MS


def a_message(clock: Clock, due_in: float = 0.0, run_id: str = "job_a") -> RunMessage:
    due_at = clock.now() + round(due_in * 1000)
    return RunMessage(run_id, "g1", due_at, "acme", Priority.MEDIUM, DEFAULT_POOL)


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


class Kit(ABC):
    """One engine, fresh for each test. The stores that are written on items are the same for all."""

    clock: Clock

    @abstractmethod
    def let_pass(self, seconds: float) -> None:
        """Time goes by: in a moment on a virtual clock, really on a real one."""

    @abstractmethod
    def store(self) -> RunStore: ...

    @abstractmethod
    def due_index(self) -> DueIndex: ...

    @abstractmethod
    def items(self) -> Items: ...

    @abstractmethod
    def blobs(self) -> ListedBlobs: ...

    @abstractmethod
    def queues(self) -> tuple[RunQueues, Inbox]: ...

    @abstractmethod
    def ticks(self) -> tuple[TickQueue, TickInbox]: ...

    @abstractmethod
    def count(self, old: Record | None, new: Record | None) -> None:
        """Let the consumer of the stream count a change. An engine that counts in its own commits does nothing."""

    @abstractmethod
    def damage(self, run_id: str, fields: Mapping[str, str | int | None]) -> None:
        """Write values into a stored record past the store, as another version or a fault would. None removes one."""

    def progress(self) -> ProgressStore:
        return ProgressStore(self.items())

    def write_progress(self, shard: int, text: str | int) -> None:
        """Write the progress of a shard past the store, as another version or a fault would."""
        self.items().update(progress_key(shard), Change(sets={"done": text}))

    def shards(self) -> ShardStore:
        return ShardStore(self.items())

    @property
    def stores(self) -> Stores:
        """The stores of the features, new ones each time."""
        return stores_on(self.items(), self.clock, known_ms=1_000, settle_ms=0, page_size=PAGE_SIZE)

    def write_limits(self, tenant: str, name: str | None, text: str) -> None:
        """Write the limits of a tenant's gate, or of the tenant, past the store, as a fault would."""
        key = limits_key(tenant) if name is None else gate_limits_key(tenant, name)
        self.items().put(key, {"limits": text})

    def write_holder(self, gate: GateId, page: int, text: str) -> None:
        """Add the text of a holder past the store, as a fault would. The page exists."""
        self.items().update(gate_key(gate.text, page), Change(adds={"h": frozenset({text})}))

    def tenant_data(self, blobs: ListedBlobs) -> TenantData:
        return TenantData(self.items(), blobs, PAGE_SIZE)

    def write_stage(self, text: str) -> None:
        """Write the state of the stage past the store, as another version or a fault would."""
        self.items().put(stage_key(), {"stage_state": text})

    def stored_entries(self) -> StoredEntries:
        return StoredEntries(self.items())

    def engine(self, store: RunStore, queues: RunQueues, blobs: Blobs, deployment: Deployment = DEPLOYMENT) -> Engine:
        """Return an engine of these and of the kit's other stores, without caches."""
        return Engine(
            **self.stores.stores,
            points=FeaturePoints(),
            store=store,
            queues=queues,
            blobs=blobs,
            clock=self.clock,
            deployment=deployment,
            shards=self.shards(),
            tick_times=self.progress(),
        )

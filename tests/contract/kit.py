"""What an engine gives to the contract suite: its ports, the receiving side of its queues, and time."""

from typing import Final, NamedTuple, Protocol

from onthedot.domain.run import Priority
from onthedot.ports import (
    Blobs,
    Clock,
    LimitsStore,
    ProgressStore,
    Received,
    RunQueues,
    RunStore,
    Tick,
    TickQueue,
    TokenStore,
)

PAGE_SIZE: Final = 10
VISIBILITY_SECONDS: Final = 2
MAX_RECEIVES: Final = 3


class HeldTick(NamedTuple):
    tick: Tick
    receipt: str


class Inbox(Protocol):
    """The receiving side of the run queues. Nothing waits: what is not there now is not returned."""

    def receive(self, pool: str, priority: Priority, maximum: int = 10) -> list[Received]: ...

    def delete(self, received: Received) -> None: ...

    def dead_letters(self, pool: str, priority: Priority) -> int: ...


class TickInbox(Protocol):
    """The receiving side of the tick queue."""

    def receive(self) -> list[HeldTick]: ...

    def delete(self, held: HeldTick) -> None: ...


class Kit(Protocol):
    """One engine, fresh for each test."""

    @property
    def clock(self) -> Clock: ...

    def let_pass(self, seconds: float) -> None:
        """Time goes by: in a moment on a virtual clock, really on a real one."""
        ...

    def store(self) -> RunStore: ...

    def progress(self) -> ProgressStore: ...

    def limits(self) -> LimitsStore: ...

    def tokens(self) -> TokenStore: ...

    def blobs(self) -> Blobs: ...

    def queues(self) -> tuple[RunQueues, Inbox]: ...

    def ticks(self) -> tuple[TickQueue, TickInbox]: ...

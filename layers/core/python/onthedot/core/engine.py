"""What the core works with: the stores, queues and parameters of one deployment, and the points where features join.

The core asks features only for runs that use them: that name a gate, have parents, or belong to a tenant with limits.
`onthedot.wiring.points` has the features that join.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from onthedot.core.choices import Priority
from onthedot.core.gate_names import GateId
from onthedot.core.ports import (
    Blobs,
    Clock,
    Deadline,
    LeaseWaits,
    RunMessage,
    RunQueues,
    RunStore,
    SlotEntry,
    TickTimes,
)
from onthedot.core.records import Record
from onthedot.core.shards import ShardStore
from onthedot.core.slots import Deployment
from onthedot.targets.webhooks import SigningKey

if TYPE_CHECKING:
    from onthedot.core.send import QueueStates


Engine_contra = TypeVar("Engine_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class Permit:
    """The places that an attempt has got. It may start now."""

    at: int
    token: str
    held: tuple[str, ...] = ()
    """The page and the name of each place."""


@dataclass(frozen=True, slots=True)
class Listed:
    gate: str


class Points(Protocol[Engine_contra]):
    """What the core asks of features, which know the whole engine.

    A method raises Unavailable unless it says that it raises nothing.
    """

    # Before a start
    def why_closed(self, engine: Engine_contra, /) -> str | None:
        """Return why the stage starts nothing now. None: it is open."""

    def is_limited(self, engine: Engine_contra, tenant: str, /) -> bool:
        """Return whether the tenant has limits of its own, as this process knows it."""

    def ask(
        self, engine: Engine_contra, message: RunMessage, named: Iterable[str], turn: str | None, near_ms: int, /
    ) -> Permit | Listed | Record | None:
        """Ask the gates of a run for its start, and put the run on the list of a gate that refuses.

        `turn` is the job whose next run may wait for the end of this one. `near_ms` is how long the worker can wait for
        the rate of a gate. A record: another process has moved the run. None: the gates did not answer in time.
        """

    def give_back(self, engine: Engine_contra, message: RunMessage, permit: Permit, /) -> None:
        """Give back the places of an attempt that did not start. This raises nothing."""

    def pass_on(self, engine: Engine_contra, message: RunMessage, /) -> None:
        """Wake the next run at the gate that woke this one, which does not start. This raises nothing."""

    def flag_again(self, engine: Engine_contra, run: Record, /) -> None:
        """Have a tick look at the gate on whose list the run is."""

    def is_turn_awaited(self, engine: Engine_contra, job: Record, /) -> bool: ...

    def wait_for_turn(self, engine: Engine_contra, message: RunMessage, job: Record, why: str, /) -> None:
        """Put a run on the list of its job's runs that wait for the end of the one that started last."""

    # The work of an attempt
    def parents_results(self, engine: Engine_contra, run: Record, payload: bytes, /) -> bytes:
        """Return the payload with the ends of the run's parents."""

    def signing_keys(self, engine: Engine_contra, tenant: str, /) -> Sequence[SigningKey]: ...

    # After an end
    def give_back_places(self, engine: Engine_contra, run: Record, accept: Accept | None, /) -> Sequence[GateId]: ...

    def wake_late(self, engine: Engine_contra, gates: Sequence[GateId], accept: Accept | None, /) -> None:
        """Try once more to wake a run at these gates, which the index may not have shown. This raises nothing."""

    def notify_children(self, engine: Engine_contra, ended: Record, deadline: Deadline | None, /) -> bool: ...

    def link_to_parents(self, engine: Engine_contra, child: Record, /) -> None: ...

    # Workers
    def offered(self, engine: Engine_contra, tenant: str, /) -> Mapping[str, frozenset[str]]:
        """Return what live workers can do for the tenant, by pool."""

    def was_never_begun(self, engine: Engine_contra, run: Record, now: int, /) -> bool:
        """Return whether the worker of an attempt whose lease is over lives and never had the run."""

    # Ticks
    def is_queue_closed(self, engine: Engine_contra, pool: str, priority: Priority, /) -> bool:
        """Return whether the last tick found the queue closed, as this process knows it."""

    def of_tick(self, engine: Engine_contra, queues: QueueStates, counts: Counter[str], /) -> TickPoints: ...


class WaitingList(Protocol):
    @property
    def until(self) -> int: ...

    def slot_for(self, run_id: str) -> str: ...


class TickPoints(Protocol):
    def in_turns(self, entries: Sequence[SlotEntry]) -> list[SlotEntry]:
        """Return the runs in the order in which their tenants take turns."""

    def list_of(self, pool: str, priority: Priority) -> WaitingList | None:
        """Return the list of a closed queue. None: no run can be put there now."""

    def look_at(self, gate: str, slot: str, claim_token: str, deadline: Deadline) -> bool:
        """Wake the runs of a gate in this watch slot, and move it on. Return whether none is left. Raise nothing."""


Accept = Callable[[RunMessage], bool]
"""Takes a woken run instead of its queue, if the caller can run it at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """The part of an engine that the core knows. The methods pass a run on only to a feature that it uses."""

    store: RunStore
    queues: RunQueues
    blobs: Blobs
    clock: Clock
    deployment: Deployment
    shards: ShardStore
    tick_times: TickTimes
    points: Points[Any]
    lease_waits: LeaseWaits | None = None
    """The leases of pull workers that wait for a run. None: a lease is answered at once."""
    ticking_since: int | None = None
    """The time at which this process began to do all ticks, if it does. Health counts no earlier tick."""
    index_lags: bool = True
    """Whether a write may be missing from a read of a slot that follows it."""
    kind: str = "embedded"
    stage_name: str = "serve"

    def give_back_places(self, run: Record, accept: Accept | None = None) -> Sequence[GateId]:
        """Give back the attempt's places at gates and wake the next runs. Return the gates for `points.wake_late`."""
        return self.points.give_back_places(self, run, accept) if run.held else ()

    def notify_children(self, ended: Record, deadline: Deadline | None = None) -> bool:
        """Tell the jobs that wait for this run how it ended. Return whether all are told. Raise Unavailable."""
        return ended.notify_pending is None or self.points.notify_children(self, ended, deadline)

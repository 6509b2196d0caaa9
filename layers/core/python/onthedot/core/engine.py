"""What the core works with: the stores, queues and parameters of one deployment, and the points where features join."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from onthedot.core.gate_names import GateId
from onthedot.core.points import Points
from onthedot.core.ports import Blobs, Clock, Deadline, LeaseWaits, RunMessage, RunQueues, RunStore, TickTimes
from onthedot.core.records import Record
from onthedot.core.shard_store import ShardStore
from onthedot.core.slots import Deployment

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
    points: Points
    lease_waits: LeaseWaits | None = None
    """The leases of pull workers that wait for a run. None: a lease is answered at once."""
    ticking_since: int | None = None
    """The time at which this process began to do all ticks, if it does. Health counts no earlier tick."""
    index_lags: bool = True
    """Whether a write may be missing from a read of a slot that follows it."""
    kind: str = "embedded"
    """The name of the engine: `embedded` or `aws`."""
    stage_name: str = "serve"

    def give_back_places(self, run: Record, accept: Accept | None = None) -> Sequence[GateId]:
        """Give back the places that the attempt had at gates, and wake the next run at each. This raises nothing.

        `run` is the record as it was while it ran. Return the gates for `points.wake_late`.
        """
        return self.points.give_back_places(self, run, accept) if run.held else ()

    def notify_children(self, ended: Record, deadline: Deadline | None = None) -> bool:
        """Tell the jobs that wait for this run how it ended. Return whether all are told. Raise Unavailable."""
        return ended.notify_pending is None or self.points.notify_children(self, ended, deadline)

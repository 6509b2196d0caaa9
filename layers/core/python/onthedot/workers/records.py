"""The records of pull workers: what they can do, what they are doing, and whether they are alive."""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from onthedot.core.lifecycle import LEASE_MS
from onthedot.core.pools import Needs

SILENT_MS: Final = LEASE_MS + 5_000
"""A worker that was silent for longer has lost its leases, or is about to."""
FORGOTTEN_MS: Final = 24 * 3_600_000
"""The record of a worker that was silent for longer expires."""
MOST_ASSIGNED: Final = 100
"""The most runs that may be assigned to one worker. They are kept in its record, which is read at every lease."""
MOST_RECENT: Final = 100

LAMBDA_WORKER: Final = "lambda-"
"""The first part of the id of a worker on Lambda."""
SERVE_WORKER: Final = "serve-"
"""The first part of the id of the worker inside `onthedot serve`."""


def is_unregistered(worker_id: str) -> bool:
    """Return whether the id belongs to a worker that does not register, and so has no record."""
    return worker_id.startswith((LAMBDA_WORKER, SERVE_WORKER))


class WorkerStatus(StrEnum):
    """The state of a worker, derived from its heartbeats."""

    ACTIVE = "ACTIVE"
    """It sends heartbeats and takes runs."""
    DRAINING = "DRAINING"
    """It finishes its runs and takes no more."""
    LOST = "LOST"
    """Its heartbeats stopped. The sweep recovers its runs when their leases end."""
    STOPPED = "STOPPED"
    """It reported that it ended."""


@dataclass(frozen=True, slots=True)
class Resources:
    """The resources that a worker has, or that runs take."""

    concurrency: int = 1
    """How many runs at a time. Each run takes one place."""
    cpu: float = 0
    memory_mb: int = 0
    storage_mb: int = 0

    def fits(self, needs: Needs) -> bool:
        return (
            self.concurrency >= 1
            and self.cpu >= needs.cpu
            and self.memory_mb >= needs.memory_mb
            and self.storage_mb >= needs.storage_mb
        )

    def less(self, needs: Needs) -> "Resources":
        return self.minus(Resources(1, needs.cpu, needs.memory_mb, needs.storage_mb))

    def minus(self, other: "Resources") -> "Resources":
        return Resources(
            self.concurrency - other.concurrency,
            self.cpu - other.cpu,
            self.memory_mb - other.memory_mb,
            self.storage_mb - other.storage_mb,
        )


@dataclass(frozen=True, slots=True)
class Load:
    """The load of a worker at a heartbeat."""

    running: tuple[str, ...] = ()
    used: Resources = field(default_factory=lambda: Resources(0))
    stopping: bool = False
    stopped: bool = False
    recent: tuple[str, ...] = ()
    """The ids of the latest runs that ended on it, the latest first. A heartbeat adds those since the previous one."""

    def after(self, before: "Load") -> "Load":
        """Return this load with the latest runs. One that was running and is not now has ended, named or not."""
        running = frozenset(self.running)
        ended = [run_id for run_id in (*self.recent, *before.running, *before.recent) if run_id not in running]
        return replace(self, recent=tuple(dict.fromkeys(ended))[:MOST_RECENT])


def expiry_of(heartbeat_at: int) -> int:
    """Return the epoch seconds after which the record of a worker with this last heartbeat expires."""
    return (heartbeat_at + FORGOTTEN_MS) // 1000


@dataclass(frozen=True, slots=True)
class WorkerRecord:
    worker_id: str
    tenant: str | None
    """The tenant whose runs it may take. None: any tenant's, for the operator's workers with access to the table."""
    pool: str
    capabilities: frozenset[str]
    resources: Resources
    registered_at: int
    heartbeat_at: int
    load: Load = field(default_factory=Load)
    assigned: frozenset[str] = frozenset()
    host: str = ""

    def status(self, now: int) -> WorkerStatus:
        if self.load.stopped:
            return WorkerStatus.STOPPED
        if now - self.heartbeat_at > SILENT_MS:
            return WorkerStatus.LOST
        return WorkerStatus.DRAINING if self.load.stopping else WorkerStatus.ACTIVE

    def can_do(self, needs: Needs) -> bool:
        return self.capabilities >= needs.capabilities and self.resources.fits(needs)

    def free(self) -> Resources:
        return self.resources.minus(self.load.used)

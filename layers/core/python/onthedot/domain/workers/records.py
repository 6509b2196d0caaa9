"""Pull workers as the registry knows them: what they can do, what they do now, and whether they are alive."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from onthedot.domain.runs.lifecycle import LEASE_MS
from onthedot.domain.workers.pools import Needs

SILENT_MS: Final = LEASE_MS + 5_000
"""A worker that was silent for longer has lost its leases, or is about to."""
FORGOTTEN_MS: Final = 24 * 3_600_000
MOST_ASSIGNED: Final = 100
"""Runs that may wait for one worker by name: they stand in its record, which all who use it read at every lease."""


class WorkerStatus(StrEnum):
    ACTIVE = "ACTIVE"
    DRAINING = "DRAINING"
    """It finishes what it has and takes nothing more."""
    LOST = "LOST"
    """Its heartbeats stopped; its runs are recovered as their leases end."""
    STOPPED = "STOPPED"


@dataclass(frozen=True, slots=True)
class Resources:
    """What a worker has, or a run takes. Every run takes one slot."""

    concurrency: int = 1
    cpu: float = 0
    memory_mb: int = 0

    def fits(self, needs: Needs) -> bool:
        return self.concurrency >= 1 and self.cpu >= needs.cpu and self.memory_mb >= needs.memory_mb

    def less(self, needs: Needs) -> "Resources":
        return Resources(self.concurrency - 1, self.cpu - needs.cpu, self.memory_mb - needs.memory_mb)

    def minus(self, other: "Resources") -> "Resources":
        return Resources(self.concurrency - other.concurrency, self.cpu - other.cpu, self.memory_mb - other.memory_mb)


@dataclass(frozen=True, slots=True)
class Load:
    """What a worker does at a heartbeat."""

    running: tuple[str, ...] = ()
    used: Resources = field(default_factory=lambda: Resources(0))
    stopping: bool = False
    stopped: bool = False


def expiry_of(heartbeat_at: int) -> int:
    """When a worker that was last heard then is forgotten, in epoch seconds."""
    return (heartbeat_at + FORGOTTEN_MS) // 1000


@dataclass(frozen=True, slots=True)
class WorkerRecord:
    """One registered worker."""

    worker_id: str
    tenant: str | None
    """Whose runs it may have; None: everybody's, for workers of the operator with access to the table."""
    pool: str
    capabilities: frozenset[str]
    resources: Resources
    registered_at: int
    heartbeat_at: int
    load: Load = field(default_factory=Load)
    assigned: frozenset[str] = frozenset()
    """Runs that were handed to this very worker, and that it has not taken yet."""
    host: str = ""

    def status(self, now: int) -> WorkerStatus:
        if self.load.stopped:
            return WorkerStatus.STOPPED
        if now - self.heartbeat_at > SILENT_MS:
            return WorkerStatus.LOST
        return WorkerStatus.DRAINING if self.load.stopping else WorkerStatus.ACTIVE

    @property
    def expires_at(self) -> int:
        """Epoch seconds after which nobody needs to know of it."""
        return expiry_of(self.heartbeat_at)

    def can_do(self, needs: Needs) -> bool:
        """Whether it ever could, whatever it does now."""
        return self.capabilities >= needs.capabilities and self.resources.fits(needs)

    def free(self) -> Resources:
        return self.resources.minus(self.load.used)

"""The registry of pull workers."""

from collections.abc import Sequence
from typing import Protocol

from onthedot.domain.workers.records import Load, WorkerRecord


class WorkerRegistry(Protocol):
    """A store of the pull workers. Reads by id are consistent, the list of all workers is eventually consistent."""

    def register(self, worker: WorkerRecord) -> None:
        """Store the worker, and replace an earlier record of it."""
        ...

    def find(self, worker_id: str) -> WorkerRecord | None:
        """Return the worker, or None when it is not registered."""
        ...

    def beat(self, worker_id: str, now: int, load: Load) -> WorkerRecord | None:
        """Record a heartbeat and the load. Return the worker after it, or None when it must register first."""
        ...

    def assign(self, worker_id: str, run_id: str) -> bool:
        """Assign a run to this worker by name.

        Return False when there is no such worker, or when as many runs as allowed are assigned to it.
        """
        ...

    def unassign(self, worker_id: str, run_ids: Sequence[str]) -> None:
        """Remove assigned runs, because the worker has leased them or they no longer wait."""
        ...

    def workers(self) -> Sequence[WorkerRecord]:
        """Return all workers whose records have not expired."""
        ...

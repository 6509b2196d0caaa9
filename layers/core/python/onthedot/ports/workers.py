"""The registry of pull workers."""

from collections.abc import Sequence
from typing import Protocol

from onthedot.domain.workers.records import Load, WorkerRecord


class WorkerRegistry(Protocol):
    """Knows the pull workers. Their own items, beside the runs; read consistently by id, else eventually."""

    def register(self, worker: WorkerRecord) -> None:
        """Write it, whatever was there before."""
        ...

    def find(self, worker_id: str) -> WorkerRecord | None: ...

    def beat(self, worker_id: str, now: int, load: Load) -> WorkerRecord | None:
        """Note that it lives and what it does. Returns it as it is then; None: it is not known, and must register."""
        ...

    def assign(self, worker_id: str, run_id: str) -> bool:
        """Hand a run to this very worker; whether there is such a worker."""
        ...

    def unassign(self, worker_id: str, run_ids: Sequence[str]) -> None:
        """The worker has taken them, or they are not to be had any more."""
        ...

    def workers(self) -> Sequence[WorkerRecord]:
        """All that are not forgotten yet."""
        ...

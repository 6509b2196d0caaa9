"""Explain whether the workers of a pull pool can run a run that waits for them, and what they lack."""

from collections.abc import Sequence

from onthedot.domain.workers.pools import Needs
from onthedot.domain.workers.records import WorkerRecord, WorkerStatus


def whose_turn(run_id: str, workers: Sequence[WorkerRecord], now: int) -> str | None:
    """Say which worker an assigned run waits for. Return None for a run that is assigned to no worker."""
    worker = next((worker for worker in workers if run_id in worker.assigned), None)
    if worker is None:
        return None
    status = worker.status(now)
    coming = (
        "which gets it with its next lease" if status is WorkerStatus.ACTIVE else f"which is {status}; others follow"
    )
    return f"assigned to worker {worker.worker_id}, {coming}"


def why_no_worker(pool: str, needs: Needs, workers: Sequence[WorkerRecord], now: int) -> str | None:
    """Say what the workers that serve the run's tenant lack. Return None when one of them can run it."""
    live = [worker for worker in workers if worker.pool == pool and worker.status(now) is WorkerStatus.ACTIVE]
    if not live:
        return f"no worker of pool {pool} is alive; start one"
    if any(worker.can_do(needs) for worker in live):
        return None
    nearest = min(live, key=lambda worker: len(_lacking(worker, needs)))
    lacking = ", ".join(_lacking(nearest, needs))
    return f"none of the {len(live)} live workers of pool {pool} can run it; worker {nearest.worker_id} lacks {lacking}"


def _lacking(worker: WorkerRecord, needs: Needs) -> list[str]:
    lacking = [f"capability {capability!r}" for capability in sorted(needs.capabilities - worker.capabilities)]
    if worker.resources.cpu < needs.cpu:
        lacking.append(f"cpu ({worker.resources.cpu:g} of {needs.cpu:g})")
    if worker.resources.memory_mb < needs.memory_mb:
        lacking.append(f"memory_mb ({worker.resources.memory_mb} of {needs.memory_mb})")
    return lacking

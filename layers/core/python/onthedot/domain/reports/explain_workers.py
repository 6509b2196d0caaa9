"""Explain whether the workers of a pull pool can run a run that waits for them, and what they lack."""

from collections.abc import Sequence

from onthedot.domain.reports.explain import Reason
from onthedot.domain.workers.pools import Needs
from onthedot.domain.workers.records import Resources, WorkerRecord, WorkerStatus


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


def why_no_worker(
    pool: str, tenant: str, needs: Needs, workers: Sequence[WorkerRecord], now: int, *, alone: bool = False
) -> Reason | None:
    """Say what the live workers of the pool lack. Return None when one of them can run it now.

    `alone`: the run lost a worker before, so its worker must be idle.
    """
    live = [worker for worker in workers if worker.pool == pool and worker.status(now) is WorkerStatus.ACTIVE]
    serving = [worker for worker in live if worker.tenant in (None, tenant)]
    if not live:
        return Reason("no_worker", f"no worker of pool {pool} is alive; start one")
    if not serving:
        return Reason("no_worker", f"the live workers of pool {pool} serve other tenants only; start one")
    able = [worker for worker in serving if worker.can_do(needs)]
    if not able:
        return _unable(pool, needs, serving)
    if any(worker.free().fits(needs) and not (alone and worker.load.running) for worker in able):
        return None
    return _full(pool, needs, able, alone=alone)


def _unable(pool: str, needs: Needs, live: Sequence[WorkerRecord]) -> Reason:
    nearest = min(live, key=lambda worker: len(_lacking(worker, needs)))
    lacking = f"worker {nearest.worker_id} lacks {', '.join(_lacking(nearest, needs))}"
    return Reason("no_worker", f"none of the {len(live)} live workers of pool {pool} can run it; {lacking}")


def _full(pool: str, needs: Needs, able: Sequence[WorkerRecord], *, alone: bool) -> Reason:
    none = f"none of the {len(able)} live workers of pool {pool} that can run it"
    if alone:
        return Reason("no_room", f"{none} is idle now; it must run alone, because it lost a worker")
    nearest = min(able, key=lambda worker: len(_short_of(worker.free(), needs)))
    lacking = f"worker {nearest.worker_id} has too little {', '.join(_short_of(nearest.free(), needs))} free"
    return Reason("no_room", f"{none} has room now; {lacking}")


def _lacking(worker: WorkerRecord, needs: Needs) -> list[str]:
    capabilities = [f"capability {capability!r}" for capability in sorted(needs.capabilities - worker.capabilities)]
    return [*capabilities, *_short_of(worker.resources, needs)]


def _short_of(resources: Resources, needs: Needs) -> list[str]:
    short = [] if resources.concurrency >= 1 else ["concurrency (0 of 1)"]
    if resources.cpu < needs.cpu:
        short.append(f"cpu ({resources.cpu:g} of {needs.cpu:g})")
    if resources.memory_mb < needs.memory_mb:
        short.append(f"memory_mb ({resources.memory_mb} of {needs.memory_mb})")
    return short

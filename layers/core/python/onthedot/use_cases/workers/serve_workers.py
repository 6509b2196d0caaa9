"""The registry of pull workers: who is there, what they can do, what they do, and whether they live."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from onthedot.domain.errors import InvalidRequest, Problem, WorkerNotFound
from onthedot.domain.workers.pools import PoolKind
from onthedot.domain.workers.records import Load, Resources, WorkerRecord, WorkerStatus
from onthedot.ports import Engine


@dataclass(frozen=True, slots=True)
class Offer:
    """What a worker says of itself. A worker without an id of its own gets one."""

    pool: str
    capabilities: frozenset[str]
    resources: Resources
    worker_id: str | None = None
    host: str = ""


def register_worker(engine: Engine, tenant: str | None, offer: Offer) -> WorkerRecord:
    """Raises InvalidRequest for what is no pull pool, or an id that is somebody else's."""
    # The queues of the other pools are not for workers: whoever looks into them keeps everybody's runs from Lambda.
    pulled = [pool.name for pool in engine.deployment.pools.all if pool.kind is PoolKind.PULL]
    if offer.pool not in pulled:
        raise InvalidRequest(
            Problem("pool", f"there is no pull pool {offer.pool!r}; this stage has {', '.join(pulled)}")
        )
    if offer.worker_id is not None:
        _refuse_foreign(engine, tenant, offer.worker_id)
    now = engine.clock.now()
    worker = WorkerRecord(
        worker_id=offer.worker_id or f"worker_{secrets.token_hex(8)}",
        tenant=tenant,
        pool=offer.pool,
        capabilities=offer.capabilities,
        resources=offer.resources,
        registered_at=now,
        heartbeat_at=now,
        host=offer.host,
    )
    engine.registry.register(worker)
    return worker


def _refuse_foreign(engine: Engine, tenant: str | None, worker_id: str) -> None:
    known = engine.registry.find(worker_id)
    if known is not None and known.tenant != tenant:
        raise InvalidRequest(Problem("worker_id", "is taken; leave it out to be given one"))


def find_worker(engine: Engine, tenant: str | None, worker_id: str) -> WorkerRecord:
    """Raises WorkerNotFound, also for another tenant's. The operator's own workers are nobody's."""
    worker = engine.registry.find(worker_id)
    if worker is None or worker.tenant != tenant:
        raise WorkerNotFound(worker_id)
    return worker


def see_worker(engine: Engine, tenant: str, worker_id: str) -> WorkerRecord:
    """As `list_workers` shows it: also one that serves everybody. Raises WorkerNotFound."""
    worker = engine.registry.find(worker_id)
    if worker is None or worker.tenant not in (None, tenant):
        raise WorkerNotFound(worker_id)
    return worker


def beat_worker(engine: Engine, tenant: str | None, worker_id: str, load: Load) -> WorkerRecord:
    """Raises WorkerNotFound: it must register again."""
    find_worker(engine, tenant, worker_id)
    worker = engine.registry.beat(worker_id, engine.clock.now(), load)
    if worker is None:
        raise WorkerNotFound(worker_id)
    return worker


def list_workers(
    engine: Engine, tenant: str, *, status: WorkerStatus | None = None, capabilities: frozenset[str] = frozenset()
) -> Sequence[WorkerRecord]:
    """The tenant's own workers, and those that serve everybody, the latest first."""
    now = engine.clock.now()
    found = [
        worker
        for worker in engine.registry.workers()
        if worker.tenant in (None, tenant)
        and worker.capabilities >= capabilities
        and status in (None, worker.status(now))
    ]
    return sorted(found, key=lambda worker: worker.registered_at, reverse=True)

"""Register, find and list pull workers, and take their heartbeats."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from onthedot.core.errors import InvalidRequest, Problem, WorkerNotFound
from onthedot.core.pools import PoolKind
from onthedot.engine import Engine
from onthedot.workers.records import Load, Resources, WorkerRecord, WorkerStatus


@dataclass(frozen=True, slots=True)
class Offer:
    pool: str
    capabilities: frozenset[str]
    resources: Resources
    worker_id: str | None = None
    """None: the worker gets a new id."""
    host: str = ""


def end_wait(engine: Engine, worker_id: str | None) -> None:
    """Let the leases of this worker that wait look once more, and return: the state of the worker has changed."""
    if engine.lease_waits is not None and worker_id is not None:
        engine.lease_waits.end(worker_id)


def register_worker(engine: Engine, tenant: str | None, offer: Offer) -> WorkerRecord:
    """Register the worker and return it. Raise InvalidRequest for a pool that is not a pull pool, or a foreign id."""
    # A worker that received from the queue of a push pool would keep the runs of all tenants from Lambda.
    pull_pools = [pool.name for pool in engine.deployment.pools.all if pool.kind is PoolKind.PULL]
    if offer.pool not in pull_pools:
        raise InvalidRequest(
            Problem("pool", f"there is no pull pool {offer.pool!r}; this stage has {', '.join(pull_pools)}")
        )
    known = None if offer.worker_id is None else engine.registry.find(offer.worker_id)
    if known is not None and known.tenant != tenant:
        raise InvalidRequest(Problem("worker_id", "is already taken; leave it out to get a new one"))
    now = engine.clock.now()
    worker = WorkerRecord(
        worker_id=offer.worker_id or f"worker_{secrets.token_hex(8)}",
        tenant=tenant,
        pool=offer.pool,
        capabilities=offer.capabilities,
        resources=offer.resources,
        registered_at=now,
        heartbeat_at=now,
        load=Load() if known is None else Load().after(known.load),
        host=offer.host,
    )
    engine.registry.register(worker)
    return worker


def find_worker(engine: Engine, tenant: str | None, worker_id: str) -> WorkerRecord:
    """Return a worker of this tenant, or of the operator for None. Raise WorkerNotFound for any other worker."""
    worker = engine.registry.find(worker_id)
    if worker is None or worker.tenant != tenant:
        raise WorkerNotFound(worker_id)
    return worker


def see_worker(engine: Engine, tenant: str, worker_id: str) -> WorkerRecord:
    """Return a worker that `list_workers` lists: the tenant's, or one that serves all tenants. Raise WorkerNotFound."""
    worker = engine.registry.find(worker_id)
    if worker is None or worker.tenant not in (None, tenant):
        raise WorkerNotFound(worker_id)
    return worker


def beat_worker(engine: Engine, tenant: str | None, worker_id: str, load: Load) -> WorkerRecord:
    """Store that the worker is alive, and its load, in one write. Raise WorkerNotFound: it must register again."""
    before = find_worker(engine, tenant, worker_id).load
    worker = engine.registry.beat(worker_id, engine.clock.now(), load.after(before))
    if worker is None:
        raise WorkerNotFound(worker_id)
    if load.stopping or load.stopped:
        end_wait(engine, worker_id)
    return worker


def list_workers(
    engine: Engine, tenant: str, *, status: WorkerStatus | None = None, capabilities: frozenset[str] = frozenset()
) -> Sequence[WorkerRecord]:
    """Return the tenant's own workers and the workers that serve all tenants, the latest first."""
    now = engine.clock.now()
    found = [
        worker
        for worker in engine.registry.workers()
        if worker.tenant in (None, tenant)
        and worker.capabilities >= capabilities
        and status in (None, worker.status(now))
    ]
    return sorted(found, key=lambda worker: worker.registered_at, reverse=True)

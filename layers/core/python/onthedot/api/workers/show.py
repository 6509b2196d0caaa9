"""Show pull workers and their leases."""

import json
from typing import Final, cast

from onthedot.api.targets.show import requirements_view
from onthedot.api.targets.views import TargetView
from onthedot.api.workers.views import LeaseView, ResourcesView, WorkerView
from onthedot.domain.instants import format_instant
from onthedot.domain.runs.lifecycle import LEASE_MS
from onthedot.domain.targets import types as targets
from onthedot.domain.workers.records import Resources, WorkerRecord
from onthedot.ports import Call
from onthedot.use_cases.workers.lease_batch import LeasedRun
from onthedot.use_cases.workers.receipts import sealed

LEASE_SECONDS: Final = LEASE_MS // 1000
HEARTBEAT_SECONDS: Final = LEASE_SECONDS // 3
"""The interval of heartbeats. A lease outlasts two lost heartbeats in a row."""


def worker_view(worker: WorkerRecord, now: int, longest_wait_seconds: int) -> WorkerView:
    """Return a worker. Of a worker that serves all tenants, neither the runs nor the host are shown."""
    is_shared = worker.tenant is None
    return {
        "worker_id": worker.worker_id,
        "pool": worker.pool,
        "status": worker.status(now).value,
        "capabilities": sorted(worker.capabilities),
        "resources": _resources(worker.resources),
        "used": _resources(worker.load.used),
        "running": [] if is_shared else list(worker.load.running),
        "recent": len(worker.load.recent),
        "registered_at": format_instant(worker.registered_at),
        "heartbeat_at": format_instant(worker.heartbeat_at),
        "host": "" if is_shared else worker.host,
        "lease_seconds": LEASE_SECONDS,
        "heartbeat_seconds": HEARTBEAT_SECONDS,
        "longest_wait_seconds": longest_wait_seconds,
    }


def lease_view(lease: LeasedRun, call: Call) -> LeaseView:
    """Return a leased run with the secrets of its target.

    The worker must send the payload as compact JSON in UTF-8, because the signature is made from these bytes.
    """
    run, definition = lease.run, call.definition
    return {
        "execution_id": run.run_id,
        "job_id": run.job_id,
        "attempt": run.attempt,
        "priority": run.priority.value,
        "pool": run.pool,
        "fire_time": format_instant(run.nominal_at),
        "started_at": format_instant(call.started_at),
        "lease_until": format_instant(run.lease_until or 0),
        "lease_seconds": LEASE_SECONDS,
        "alone": lease.alone,
        "target": cast(TargetView, targets.to_json(definition.target)),
        "payload": json.loads(call.payload),
        "timeout_seconds": definition.timeout_seconds,
        "requirements": requirements_view(definition.requirements),
        "idempotency_key": run.run_id,
        "signature": dict(call.signature),
        "traceparent": call.traceparent,
        "receipt": None if lease.received is None else sealed(run, lease.received.receipt),
    }


def _resources(resources: Resources) -> ResourcesView:
    return {
        "concurrency": resources.concurrency,
        "slots": resources.concurrency,
        "cpu": resources.cpu,
        "memory_mb": resources.memory_mb,
        "storage_mb": resources.storage_mb,
    }

"""Lease runs to a worker that has only an API token: each with its payload and signature, ready to be performed.

A run that was started and cannot be given to the worker is not lost. It is handed back, which does not count against
the run.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from onthedot.core.attempt import call_for, not_made
from onthedot.core.choices import Priority
from onthedot.core.errors import StaleAttempt, Unavailable
from onthedot.core.ports import Answer, Call, Received
from onthedot.core.schema import PRIORITIES
from onthedot.core.stopping import Stop
from onthedot.engine import Engine
from onthedot.workers.lease import LeasedRun, LeasedRuns, lease_runs
from onthedot.workers.records import Resources, WorkerRecord
from onthedot.workers.registrations import find_worker
from onthedot.workers.report import complete_run
from onthedot.workers.waits import lease_or_wait

MOST_BYTES: Final = 3 * 1024 * 1024 // 2
"""The size of all payloads in one answer. API Gateway passes 6 MB, and escaped text is up to three times as long."""
_NO_DEFINITION: Final = Answer(
    ok=False, error="nothing says what this run is to do", error_class="no_definition", retryable=False
)
_TOO_MUCH: Final = Answer(ok=False, error="no room for its payload in one answer", handed_back=True)


@dataclass(frozen=True, slots=True)
class LeaseRequest:
    """A worker's request for runs."""

    most: int = 1
    priorities: Sequence[Priority] = PRIORITIES
    cpu: float | None = None
    """The CPUs that are free on the worker. None: all that it registered."""
    memory_mb: int | None = None
    """The memory that is free on the worker. None: all that it registered."""
    storage_mb: int | None = None
    """The storage that is free on the worker. None: all that it registered."""
    idle: bool = True
    """No run is running on the worker."""
    wait_ms: int = 0
    """How long to wait for a first run, where the engine can wait."""
    gone: Stop | None = None
    """Asked when the worker has gone, or must not wait any longer. None: the call must not wait."""


@dataclass(slots=True)
class LeasesForWorker:
    """The leases of one request, each with its call."""

    runs: list[tuple[LeasedRun, Call]] = field(default_factory=list)
    alone_waiting: bool = False
    """A run that must be alone found the worker busy."""
    waited_ms: int = 0
    """How long the call waited before it started the runs. Their leases count from then."""


def lease_to_worker(
    engine: Engine, tenant: str, worker_id: str, request: LeaseRequest, chance: random.Random
) -> LeasesForWorker:
    """Lease runs to the worker. A worker that is stopping gets none. Raise WorkerNotFound or Unavailable."""

    def lease_now(worker: WorkerRecord, arrived: Sequence[Received]) -> LeasedRuns:
        return lease_runs(
            engine,
            worker,
            most=request.most,
            priorities=request.priorities,
            free=_free(worker.resources, request),
            idle=request.idle,
            arrived=arrived,
        )

    waited = lease_or_wait(
        engine,
        lambda: find_worker(engine, tenant, worker_id),
        lease_now,
        priorities=request.priorities,
        wait_ms=request.wait_ms,
        gone=request.gone,
    )
    leases = LeasesForWorker(alone_waiting=waited.leased.alone_waiting, waited_ms=waited.waited_ms)
    room = MOST_BYTES
    for lease in waited.leased.leases:
        call = _call(engine, lease, room)
        if isinstance(call, Call):
            room -= len(call.payload)
            leases.runs.append((lease, call))
        else:
            _end_attempt(engine, lease, call, chance)
    return leases


def _free(resources: Resources, request: LeaseRequest) -> Resources:
    """Return the free resources. A worker that states one of them has counted its free concurrency too."""
    stated = {name: getattr(request, name) for name in ("cpu", "memory_mb", "storage_mb")}
    free = {name: value for name, value in stated.items() if value is not None}
    return replace(resources, concurrency=request.most, **free) if free else resources


def _call(engine: Engine, lease: LeasedRun, room: int) -> Call | Answer:
    if lease.definition is None:
        return _NO_DEFINITION
    try:
        call = call_for(engine, lease.run, lease.definition, Stop())
    except Unavailable as error:
        return not_made(error, lease.run.attempt)
    if len(call.payload) <= room:
        return call
    return _TOO_MUCH if len(call.payload) <= MOST_BYTES else _too_large(len(call.payload))


def _too_large(size: int) -> Answer:
    """Return the answer for a run that fits into no answer. Handed back, it would be leased again for ever."""
    error = f"its payload and the results of its parents have {size:,} bytes; workers over REST get {MOST_BYTES:,}"
    return Answer(ok=False, error=error, error_class="payload_too_large", retryable=False)


def _end_attempt(engine: Engine, lease: LeasedRun, answer: Answer, chance: random.Random) -> None:
    """End the attempt with this answer. If that fails too, the lease runs out."""
    run = lease.run
    receipt = None if lease.received is None else lease.received.receipt
    try:
        complete_run(engine, run.tenant, run.run_id, run.attempt, answer, receipt=receipt, chance=chance)
    except (StaleAttempt, Unavailable):
        return

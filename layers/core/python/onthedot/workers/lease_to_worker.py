"""Lease runs to a worker that has only an API token: each with its payload and signature, ready to be performed.

A run that was started and cannot be given to the worker is not lost. It is handed back, which does not count against
the run. Where the engine can wait, a lease waits until a run of the worker's pool is due.
"""

import random
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

from onthedot.core.attempt import call_for, not_made
from onthedot.core.choices import Priority
from onthedot.core.errors import StaleAttempt, Unavailable
from onthedot.core.ports import Answer, Call, Received
from onthedot.core.schema import PRIORITIES
from onthedot.core.stopping import Stop
from onthedot.engine import Engine
from onthedot.workers.assign import give_back
from onthedot.workers.lease import VISIBILITY_MS, LeasedRun, LeasedRuns, lease_runs
from onthedot.workers.records import WorkerRecord, WorkerStatus
from onthedot.workers.registrations import find_worker
from onthedot.workers.report import complete_run

MOST_BYTES: Final = 3 * 1024 * 1024 // 2
"""The size of all payloads in one answer. API Gateway passes 6 MB, and escaped text is up to three times as long."""
LONGEST_WAIT_SECONDS: Final = 20
"""The longest wait of a lease. A load balancer between worker and API may cut a connection that is idle for longer."""
_NO_DEFINITION: Final = Answer(
    ok=False, error="nothing says what this run should do", error_class="no_definition", retryable=False
)
_TOO_MUCH: Final = Answer(ok=False, error="no room for its payload in one answer", handed_back=True)


@dataclass(frozen=True, slots=True)
class LeaseRequest:
    most: int = 1
    priorities: Sequence[Priority] = PRIORITIES
    free: Mapping[str, Any] = field(default_factory=dict)
    """The `cpu`, `memory_mb` and `storage_mb` that are free on the worker. A missing one: all that it registered."""
    idle: bool = True
    wait_ms: int = 0
    """How long to wait for a first run, where the engine can wait."""
    gone: Stop | None = None
    """Asked when the worker has gone, or must not wait any longer. None: the call must not wait."""


@dataclass(slots=True)
class LeasesForWorker:
    """The leases of one request, each with its call."""

    runs: list[tuple[LeasedRun, Call]] = field(default_factory=list)
    alone_waiting: bool = False
    waited_ms: int = 0
    """How long the call waited before it started the runs. Their leases count from then."""


def lease_to_worker(
    engine: Engine, tenant: str, worker_id: str, request: LeaseRequest, chance: random.Random
) -> LeasesForWorker:
    """Lease runs to the worker. A worker that is stopping gets none. Raise WorkerNotFound or Unavailable."""
    leased, waited_ms = _lease_or_wait(engine, tenant, worker_id, request)
    leases = LeasesForWorker(alone_waiting=leased.alone_waiting, waited_ms=waited_ms)
    room = MOST_BYTES
    for lease in leased.leases:
        call = _call(engine, lease, room)
        if isinstance(call, Call):
            room -= len(call.payload)
            leases.runs.append((lease, call))
        else:
            _end_attempt(engine, lease, call, chance)
    return leases


def _call(engine: Engine, lease: LeasedRun, room: int) -> Call | Answer:
    if lease.definition is None:
        return _NO_DEFINITION
    try:
        call = call_for(engine, lease.run, lease.definition, Stop())
    except Unavailable as error:
        return not_made(error, lease.run.attempt)
    if len(call.payload) <= room:
        return call
    if (size := len(call.payload)) <= MOST_BYTES:
        return _TOO_MUCH
    # It does not fit into any answer. If it were handed back, it would be leased again forever.
    why = f"its payload and the results of its parents have {size:,} bytes; workers over REST get {MOST_BYTES:,}"
    return Answer(ok=False, error=why, error_class="payload_too_large", retryable=False)


def _end_attempt(engine: Engine, lease: LeasedRun, answer: Answer, chance: random.Random) -> None:
    run = lease.run
    receipt = None if lease.received is None else lease.received.receipt
    with suppress(StaleAttempt, Unavailable):  # the lease runs out
        complete_run(engine, run.tenant, run.run_id, run.attempt, answer, receipt=receipt, chance=chance)


def longest_wait_seconds(engine: Engine) -> int:
    """Return the longest time that a lease may wait here, in seconds. 0: it is answered at once."""
    return 0 if engine.lease_waits is None else LONGEST_WAIT_SECONDS


def _lease_or_wait(engine: Engine, tenant: str, worker_id: str, request: LeaseRequest) -> tuple[LeasedRuns, int]:
    """Lease runs, and wait for a first one. Return them, and how long the call waited before it started them.

    The worker is read before each look: it may be stopped, or a run may be assigned to it, at any time.
    """
    worker = find_worker(engine, tenant, worker_id)
    gone, wait_ms = request.gone, request.wait_ms
    if engine.lease_waits is None or gone is None or wait_ms <= 0:
        return _look(engine, worker, request, ()), 0
    began = engine.clock.now()
    with engine.lease_waits.of(worker_id, gone) as wait:
        arrived: Sequence[Received] = ()
        while True:
            waited = min(max(engine.clock.now() - began, 0), wait_ms)
            is_last = wait.is_over or waited >= wait_ms
            if gone.reason is not None:
                _give_back(engine, arrived)
                return LeasedRuns(()), waited
            leased = _look(engine, find_worker(engine, tenant, worker_id), request, arrived)
            if leased is _STOPPING or leased.leases or leased.alone_waiting or is_last:
                return leased, waited
            priorities = list(dict.fromkeys(request.priorities))
            until = began + wait_ms
            arrived = wait.receive(worker.pool, priorities, visibility_ms=VISIBILITY_MS, until=until)


_STOPPING: Final = LeasedRuns(())


def _look(engine: Engine, worker: WorkerRecord, request: LeaseRequest, arrived: Sequence[Received]) -> LeasedRuns:
    """Lease the runs that are due now, of these messages and of the pool's queues. A stopping worker gets nothing."""
    if worker.status(engine.clock.now()) in (WorkerStatus.DRAINING, WorkerStatus.STOPPED):
        _give_back(engine, arrived)
        return _STOPPING
    # A worker that states what is free has counted its free concurrency too.
    free = replace(worker.resources, concurrency=request.most, **request.free) if request.free else worker.resources
    return lease_runs(
        engine,
        worker,
        most=request.most,
        priorities=request.priorities,
        free=free,
        idle=request.idle,
        arrived=arrived,
    )


def _give_back(engine: Engine, arrived: Sequence[Received]) -> None:
    for received in arrived:
        give_back(engine, received, 0)

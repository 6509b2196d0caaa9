"""Lease runs to a worker that has nothing but a token: each with its payload and signature, ready to be performed.

What was started and cannot be given is not lost: it goes back as a failure that is tried again, or as if untouched.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from onthedot.domain.errors import StaleAttempt, Unavailable
from onthedot.domain.runs.records import Priority
from onthedot.domain.workers.records import Resources, WorkerStatus
from onthedot.ports import Answer, Call, Engine
from onthedot.schema import PRIORITIES
from onthedot.stopping import Stop
from onthedot.use_cases.attempts.call_target import call_for
from onthedot.use_cases.workers.lease_runs import Lease, lease_runs
from onthedot.use_cases.workers.report_run import complete_run
from onthedot.use_cases.workers.serve_workers import find_worker

MOST_BYTES: Final = 3 * 1024 * 1024 // 2
"""Of payloads in one answer. Escaped on its way through API Gateway it may be three times as long, and 6 MB pass."""
_NO_DEFINITION: Final = Answer(
    ok=False, error="nothing says what this run is to do", error_class="no_definition", retryable=False
)
_TOO_MUCH: Final = Answer(ok=False, error="no room for its payload in one answer", handed_back=True)


@dataclass(frozen=True, slots=True)
class LeaseRequest:
    """What the worker asks for. `cpu` and `memory_mb`: what it has left; None: all."""

    most: int = 1
    priorities: Sequence[Priority] = PRIORITIES
    cpu: float | None = None
    memory_mb: int | None = None
    idle: bool = True


@dataclass(slots=True)
class LeasesForWorker:
    runs: list[tuple[Lease, Call]] = field(default_factory=list)
    alone_waiting: bool = False


def lease_to_worker(
    engine: Engine, tenant: str, worker_id: str, wanted: LeaseRequest, chance: random.Random
) -> LeasesForWorker:
    """Nothing for a worker that says that it stops. Raises WorkerNotFound and Unavailable."""
    worker = find_worker(engine, tenant, worker_id)
    if worker.status(engine.clock.now()) in (WorkerStatus.DRAINING, WorkerStatus.STOPPED):
        return LeasesForWorker()
    leased = lease_runs(
        engine,
        worker,
        most=wanted.most,
        priorities=wanted.priorities,
        free=_free(worker.resources, wanted),
        idle=wanted.idle,
    )
    handed = LeasesForWorker(alone_waiting=leased.alone_waiting)
    room = MOST_BYTES
    for lease in leased.leases:
        call = _call(engine, lease, room)
        if isinstance(call, Call):
            room -= len(call.payload)
            handed.runs.append((lease, call))
        else:
            _give_up(engine, lease, call, chance)
    return handed


def _free(resources: Resources, wanted: LeaseRequest) -> Resources:
    """A worker that tells what is left knows its slots too."""
    if wanted.cpu is None and wanted.memory_mb is None:
        return resources
    cpu = resources.cpu if wanted.cpu is None else wanted.cpu
    memory_mb = resources.memory_mb if wanted.memory_mb is None else wanted.memory_mb
    return Resources(wanted.most, cpu, memory_mb)


def _call(engine: Engine, lease: Lease, room: int) -> Call | Answer:
    if lease.definition is None:
        return _NO_DEFINITION
    try:
        call = call_for(engine, lease.run, lease.definition, Stop())
    except Unavailable as error:
        return Answer(ok=False, error=str(error), error_class="unavailable")
    return call if len(call.payload) <= room else _TOO_MUCH


def _give_up(engine: Engine, lease: Lease, answer: Answer, chance: random.Random) -> None:
    """If this fails too, the lease ends by itself."""
    run = lease.run
    receipt = None if lease.received is None else lease.received.receipt
    try:
        complete_run(engine, run.tenant, run.run_id, run.attempt, answer, receipt=receipt, chance=chance)
    except (StaleAttempt, Unavailable):
        return

"""Let the lease of a pull worker wait until a run of its pool is due, where the engine can wait."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from onthedot.core.choices import Priority
from onthedot.core.ports import LeaseWait, Received
from onthedot.core.stopping import Stop
from onthedot.engine import Engine
from onthedot.workers.assign import give_back
from onthedot.workers.lease import VISIBILITY_MS, LeasedRuns
from onthedot.workers.records import WorkerRecord, WorkerStatus

LONGEST_WAIT_SECONDS: Final = 20
"""The longest wait of a lease. A load balancer between worker and API may cut a connection that is idle for longer."""

Lease = Callable[[WorkerRecord, Sequence[Received]], LeasedRuns]
"""Leases runs to the worker, of these messages and of its pool's queues, without a wait."""


@dataclass(frozen=True, slots=True)
class WaitedLease:
    """The runs of a lease call, and how long it waited before it started them."""

    leased: LeasedRuns
    waited_ms: int = 0


def longest_wait_seconds(engine: Engine) -> int:
    """Return the longest time that a lease may wait here, in seconds. 0: it is answered at once."""
    return 0 if engine.lease_waits is None else LONGEST_WAIT_SECONDS


def lease_or_wait(
    engine: Engine,
    find: Callable[[], WorkerRecord],
    lease: Lease,
    *,
    priorities: Sequence[Priority],
    wait_ms: int,
    gone: Stop | None,
) -> WaitedLease:
    """Lease runs, and wait for a first one for at most `wait_ms`. Without `gone`, do not wait.

    `find` reads the worker. It may be stopped, or a run may be assigned to it, at any time.
    """
    if engine.lease_waits is None or gone is None or wait_ms <= 0:
        return WaitedLease(_look(engine, find(), lease, ()))
    began = engine.clock.now()
    worker = find()
    with engine.lease_waits.of(worker.worker_id, gone) as wait:
        arrived: Sequence[Received] = ()
        while True:
            waited = min(max(engine.clock.now() - began, 0), wait_ms)
            is_last = wait.is_over or waited >= wait_ms
            if gone.reason is not None:
                _give_back(engine, arrived)
                return WaitedLease(LeasedRuns(()), waited)
            leased = _look(engine, find(), lease, arrived)
            if leased is _STOPPING or leased.leases or leased.alone_waiting or is_last:
                return WaitedLease(leased, waited)
            arrived = _next(wait, worker, priorities, began + wait_ms)


_STOPPING: Final = LeasedRuns(())


def _look(engine: Engine, worker: WorkerRecord, lease: Lease, arrived: Sequence[Received]) -> LeasedRuns:
    """Lease the runs that are due now. A worker that is stopping gets nothing."""
    if worker.status(engine.clock.now()) in (WorkerStatus.DRAINING, WorkerStatus.STOPPED):
        _give_back(engine, arrived)
        return _STOPPING
    return lease(worker, arrived)


def _next(wait: LeaseWait, worker: WorkerRecord, priorities: Sequence[Priority], until: int) -> Sequence[Received]:
    return wait.receive(worker.pool, list(dict.fromkeys(priorities)), visibility_ms=VISIBILITY_MS, until=until)


def _give_back(engine: Engine, arrived: Sequence[Received]) -> None:
    for received in arrived:
        give_back(engine, received, 0)

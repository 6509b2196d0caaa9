"""Lease runs to a pull worker: receive them from its pool's queues in the order it asks for, check and start them.

A message is hidden for little longer than a lease. If the worker dies, the message is delivered again just after the
lease ends, and the worker that receives it declares the attempt lost.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from onthedot.domain.errors import Unavailable
from onthedot.domain.runs import lifecycle
from onthedot.domain.runs.records import Definition, Priority, Record, Status
from onthedot.domain.workers.pools import Needs
from onthedot.domain.workers.records import Resources, WorkerRecord
from onthedot.ports import Engine, Received, RunMessage
from onthedot.schema import PRIORITIES
from onthedot.use_cases.attempts.start_run import Done, Redeliver, Started, Verdict, start_run
from onthedot.use_cases.dispatch.send_runs import message_for
from onthedot.use_cases.workers.assign_run import assign_to_able_worker, needs_of_definition

VISIBILITY_MS: Final = lifecycle.LEASE_MS + lifecycle.CLOCK_MARGIN_MS + 2_000
LONGEST_WAIT_MS: Final = 2_000
"""How long a lease waits for the fire time of its first run."""
WAIT_BESIDE_MS: Final = 50
"""How long a lease waits for the fire time of a further run: the runs that are started already must not wait for it."""
HIDE_MS: Final = 3_000
LONGEST_HIDE_MS: Final = 60_000
"""The longest time to hide a message that no live worker can take. The time grows with each delivery, so that the
message does not delay others."""
ASSIGNED_HIDE_MS: Final = 60_000
"""How long to hide a message whose run was assigned to another worker. After that, it may be assigned again."""
NO_ROOM_MS: Final = 1_000
UNAVAILABLE_MS: Final = 5_000


@dataclass(frozen=True, slots=True)
class LeasedRun:
    """A run that was started for the worker."""

    run: Record
    definition: Definition | None
    received: Received | None
    """Its message. None: the run was assigned to the worker."""
    alone: bool
    """The run lost a worker before, so no other run should run beside it."""


@dataclass(frozen=True, slots=True)
class LeasedRuns:
    """The runs of one lease call."""

    leases: Sequence[LeasedRun]
    alone_waiting: bool = False
    """A run that must be alone found the worker busy. The worker should take no more runs until it is idle."""


@dataclass(frozen=True, slots=True)
class _OtherWorker(Redeliver):
    """The verdict on a run that this worker cannot take, but another worker may."""

    needs: Needs | None = None
    """The needs that the other worker must meet. None: they are not read yet."""


@dataclass(slots=True)
class _LeaseBatch:
    """The runs that one lease call starts for a worker, and the resources that are left there."""

    engine: Engine
    worker: WorkerRecord
    most: int
    free: Resources
    idle: bool
    leases: list[LeasedRun]
    alone_waiting: bool = False

    @property
    def full(self) -> bool:
        return len(self.leases) >= self.most or any(lease.alone for lease in self.leases)

    def check_fit(self, message: RunMessage, definition: Definition | None) -> Verdict | None:
        """Decide whether the worker can take the run. It is checked before the start, which counts as an attempt."""
        run = self.engine.store.get(message.run_id)
        if run is None or run.generation != message.generation:
            return Done("stale")
        definition = definition or run.definition
        if definition is None or run.status is not Status.DISPATCHED:
            return None  # the start decides about it
        needs = needs_of_definition(definition)
        if not self.worker.can_do(needs):
            lacking = ", ".join(sorted(needs.capabilities - self.worker.capabilities)) or "resources"
            return _OtherWorker(HIDE_MS, f"worker {self.worker.worker_id} lacks {lacking}", needs)
        if not self.free.fits(needs):
            return Redeliver(NO_ROOM_MS, "no room for it now")
        if run.losses and not (self.idle and not self.leases):
            self.alone_waiting = True
            return Redeliver(NO_ROOM_MS, "it must run alone")
        return None

    def add(self, started: Started, received: Received | None) -> None:
        self.leases.append(LeasedRun(started.run, started.definition, received, alone=started.run.losses > 0))
        if started.definition is not None:
            self.free = self.free.less(needs_of_definition(started.definition))


def lease_runs(
    engine: Engine,
    worker: WorkerRecord,
    *,
    most: int,
    priorities: Sequence[Priority] = PRIORITIES,
    free: Resources | None = None,
    idle: bool = True,
    wait_ms: int = 0,
) -> LeasedRuns:
    """Start up to `most` runs for the worker. With `wait_ms`, wait for a first run in the last queue named.

    Raise Unavailable when no run was started and a queue or the store fails.
    """
    free = free or worker.resources
    # No more than the worker has room for: a run that it receives and cannot take is late for another worker.
    most = min(most, free.concurrency)
    batch = _LeaseBatch(engine, worker, most, free, idle, [])
    _lease_assigned(batch)
    for priority in dict.fromkeys(priorities):
        if batch.full:
            break
        wait = wait_ms if priority == priorities[-1] and not batch.leases else 0
        for one in sorted(_receive(batch, priority, wait), key=lambda each: each.message.fire_at):
            _lease(batch, one)
    return LeasedRuns(batch.leases, batch.alone_waiting)


def _receive(batch: _LeaseBatch, priority: Priority, wait_ms: int) -> Sequence[Received]:
    """Receive messages. Raise Unavailable only when the batch is empty: runs that are started must not be dropped."""
    maximum = min(batch.most - len(batch.leases), 10)
    queues, pool = batch.engine.queues, batch.worker.pool
    try:
        return queues.receive(pool, priority, maximum, visibility_ms=VISIBILITY_MS, wait_ms=wait_ms)
    except Unavailable:
        if batch.leases:
            return ()
        raise


def _lease(batch: _LeaseBatch, received: Received) -> None:
    verdict = _try_to_start(batch, received.message)
    if isinstance(verdict, Started):
        batch.add(verdict, received)
    elif isinstance(verdict, _OtherWorker):
        _settle(batch.engine, received, _hide_ms(batch, received, verdict.needs))
    elif isinstance(verdict, Done):
        _settle(batch.engine, received, None)
    else:
        _settle(batch.engine, received, verdict.after_ms)


def _hide_ms(batch: _LeaseBatch, received: Received, needs: Needs | None) -> int:
    """Assign the run to a worker that can take it, if there is one. Return how long to hide the message."""
    if assign_to_able_worker(batch.engine, batch.worker, received.message, needs):
        return ASSIGNED_HIDE_MS
    return min(HIDE_MS << min(received.receive_count - 1, 10), LONGEST_HIDE_MS)


def _try_to_start(batch: _LeaseBatch, message: RunMessage, *, assigned: bool = False) -> Started | Verdict:
    clock = batch.engine.clock
    early = message.fire_at - clock.now()
    if batch.worker.tenant not in (None, message.tenant):
        return _OtherWorker(HIDE_MS, "it is another tenant's")
    if batch.full:
        return Redeliver(0, "no room for it now")
    if early > (WAIT_BESIDE_MS if batch.leases else LONGEST_WAIT_MS):
        return Redeliver(early, "early")
    clock.sleep_until(message.fire_at)
    try:
        return start_run(batch.engine, message, batch.worker.worker_id, batch.check_fit, assigned=assigned)
    except Unavailable as error:
        return Redeliver(UNAVAILABLE_MS, f"unavailable: {error}")


def _settle(engine: Engine, received: Received, after_ms: int | None) -> None:
    """Delete the message, or hide it for a while. If this fails, the queue delivers it again by itself."""
    with suppress(Unavailable):
        if after_ms is None:
            engine.queues.delete(received)
        else:
            engine.queues.hide(received, after_ms)


def _lease_assigned(batch: _LeaseBatch) -> None:
    """Start the runs that are assigned to this worker. They have no message, only their watch slot."""
    assigned = sorted(batch.worker.assigned)
    if not assigned:
        return
    for run in _assigned_runs(batch.engine, assigned, batch.worker):
        verdict = _try_to_start(batch, message_for(run), assigned=True)
        if isinstance(verdict, Started):
            batch.add(verdict, None)
        elif _is_for_next_lease(verdict, run):
            assigned.remove(run.run_id)
    with suppress(Unavailable):  # if this fails, the next lease finds that they are started
        batch.engine.registry.unassign(batch.worker.worker_id, assigned)


def _is_for_next_lease(verdict: Verdict, run: Record) -> bool:
    return isinstance(verdict, Redeliver) and not isinstance(verdict, _OtherWorker) and run.status is Status.DISPATCHED


def _assigned_runs(engine: Engine, run_ids: Iterable[str], worker: WorkerRecord) -> list[Record]:
    found = [engine.store.get(run_id) for run_id in run_ids]
    return [run for run in found if run is not None and worker.tenant in (None, run.tenant)]

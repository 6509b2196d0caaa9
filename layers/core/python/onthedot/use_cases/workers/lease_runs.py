"""Give runs to a pull worker: taken from its pool's queues in the order it asks for, checked, and started for it.

A message is hidden for little longer than a lease. If the worker dies, it comes again just after the lease's end,
and whoever gets it takes the lost attempt back.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from onthedot.domain.errors import Unavailable
from onthedot.domain.runs import lifecycle
from onthedot.domain.runs.records import Definition, Priority, Record, Status
from onthedot.domain.workers.pools import Needs, worker_needs
from onthedot.domain.workers.records import MOST_ASSIGNED, Resources, WorkerRecord, WorkerStatus
from onthedot.ports import Engine, Received, RunMessage
from onthedot.schema import PRIORITIES
from onthedot.use_cases.attempts.start_run import Done, GiveBack, Started, Verdict, definition_of, start_run
from onthedot.use_cases.dispatch.send_runs import message_for

VISIBILITY_MS: Final = lifecycle.LEASE_MS + lifecycle.CLOCK_MARGIN_MS + 2_000
HOLD_MS: Final = 2_000
HOLD_BESIDE_MS: Final = 50
REST_MS: Final = 3_000
LONGEST_REST_MS: Final = 60_000
"""How long a message rests that no live worker can take: longer each time, so that it keeps nobody from the others."""
HANDED_ON_MS: Final = 60_000
"""How long it rests when a worker that can take it has been told: if that one does not, the next is."""
NO_ROOM_MS: Final = 1_000
UNAVAILABLE_MS: Final = 5_000


@dataclass(frozen=True, slots=True)
class Lease:
    """A run that the worker has now. `received` is None for one that was handed to it by name."""

    run: Record
    definition: Definition | None
    received: Received | None
    alone: bool
    """It lost a worker before: nothing else should run beside it."""


@dataclass(frozen=True, slots=True)
class Leased:
    """`alone_waiting`: a run that must be alone found the worker busy; it should take nothing more until it is idle."""

    leases: Sequence[Lease]
    alone_waiting: bool = False


@dataclass(frozen=True, slots=True)
class _NotOurs(GiveBack):
    """Another worker may take it: one with these needs."""

    needs: Needs | None = None


@dataclass(slots=True)
class _LeaseBatch:
    """What one call gathers, within what is free."""

    engine: Engine
    worker: WorkerRecord
    most: int
    free: Resources
    idle: bool
    leases: list[Lease]
    alone_waiting: bool = False

    @property
    def full(self) -> bool:
        return len(self.leases) >= self.most or any(lease.alone for lease in self.leases)

    def judge(self, message: RunMessage, definition: Definition | None) -> Verdict | None:
        """Looked at before it is started: a start that is given back would count as an attempt."""
        run = self.engine.store.get(message.run_id)
        if run is None or run.generation != message.generation:
            return Done("stale")
        definition = definition or run.definition
        if definition is None or run.status is not Status.DISPATCHED:
            return None  # whatever is wrong with it, the start will tell
        needs = _needs(definition)
        if not self.worker.can_do(needs):
            lacking = ", ".join(sorted(needs.capabilities - self.worker.capabilities)) or "resources"
            return _NotOurs(REST_MS, f"worker {self.worker.worker_id} lacks {lacking}", needs)
        if not self.free.fits(needs):
            return GiveBack(NO_ROOM_MS, "no room for it now")
        if run.losses and not (self.idle and not self.leases):
            self.alone_waiting = True
            return GiveBack(NO_ROOM_MS, "it must run alone")
        return None

    def add(self, started: Started, received: Received | None) -> None:
        self.leases.append(Lease(started.run, started.definition, received, alone=started.run.losses > 0))
        if started.definition is not None:
            self.free = self.free.less(_needs(started.definition))


def lease_runs(
    engine: Engine,
    worker: WorkerRecord,
    *,
    most: int,
    priorities: Sequence[Priority] = PRIORITIES,
    free: Resources | None = None,
    idle: bool = True,
    wait_ms: int = 0,
) -> Leased:
    """Up to `most` started runs. With `wait_ms` it waits for the first of the last queue named."""
    free = free or worker.resources
    # No more than there is room for: what is taken and given back is late for somebody else.
    most = min(most, free.concurrency)
    batch = _LeaseBatch(engine, worker, most, free, idle, [])
    _take_assigned(batch)
    for priority in dict.fromkeys(priorities):
        if batch.full:
            break
        wait = wait_ms if priority == priorities[-1] and not batch.leases else 0
        for one in sorted(_receive(batch, priority, wait), key=lambda each: each.message.fire_at):
            _take(batch, one)
    return Leased(batch.leases, batch.alone_waiting)


def _receive(batch: _LeaseBatch, priority: Priority, wait_ms: int) -> Sequence[Received]:
    """Raises Unavailable, but not when there is something to give already: what was started must not be dropped."""
    wanted = min(batch.most - len(batch.leases), 10)
    queues, pool = batch.engine.queues, batch.worker.pool
    try:
        return queues.receive(pool, priority, wanted, visibility_ms=VISIBILITY_MS, wait_ms=wait_ms)
    except Unavailable:
        if batch.leases:
            return ()
        raise


def _take(batch: _LeaseBatch, received: Received) -> None:
    verdict = _try_to_start(batch, received.message)
    if isinstance(verdict, Started):
        batch.add(verdict, received)
    elif isinstance(verdict, _NotOurs):
        _settle(batch.engine, received, _hand_on(batch, received, verdict.needs))
    elif isinstance(verdict, Done):
        _settle(batch.engine, received, None)
    else:
        _settle(batch.engine, received, verdict.after_ms)


def _hand_on(batch: _LeaseBatch, received: Received, needs: Needs | None) -> int:
    """Tell a live worker of the pool that can do it; how long the message rests then.

    Left in the queue, it would be taken again and again by whoever polls the longest, before the one that it is for.
    """
    message = received.message
    able = _able(batch, message.tenant, needs or _needs_of_run(batch.engine, message.run_id))
    try:
        if able is not None and batch.engine.registry.assign(able.worker_id, message.run_id):
            return HANDED_ON_MS
    except Unavailable:
        pass
    return min(REST_MS << min(received.receive_count - 1, 10), LONGEST_REST_MS)


def _able(batch: _LeaseBatch, tenant: str, needs: Needs | None) -> WorkerRecord | None:
    """Who has the fewest runs waiting for it of those that could take this one."""
    if needs is None:
        return None
    now = batch.engine.clock.now()
    able = [
        worker
        for worker in batch.engine.registry.workers()
        if worker.pool == batch.worker.pool
        and worker.worker_id != batch.worker.worker_id
        and worker.tenant in (None, tenant)
        and worker.status(now) is WorkerStatus.ACTIVE
        and worker.can_do(needs)
        and len(worker.assigned) < MOST_ASSIGNED
    ]
    return min(able, key=lambda worker: len(worker.assigned), default=None)


def _needs_of_run(engine: Engine, run_id: str) -> Needs | None:
    run = engine.store.get(run_id)
    definition = None if run is None else definition_of(engine, run)
    return None if definition is None else _needs(definition)


def _try_to_start(batch: _LeaseBatch, message: RunMessage, *, by_name: bool = False) -> Started | Verdict:
    clock = batch.engine.clock
    early = message.fire_at - clock.now()
    if batch.worker.tenant not in (None, message.tenant):
        return _NotOurs(REST_MS, "it is another tenant's")
    if batch.full:
        return GiveBack(0, "no room for it now")
    # One that is started already is not kept waiting for one that is still to come.
    if early > (HOLD_BESIDE_MS if batch.leases else HOLD_MS):
        return GiveBack(early, "early")
    clock.sleep_until(message.fire_at)
    try:
        return start_run(batch.engine, message, batch.worker.worker_id, batch.judge, by_name=by_name)
    except Unavailable as error:
        return GiveBack(UNAVAILABLE_MS, f"unavailable: {error}")


def _settle(engine: Engine, received: Received, after_ms: int | None) -> None:
    """Whatever fails here comes again by itself."""
    try:
        if after_ms is None:
            engine.queues.delete(received)
        else:
            engine.queues.hide(received, after_ms)
    except Unavailable:
        return


def _take_assigned(batch: _LeaseBatch) -> None:
    """Runs that were handed to this worker by name; no message stands for them but the watch slot's."""
    assigned = sorted(batch.worker.assigned)
    if not assigned:
        return
    for run in _assigned_runs(batch.engine, assigned, batch.worker):
        verdict = _try_to_start(batch, message_for(run), by_name=True)
        if isinstance(verdict, Started):
            batch.add(verdict, None)
        elif isinstance(verdict, GiveBack) and not isinstance(verdict, _NotOurs) and run.status is Status.DISPATCHED:
            assigned.remove(run.run_id)  # for its next lease
    try:
        batch.engine.registry.unassign(batch.worker.worker_id, assigned)
    except Unavailable:
        return  # the next lease finds that they are started


def _assigned_runs(engine: Engine, run_ids: Iterable[str], worker: WorkerRecord) -> list[Record]:
    found = [engine.store.get(run_id) for run_id in run_ids]
    return [run for run in found if run is not None and worker.tenant in (None, run.tenant)]


def _needs(definition: Definition) -> Needs:
    return worker_needs(definition.target, definition.requirements, definition.timeout_seconds)

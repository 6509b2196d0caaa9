"""Lease runs to a pull worker: receive them in the order it asks for, check and start them."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from onthedot.core import lifecycle
from onthedot.core.choices import Priority
from onthedot.core.errors import OnthedotError, Unavailable
from onthedot.core.pools import Needs
from onthedot.core.ports import Received, RunMessage
from onthedot.core.records import Definition, Record, Status
from onthedot.core.schema import PRIORITIES
from onthedot.core.send import message_for
from onthedot.core.start import NEAR_MS, Done, Redeliver, Started, Verdict, Waits, start_run
from onthedot.engine import Engine
from onthedot.gates.wait import pass_on
from onthedot.workers.assign import OtherWorkers, delete, give_back, needs_of_definition
from onthedot.workers.records import Resources, WorkerRecord

HIDE_MS: Final = 3_000
NO_ROOM_MS: Final = 1_000


@dataclass(frozen=True, slots=True)
class LeasedRun:
    """A run that was started for the worker."""

    run: Record
    definition: Definition | None
    received: Received | None
    """Its message. None: the run was assigned to the worker."""
    alone: bool
    """The run lost a worker before, so no other run should run alongside it."""


@dataclass(frozen=True, slots=True)
class LeasedRuns:
    leases: Sequence[LeasedRun]
    alone_waiting: bool = False
    """A run that must be alone found the worker busy. The worker should take no more runs until it is idle."""


@dataclass(frozen=True, slots=True)
class ForOtherWorker(Redeliver):
    """The verdict on a run that this worker cannot take, but another worker may."""

    needs: Needs | None = None
    """The needs that the other worker must meet. None: they are not read yet, because the run is another tenant's."""


@dataclass(slots=True)
class LeaseBatch:
    """The runs that one lease call starts for a worker, and the resources that are left there."""

    engine: Engine
    worker: WorkerRecord
    most: int
    free: Resources
    idle: bool
    search_until: int
    leases: list[LeasedRun] = field(default_factory=list)
    alone_waiting: bool = False
    others: OtherWorkers = field(init=False)

    def __post_init__(self) -> None:
        self.others = OtherWorkers(self.engine, self.worker)

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
            return ForOtherWorker(HIDE_MS, f"worker {self.worker.worker_id} lacks {lacking}", needs)
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


VISIBILITY_MS: Final = lifecycle.LEASE_MS + lifecycle.CLOCK_MARGIN_MS + 2_000
"""How long a received message is hidden. A run of a tenant that no live worker serves waits in this way."""
LONGEST_WAIT_MS: Final = 2_000
"""How long a lease waits for the fire time of its first run."""
WAIT_BESIDE_MS: Final = 50
"""How long a lease waits for the fire time of a further run: the runs that are started already must not wait for it."""
LONGEST_HIDE_MS: Final = 60_000
"""The longest time to hide a message that no live worker can take. The time grows with each delivery, so that the
message does not delay others."""
UNAVAILABLE_MS: Final = 5_000
MOST_RECEIVED: Final = 10
MOST_ROUNDS: Final = 120
"""How often a lease receives from one queue while it gets only messages of runs that this worker does not start."""
LONGEST_SEARCH_MS: Final = 3_000
"""How long a lease looks for a first run behind messages of runs that this worker does not start."""


def lease_runs(
    engine: Engine,
    worker: WorkerRecord,
    *,
    most: int,
    priorities: Sequence[Priority] = PRIORITIES,
    free: Resources | None = None,
    idle: bool = True,
    arrived: Sequence[Received] = (),
) -> LeasedRuns:
    """Start up to `most` runs for the worker: of those assigned to it, of `arrived`, then of the queues.

    `arrived` has messages that were received for this worker. A queue that fails keeps no runs of the others back.
    Raise Unavailable when no run was started and all queues fail.
    """
    free = free or worker.resources
    # No more than the worker has room for: a run that it receives and cannot take is late for another worker.
    most = min(most, free.concurrency)
    batch = LeaseBatch(engine, worker, most, free, idle, engine.clock.now() + LONGEST_SEARCH_MS)
    _lease_assigned(batch)
    for received in arrived:
        _lease(batch, received)
    asked = list(dict.fromkeys(priorities))
    failed: list[Unavailable] = []
    for priority in asked:
        if batch.full:
            break
        try:
            _lease_from(batch, priority)
        except Unavailable as error:
            failed.append(error)
    if failed and len(failed) == len(asked) and not batch.leases:
        raise failed[0]
    return LeasedRuns(batch.leases, batch.alone_waiting)


def _lease_from(batch: LeaseBatch, priority: Priority) -> None:
    """Lease runs of one queue. While messages arrive whose runs this worker does not start, receive the next ones.

    Such a run is for another worker, or waits at a gate now. These rounds receive as many messages as possible, so that
    a worker with one place gets through many quickly.
    """
    queues, pool = batch.engine.queues, batch.worker.pool
    maximum = min(batch.most - len(batch.leases), MOST_RECEIVED)
    for _ in range(MOST_ROUNDS):
        received = queues.receive(pool, priority, maximum, visibility_ms=VISIBILITY_MS)
        passed = [_lease(batch, one) for one in sorted(received, key=lambda each: each.message.due_at)]
        if batch.leases or not any(passed) or batch.engine.clock.now() >= batch.search_until:
            return
        maximum = MOST_RECEIVED


def _lease(batch: LeaseBatch, received: Received) -> bool:
    """Start the run of a message, or settle the message. Return whether another message may have a run to start."""
    verdict = _try_to_start(batch, received.message)
    if isinstance(verdict, Started):
        batch.add(verdict, received)
    elif isinstance(verdict, Done):
        delete(batch.engine, received)
    elif isinstance(verdict, ForOtherWorker):
        pass_on(batch.engine, received.message)  # no worker may be able to run it, and another run can take its place
        give_back(batch.engine, received, _hand_over(batch, received, verdict))
    else:
        give_back(batch.engine, received, verdict.after_ms)
    return isinstance(verdict, ForOtherWorker | Waits)


def _hand_over(batch: LeaseBatch, received: Received, verdict: ForOtherWorker) -> int | None:
    """Hand the run to a worker that can take it. Return how long to hide its message. None: no call is needed."""
    hide_ms = batch.others.take(received.message, verdict.needs)
    if hide_ms is not None or verdict.needs is None:
        return hide_ms
    return min(verdict.after_ms << min(received.receive_count - 1, 10), LONGEST_HIDE_MS)


def _try_to_start(batch: LeaseBatch, message: RunMessage, *, assigned: bool = False) -> Started | Verdict:
    clock = batch.engine.clock
    early = message.due_at - clock.now()
    if batch.worker.tenant not in (None, message.tenant):
        return ForOtherWorker(HIDE_MS, "it is another tenant's")
    if batch.full:
        return Redeliver(0, "no room for it now")
    if early > (WAIT_BESIDE_MS if batch.leases else LONGEST_WAIT_MS):
        return Redeliver(early, "early")
    clock.sleep_until(message.due_at)
    try:
        return start_run(
            batch.engine,
            message,
            batch.worker.worker_id,
            batch.check_fit,
            assigned=assigned,
            near_ms=WAIT_BESIDE_MS if batch.leases else NEAR_MS,
        )
    except OnthedotError as error:
        return Redeliver(UNAVAILABLE_MS, f"unavailable: {error}")


def _lease_assigned(batch: LeaseBatch) -> None:
    """Start the runs that are assigned to this worker. They have no message, only their watch slot."""
    settled = []
    for run_id in sorted(batch.worker.assigned):
        if batch.full:
            break
        if _lease_by_name(batch, run_id):
            settled.append(run_id)
    if settled:
        with suppress(Unavailable):  # if this fails, the next lease finds that they are started
            batch.engine.registry.unassign(batch.worker.worker_id, settled)


def _lease_by_name(batch: LeaseBatch, run_id: str) -> bool:
    """Start an assigned run. Return False if it is to wait for the worker's next lease."""
    try:
        run = batch.engine.store.get(run_id)
    except OnthedotError:
        return False
    if run is None or batch.worker.tenant not in (None, run.tenant):
        return True
    verdict = _try_to_start(batch, message_for(run), assigned=True)
    if isinstance(verdict, Started):
        batch.add(verdict, None)
    later = isinstance(verdict, Redeliver) and not isinstance(verdict, ForOtherWorker)
    return not (later and run.status is Status.DISPATCHED)

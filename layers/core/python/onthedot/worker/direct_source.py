"""The desk of a worker with AWS credentials: the use cases in its own process, messages straight from the queues."""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from onthedot.domain.errors import InvalidRequest, JobNotFound, StaleAttempt, Unavailable, WorkerNotFound
from onthedot.domain.runs import lifecycle
from onthedot.domain.runs.records import Definition, Priority, Record
from onthedot.domain.workers.pools import Needs, worker_needs
from onthedot.domain.workers.records import Load, Resources, WorkerRecord
from onthedot.ports import Answer, Engine, Performer
from onthedot.stopping import Stop
from onthedot.use_cases.attempts.call_target import perform
from onthedot.use_cases.workers.lease_runs import Lease, lease_runs
from onthedot.use_cases.workers.report_run import complete_run, keep_lease
from onthedot.use_cases.workers.worker_registry import Offer, beat_worker, find_worker, register_worker
from onthedot.worker.polling import POLL_SECONDS, PolledQueues
from onthedot.worker.work_source import Fenced, LeasedTasks, LeaseExtended, NotAllowed, Task, WorkSource

EVERYBODY: Final = None
"""The operator's worker serves all tenants."""


@dataclass(frozen=True, slots=True)
class _Note:
    run: Record
    definition: Definition | None
    receipt: str | None


class DirectWorkSource(WorkSource):
    """Works on an engine, for one pool. `check` raises NotAllowed when this machine's clock cannot be trusted."""

    notices_work = True

    def __init__(
        self,
        engine: Engine,
        pool: str,
        *,
        check: Callable[[], None] = lambda: None,
        poll_seconds: float = POLL_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._queues = PolledQueues(engine.queues, pool, poll_seconds)
        self._engine = replace(engine, queues=self._queues)
        self._check = check
        self._monotonic = monotonic
        self._chance = random.Random()  # noqa: S311 (jitter of retries, not a secret)
        self._offer: Offer | None = None
        self._worker: WorkerRecord | None = None

    def register(self, offer: Offer) -> str:
        try:
            self._worker = register_worker(self._engine, EVERYBODY, offer)
        except InvalidRequest as error:
            raise NotAllowed(str(error)) from error
        self._offer = replace(offer, worker_id=self._worker.worker_id)
        self._check()
        return self._worker.worker_id

    def beat(self, load: Load) -> None:
        self._check()
        try:
            self._worker = beat_worker(self._engine, EVERYBODY, self._me.worker_id, load)
        except WorkerNotFound:
            self._register_again()
            self._worker = beat_worker(self._engine, EVERYBODY, self._me.worker_id, load)
        if self._worker.assigned and not load.stopping:
            self._queues.wake()

    def take(self, most: int, priorities: Sequence[Priority], free: Resources, *, idle: bool) -> LeasedTasks:
        worker = self._me
        if worker.assigned:  # as of the last beat; what was taken since must not be tried again
            worker = self._worker = find_worker(self._engine, EVERYBODY, worker.worker_id)
        leased = lease_runs(self._engine, worker, most=most, priorities=priorities, free=free, idle=idle)
        return LeasedTasks([self._task(lease) for lease in leased.leases], leased.alone_waiting)

    def wait(self, seconds: float) -> bool:
        return self._queues.wait(seconds)

    def rest(self) -> None:
        self._queues.rest()

    def close(self) -> None:
        self._queues.close()

    def keep(self, task: Task) -> LeaseExtended | Fenced:
        note: _Note = task.source_note
        asked = self._monotonic()
        try:
            run = keep_lease(self._engine, EVERYBODY, task.run_id, task.attempt, note.receipt)
        except (StaleAttempt, JobNotFound) as error:
            return Fenced(str(error))
        return LeaseExtended(asked + lifecycle.LEASE_MS / 1000, run.cancel_requested is not None)

    def report(self, task: Task, answer: Answer) -> Fenced | None:
        receipt = task.source_note.receipt
        try:
            complete_run(
                self._engine, EVERYBODY, task.run_id, task.attempt, answer, receipt=receipt, chance=self._chance
            )
        except (StaleAttempt, JobNotFound) as error:
            return Fenced(str(error))
        return None

    @property
    def _me(self) -> WorkerRecord:
        if self._worker is None:
            raise Unavailable("not registered yet")
        return self._worker

    def _register_again(self) -> None:
        if self._offer is not None:
            self.register(self._offer)

    def _task(self, lease: Lease) -> Task:
        run, definition = lease.run, lease.definition
        needs = Needs(frozenset())
        if definition is not None:
            needs = worker_needs(definition.target, definition.requirements, definition.timeout_seconds)
        left_ms = (run.lease_until or 0) - self._engine.clock.now()
        return Task(
            run_id=run.run_id,
            attempt=run.attempt,
            priority=run.priority,
            needs=needs,
            alone=lease.alone,
            lease_end=self._monotonic() + left_ms / 1000,
            perform=partial(self._perform, run, definition),
            source_note=_Note(run, definition, None if lease.received is None else lease.received.receipt),
        )

    def _perform(self, run: Record, definition: Definition | None, target: Performer, stop: Stop) -> Answer:
        return perform(self._engine, target, run, definition, stop)

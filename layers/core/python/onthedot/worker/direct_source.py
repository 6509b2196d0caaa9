"""The work source of a worker with AWS credentials: use cases in its own process, messages straight from the queues."""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any, Final

from onthedot.core import lifecycle
from onthedot.core.attempt import perform
from onthedot.core.choices import Priority
from onthedot.core.errors import InvalidRequest, JobNotFound, StaleAttempt, Unavailable
from onthedot.core.leases import Fenced, LeaseExtended
from onthedot.core.pools import Needs
from onthedot.core.ports import Answer
from onthedot.core.progress import ProgressReport
from onthedot.engine import Engine
from onthedot.worker.queues import POLL_SECONDS, QueuePolls
from onthedot.worker.work_source import LeasedTasks, NotAllowed, Task, WorkSource
from onthedot.workers.assign import needs_of_definition
from onthedot.workers.lease import LeasedRun, lease_runs
from onthedot.workers.records import Load, Resources, WorkerRecord
from onthedot.workers.registrations import Offer, beat_worker, find_worker, register_worker
from onthedot.workers.report import complete_run, keep_lease

ALL_TENANTS: Final = None
"""The tenant of the operator's worker, which serves all tenants."""


class DirectWorkSource(WorkSource):
    """`check` raises NotAllowed when this machine's clock is off. `flush` writes the metrics since its last call."""

    notices_work = True

    def __init__(
        self,
        engine: Engine,
        pool: str,
        *,
        check: Callable[[], None] = lambda: None,
        flush: Callable[[], None] = lambda: None,
        poll_seconds: float = POLL_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._polls = QueuePolls(engine.queues, pool, poll_seconds)
        self._engine = engine
        self._check = check
        self._flush = flush
        self._monotonic = monotonic
        self._chance = random.Random()  # noqa: S311 (jitter of retries, not a secret)
        self._worker: WorkerRecord | None = None

    def register(self, offer: Offer) -> str:
        try:
            self._worker = register_worker(self._engine, ALL_TENANTS, offer)
        except InvalidRequest as error:
            raise NotAllowed(str(error)) from error
        self._check()
        return self._worker.worker_id

    def send_heartbeat(self, load: Load) -> None:
        self._check()
        self._flush()
        self._worker = beat_worker(self._engine, ALL_TENANTS, self._registered.worker_id, load)
        if self._worker.assigned and not load.stopping:
            self._polls.wake()

    def lease(self, most: int, priorities: Sequence[Priority], free: Resources, *, idle: bool) -> LeasedTasks:
        worker = self._registered
        if worker.assigned:
            # The record is as old as the last heartbeat. A run that was leased since then must not be tried again.
            worker = self._worker = find_worker(self._engine, ALL_TENANTS, worker.worker_id)
        leased = lease_runs(
            self._engine,
            worker,
            most=most,
            priorities=priorities,
            free=free,
            idle=idle,
            arrived=self._polls.take(priorities),
        )
        return LeasedTasks([self._task(lease) for lease in leased.leases], leased.alone_waiting)

    def wait(self, seconds: float) -> bool:
        return self._polls.wait(seconds)

    def pause(self) -> None:
        self._polls.pause()

    def close(self) -> None:
        self._polls.close()
        self._flush()

    def extend_lease(self, task: Task, progress: ProgressReport | None = None) -> LeaseExtended | Fenced:
        asked_at = self._monotonic()
        try:
            run = keep_lease(self._engine, ALL_TENANTS, task.run_id, task.attempt, task.source_note, progress=progress)
        except (StaleAttempt, JobNotFound) as error:
            return Fenced(str(error))
        return LeaseExtended(asked_at + lifecycle.LEASE_MS / 1000, run.cancel_requested is not None)

    def report(self, task: Task, answer: Answer) -> Fenced | None:
        run = ALL_TENANTS, task.run_id, task.attempt
        try:
            complete_run(self._engine, *run, answer, receipt=task.source_note, chance=self._chance)
        except (StaleAttempt, JobNotFound) as error:
            return Fenced(str(error))
        return None

    @property
    def _registered(self) -> WorkerRecord:
        if self._worker is None:
            raise Unavailable("the worker is not registered yet")
        return self._worker

    def _task(self, lease: LeasedRun) -> Task:
        run, definition = lease.run, lease.definition
        left_ms = (run.lease_until or 0) - self._engine.clock.now()
        return Task(
            run_id=run.run_id,
            attempt=run.attempt,
            priority=run.priority,
            needs=Needs(frozenset()) if definition is None else needs_of_definition(definition),
            alone=lease.alone,
            lease_end=self._monotonic() + left_ms / 1000,
            perform=lambda target, stop, progress: perform(
                self._engine, target, run, definition, stop, progress=progress
            ),
            # A run that was assigned to this worker has no message.
            source_note=None if lease.received is None else lease.received.receipt,
        )


MOST_OFF_MS: Final = 1_000
_RESOLUTION_MS: Final = 1_000
"""A `Date` is in whole seconds: the reply was made within the second after it."""


def clock_offset_ms(sent_at: int, received_at: int, date: str) -> int:
    """Return by how much our clock is certainly ahead (positive) or behind (negative), 0 if it may be right."""
    made_at = round(parsedate_to_datetime(date).timestamp() * 1000)
    if sent_at > made_at + _RESOLUTION_MS:
        return sent_at - (made_at + _RESOLUTION_MS)
    return min(received_at - made_at, 0)


class ClockCheck:
    """An observer of the replies of AWS. Safe to use from several threads."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._offset_ms = 0

    def note(self, sent_at: int, reply: Mapping[str, Any]) -> None:
        date = reply.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
        if date is None:
            return
        try:
            self._offset_ms = clock_offset_ms(sent_at, self._now(), date)
        except ValueError:
            return  # an unreadable date says nothing about our clock

    def check(self) -> None:
        """Raise NotAllowed when the last reply showed that this machine's clock is off."""
        offset_ms = self._offset_ms
        if abs(offset_ms) > MOST_OFF_MS:
            direction = "ahead of" if offset_ms > 0 else "behind"
            raise NotAllowed(
                f"this machine's clock is {abs(offset_ms) / 1000:.1f} s {direction} AWS's, so runs would start at the "
                "wrong time; synchronize it with NTP (chronyd, systemd-timesyncd, w32time) and restart the worker"
            )

"""The main loop of a pull worker: register, lease tasks while resources are free, and end in order when stopped."""

import logging
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from onthedot.core.errors import Unavailable, WorkerNotFound
from onthedot.core.finish import STOPPED
from onthedot.core.leases import HEARTBEAT_SECONDS, WATCH_SECONDS, HeartbeatThreads
from onthedot.core.ports import Performer
from onthedot.core.retry import Backoff
from onthedot.worker.queues import PriorityOrder
from onthedot.worker.task_protection import EcsAgent, TaskProtection
from onthedot.worker.tasks import STOP_PATIENCE, Heartbeat, RunningTasks, TaskThreads
from onthedot.worker.work_source import LeasedTasks, NotAllowed, WorkSource
from onthedot.workers.records import Resources
from onthedot.workers.registrations import Offer

MOST_AT_ONCE: Final = 10
LONG_WAIT_SECONDS: Final = 20.0
LAST_REPORTS_SECONDS: Final = 5.0
"""Time for the reports of tasks that were stopped at the end, after the targets' own time to end."""
LAST_BEAT_SECONDS: Final = 5.0
"""Time for a heartbeat that is under way when the worker ends."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pace:
    """The intervals and time limits of a worker, in seconds."""

    heartbeat: float = HEARTBEAT_SECONDS
    watch: float = WATCH_SECONDS
    idle: tuple[float, float] = (0.2, 2.0)
    """The first and the longest pause between two leases that find nothing."""
    errors: tuple[float, float] = (0.5, 30.0)
    """The first and the longest pause after a call that was Unavailable."""
    grace: float = 25.0
    alone: float = 300.0
    """How long the worker leases nothing for a run that must be alone. After this time another worker may have that
    run."""


class Runtime:
    """One pull worker. `run` returns after a stop. Any thread may call `stop` and `stop_now`."""

    def __init__(
        self,
        source: WorkSource,
        target: Performer,
        offer: Offer,
        pace: Pace | None = None,
        *,
        agent: EcsAgent | None = None,
        on_ready: Callable[[str], None] = lambda _: None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        pace = pace or Pace()
        chance = random.Random()  # noqa: S311 (jitter, not a secret)
        self._source = source
        self._offer = offer
        self._on_ready = on_ready
        self._monotonic = monotonic
        self._grace = pace.grace
        self._alone_seconds = pace.alone
        self._running_tasks = RunningTasks(offer.resources, monotonic)
        self._task_threads = TaskThreads(source, self._running_tasks, target, monotonic)
        self._protection = TaskProtection(agent, self._running_tasks, pace.grace, monotonic) if agent else None
        self._heartbeat = Heartbeat(
            source,
            self._running_tasks,
            monotonic,
            register=lambda: source.register(self._offer),
            abandon=self._task_threads.abandon,
        )
        self._heartbeat_threads = HeartbeatThreads(
            self._beat,
            self._heartbeat.watch,
            beat_seconds=pace.heartbeat,
            watch_seconds=pace.watch,
            on_failure=self._end_without_heartbeat,
        )
        self._priorities = PriorityOrder(monotonic())
        self._idling = Backoff(*pace.idle, chance)
        self._failing = Backoff(*pace.errors, chance)
        self._stopping = threading.Event()
        self._refusal: NotAllowed | None = None
        self._found_nothing = False

    def stop(self) -> None:
        """Lease nothing more, let running tasks finish within the grace, and hand back the rest.

        The first call sends a heartbeat at once, which reports that the worker is stopping. Later calls send none.
        """
        if not self._stopping.is_set():
            self._stopping.set()
            self._heartbeat_threads.beat_soon()
        self._source.pause()
        self._running_tasks.wake()

    def stop_now(self) -> None:
        """Ask all running tasks to stop, without any grace. An attempt that is not reported by then is lost."""
        self.stop()
        self._ask_all_to_stop()

    def run(self) -> None:
        """Work until stopped. Raise NotAllowed when the worker may not work here, or not any more."""
        worker_id = self._register()
        if worker_id is None:
            return
        self._on_ready(worker_id)
        self._heartbeat_threads.start()
        if self._protection:
            self._protection.start()
        try:
            while not self._stopping.is_set():
                self._turn()
        finally:
            self._end()
        if self._refusal is not None:
            raise self._refusal

    def _register(self) -> str | None:
        """Register until it succeeds, and return the worker's id. Return None when the worker is stopped before."""
        while not self._stopping.is_set():
            try:
                worker_id = self._source.register(self._offer)
            except Unavailable as error:
                self._pause_after(error)
            else:
                # A worker that must register again keeps its id, because its leases are under that id.
                self._offer = replace(self._offer, worker_id=worker_id)
                return worker_id
        return None

    def _turn(self) -> None:
        tasks = self._running_tasks
        if not self._may_lease():
            self._source.pause()
            tasks.wait_until(lambda: self._stopping.is_set() or self._may_lease())
            return
        try:
            if self._found_nothing and not self._source.wait(self._patience()):
                return
            if self._stopping.is_set() or not self._may_lease():
                return
            if (free := tasks.free_resources()) is not None:
                self._continue_after(self._lease(free))
        except Unavailable as error:
            self._pause_after(error)
        except WorkerNotFound:
            self._register()
        except NotAllowed as error:
            self._stop_after(error)

    def _may_lease(self) -> bool:
        is_resting = self._protection is not None and self._protection.is_resting
        return not is_resting and self._running_tasks.free_resources() is not None

    def _patience(self) -> float:
        return LONG_WAIT_SECONDS if self._source.notices_work else self._idling.next()

    def _lease(self, free: Resources) -> LeasedTasks:
        most = min(free.concurrency, MOST_AT_ONCE)
        order = self._priorities.order(self._monotonic())
        leased = self._source.lease(most, order, free, idle=self._running_tasks.is_idle)
        for task in leased.tasks:
            self._task_threads.begin(task)
        self._priorities.record(order, most, [task.priority for task in leased.tasks], self._monotonic())
        return leased

    def _continue_after(self, leased: LeasedTasks) -> None:
        self._failing.reset()
        self._found_nothing = not leased.tasks
        if leased.tasks:
            self._idling.reset()
        if leased.alone_waiting:
            self._source.pause()
            self._running_tasks.wait_until(
                lambda: self._stopping.is_set() or self._running_tasks.is_idle, self._alone_seconds
            )

    def _pause_after(self, error: Unavailable) -> None:
        if self._failing.is_fresh:
            log.warning("unavailable: %s; trying again until there is an answer", error)
        self._stopping.wait(self._failing.next())

    def _beat(self) -> bool:
        try:
            return self._heartbeat.beat(stopping=self._stopping.is_set())
        except NotAllowed as error:
            self._stop_after(error)
            return True

    def _end_without_heartbeat(self, error: Exception) -> None:
        """Stop the worker. Without its heartbeat it would lose all the runs that it leases."""
        self._stop_after(NotAllowed(f"the worker's {threading.current_thread().name} failed unexpectedly: {error!r}"))

    def _stop_after(self, refusal: NotAllowed) -> None:
        self._refusal = self._refusal or refusal
        self.stop()

    def _ask_all_to_stop(self) -> None:
        for running in self._running_tasks.running():
            running.ask_to_stop(STOPPED, self._monotonic())

    def _end(self) -> None:
        """Let running tasks finish within the grace, hand back the rest, and report that the worker has stopped."""
        tasks = self._running_tasks
        self.stop()
        if not tasks.wait_until(lambda: tasks.is_idle, self._grace):
            self._ask_all_to_stop()
            tasks.wait_until(lambda: tasks.is_idle, STOP_PATIENCE + LAST_REPORTS_SECONDS)
        self._source.close()
        if self._protection:
            self._protection.end()
        self._heartbeat_threads.end(LAST_BEAT_SECONDS)
        for left in tasks.running():
            log.error("not_reported: run %s; it will be retried when its lease ends", left.task.run_id)
        try:
            self._source.send_heartbeat(tasks.load(stopped=True))
        except (Unavailable, NotAllowed, WorkerNotFound) as error:
            log.warning("good_bye_failed: %s", error)

"""The life of a pull worker: register, take what there is room for, and when asked to stop, end in order."""

import logging
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from onthedot.domain.backoff import Backoff
from onthedot.domain.errors import Unavailable, WorkerNotFound
from onthedot.domain.workers.records import Resources
from onthedot.ports import Performer
from onthedot.use_cases.attempts.keep_leases import HEARTBEAT_SECONDS, WATCH_SECONDS
from onthedot.use_cases.workers.worker_registry import Offer
from onthedot.worker.heartbeat import STOP_PATIENCE, STOPPED, Heartbeat
from onthedot.worker.heartbeat_threads import HeartbeatThreads
from onthedot.worker.priorities import PriorityOrder
from onthedot.worker.running_tasks import RunningTasks
from onthedot.worker.task_threads import TaskThreads
from onthedot.worker.work_source import LeasedTasks, NotAllowed, WorkSource

MOST_AT_ONCE: Final = 10
LONG_WAIT_SECONDS: Final = 20.0
LAST_WORDS_SECONDS: Final = 5.0
"""For the reports of what was stopped at the end, beyond the targets' own time to end."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pace:
    """How long things take, in seconds: between beats, at first and at most between asking; and the grace."""

    heartbeat: float = HEARTBEAT_SECONDS
    watch: float = WATCH_SECONDS
    idle: tuple[float, float] = (0.2, 2.0)
    errors: tuple[float, float] = (0.5, 30.0)
    grace: float = 25.0
    alone: float = 300.0
    """How long slots are kept empty for a run that must be alone: another worker may have it by now."""


class Runtime:
    """One worker. `run` returns when it was stopped; `stop` and `stop_now` may be called from any other thread."""

    def __init__(
        self,
        source: WorkSource,
        target: Performer,
        offer: Offer,
        pace: Pace | None = None,
        *,
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
        self._attempts = TaskThreads(source, self._running_tasks, target, monotonic)
        heartbeat = Heartbeat(source, self._running_tasks, monotonic, self._attempts.abandon)
        self._threads = HeartbeatThreads(
            heartbeat, beat_seconds=pace.heartbeat, watch_seconds=pace.watch, on_refusal=self._be_refused
        )
        self._priorities = PriorityOrder(monotonic())
        self._idling = Backoff(*pace.idle, chance)
        self._failing = Backoff(*pace.errors, chance)
        self._stopping = threading.Event()
        self._refusal: NotAllowed | None = None
        self._found_nothing = False

    def stop(self) -> None:
        """Take nothing more, finish what runs within the grace, hand back the rest."""
        self._stopping.set()
        self._threads.say_stopping()
        self._source.rest()
        self._running_tasks.nudge()

    def stop_now(self) -> None:
        """Ask everything that runs to stop, without any grace. What is not reported then is found lost."""
        self.stop()
        self._ask_all_to_stop()

    def run(self) -> None:
        """Work until asked to stop. Raises NotAllowed when it cannot work here, or not any more."""
        worker_id = self._register()
        if worker_id is None:
            return
        self._on_ready(worker_id)
        self._threads.start()
        try:
            while not self._stopping.is_set():
                self._turn()
        finally:
            self._end()
        if self._refusal is not None:
            raise self._refusal

    def _register(self) -> str | None:
        """None when it was stopped before that succeeded."""
        while not self._stopping.is_set():
            try:
                worker_id = self._source.register(self._offer)
            except Unavailable as error:
                self._pause_after(error)
            else:
                # If it must register again it stays who it is: the runs that it has are in this name.
                self._offer = replace(self._offer, worker_id=worker_id)
                return worker_id
        return None

    def _turn(self) -> None:
        """Take as much as there is room for, or wait until there is room and work."""
        if self._running_tasks.room() is None:
            self._source.rest()
            self._running_tasks.wait_until(lambda: self._stopping.is_set() or self._running_tasks.room() is not None)
            return
        try:
            if self._found_nothing and not self._source.wait(self._patience()):
                return
            if not self._stopping.is_set() and (free := self._running_tasks.room()) is not None:
                self._go_on_after(self._take(free))
        except Unavailable as error:
            self._pause_after(error)
        except WorkerNotFound:
            self._register()
        except NotAllowed as error:
            self._be_refused(error)

    def _patience(self) -> float:
        return LONG_WAIT_SECONDS if self._source.notices_work else self._idling.next()

    def _take(self, free: Resources) -> LeasedTasks:
        most = min(free.concurrency, MOST_AT_ONCE)
        order = self._priorities.order(self._monotonic())
        taken = self._source.take(most, order, free, idle=self._running_tasks.is_idle)
        for task in taken.tasks:
            self._attempts.begin(task)
        given = [task.priority for task in taken.tasks]
        self._priorities.looked(order, most, given, self._monotonic())
        return taken

    def _go_on_after(self, taken: LeasedTasks) -> None:
        self._failing.reset()
        self._found_nothing = not taken.tasks
        if taken.tasks:
            self._idling.reset()
        if taken.alone_waiting:
            self._source.rest()
            self._running_tasks.wait_until(
                lambda: self._stopping.is_set() or self._running_tasks.is_idle, self._alone_seconds
            )

    def _pause_after(self, error: Unavailable) -> None:
        if self._failing.is_fresh:
            log.warning("unavailable: %s; trying again until it answers", error)
        self._stopping.wait(self._failing.next())

    def _be_refused(self, refusal: NotAllowed) -> None:
        self._refusal = self._refusal or refusal
        self.stop()

    def _ask_all_to_stop(self) -> None:
        for running in self._running_tasks.running():
            running.ask_to_stop(STOPPED, self._monotonic())

    def _end(self) -> None:
        """Let what runs finish within the grace, hand back the rest, and say good-bye."""
        self.stop()
        if not self._running_tasks.wait_until(lambda: self._running_tasks.is_idle, self._grace):
            self._ask_all_to_stop()
            self._running_tasks.wait_until(lambda: self._running_tasks.is_idle, STOP_PATIENCE + LAST_WORDS_SECONDS)
        self._source.close()
        self._threads.end()
        for left in self._running_tasks.running():
            log.error("not_reported: run %s; it comes again when its lease ends", left.task.run_id)
        try:
            self._source.beat(self._running_tasks.load(stopped=True))
        except (Unavailable, NotAllowed) as error:
            log.warning("good_bye_failed: %s", error)

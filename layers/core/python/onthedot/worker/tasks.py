"""The tasks of a pull worker: their threads, the resources that they use, and the heartbeat that keeps their leases."""

import logging
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from onthedot.core.errors import Unavailable, WorkerNotFound
from onthedot.core.finish import NOT_EXTENDED, OVERRUN, answer_for_stopped
from onthedot.core.leases import Fenced, LeaseKeeper, RunningAttempt
from onthedot.core.ports import Answer, Performer
from onthedot.core.retry import Backoff
from onthedot.targets.redaction import redacted
from onthedot.worker.work_source import NotAllowed, Task, WorkSource
from onthedot.workers.records import MOST_RECENT, Load, Resources


@dataclass(slots=True, eq=False, kw_only=True)
class RunningTask(RunningAttempt):
    """A task that runs on this worker. Two threads may try to report it, and only the first one does."""

    task: Task
    began: float
    _report: threading.Lock = field(default_factory=threading.Lock)

    def may_report(self) -> bool:
        """Return True to the first caller: the thread that ran the task, or the watch that gave up on that thread."""
        return self._report.acquire(blocking=False)


class RunningTasks:
    """The running tasks of a worker, within its resources. Safe to use from several threads."""

    def __init__(self, resources: Resources, monotonic: Callable[[], float]) -> None:
        self._resources = resources
        self._monotonic = monotonic
        self._changed = threading.Condition()
        self._running: list[RunningTask] = []
        self._ended: deque[str] = deque(maxlen=MOST_RECENT)
        """The latest runs that ended and that no heartbeat has named, the latest first."""

    def add(self, task: Task) -> RunningTask:
        running = RunningTask(lease_end=task.lease_end, task=task, began=self._monotonic())
        with self._changed:
            self._running.append(running)
        return running

    def remove(self, running: RunningTask) -> None:
        with self._changed:
            self._running.remove(running)
            self._ended.appendleft(running.task.run_id)
            self._changed.notify_all()

    def running(self) -> list[RunningTask]:
        with self._changed:
            return list(self._running)

    @property
    def is_idle(self) -> bool:
        return not self._running

    def free_resources(self) -> Resources | None:
        """Return the resources that are free, None when the worker may lease no more tasks."""
        running = self.running()
        if any(one.task.alone for one in running):
            return None
        free = self._resources.minus(_used(running))
        return free if free.concurrency >= 1 else None

    def load(self, *, stopping: bool = False, stopped: bool = False) -> Load:
        with self._changed:
            running, ended = list(self._running), tuple(self._ended)
        return Load(tuple(one.task.run_id for one in running), _used(running), stopping, stopped, ended)

    def was_sent(self, load: Load) -> None:
        """Forget the ended runs that a heartbeat has brought to the registry."""
        sent = frozenset(load.recent)
        with self._changed:
            self._ended = deque((one for one in self._ended if one not in sent), MOST_RECENT)

    def wait_until(self, condition: Callable[[], bool], seconds: float | None = None) -> bool:
        """Wait until the condition is true. It is evaluated whenever a task ends, and after `wake`."""
        with self._changed:
            return self._changed.wait_for(condition, seconds)

    def wake(self) -> None:
        with self._changed:
            self._changed.notify_all()


def _used(running: list[RunningTask]) -> Resources:
    needs = [one.task.needs for one in running]
    return Resources(
        len(needs),
        sum(need.cpu for need in needs),
        sum(need.memory_mb for need in needs),
        sum(need.storage_mb for need in needs),
    )


LONGEST_REPORTING: Final = 300.0
"""Seconds after which the worker stops trying to report a task, even if its lease is still extended."""

log = logging.getLogger(__name__)


class TaskThreads:
    """A thread for each task of a worker. Each task is reported once."""

    def __init__(
        self,
        source: WorkSource,
        running_tasks: RunningTasks,
        target: Performer,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._source = source
        self._running_tasks = running_tasks
        self._target = target
        self._monotonic = monotonic
        self._sleep = sleep
        self._chance = random.Random()  # noqa: S311 (jitter, not a secret)

    def begin(self, task: Task) -> None:
        """Perform the task in a daemon thread: a task that never ends must not keep the process alive."""
        running = self._running_tasks.add(task)
        threading.Thread(target=self._execute, args=(running,), name=f"run-{task.run_id}", daemon=True).start()

    def abandon(self, running: RunningTask) -> None:
        """Report a task whose target does not end. The caller has called `may_report` before."""
        log.error("left_behind: run %s did not stop when asked to", running.task.run_id)
        answer = answer_for_stopped(running.stop.reason or "", None)
        threading.Thread(target=self._conclude, args=(running, answer), name="report", daemon=True).start()

    def _execute(self, running: RunningTask) -> None:
        if running.ends_soon(self._monotonic()):
            # The lease took long to arrive. Another worker may own the run before this one has begun.
            running.ask_to_stop(NOT_EXTENDED, self._monotonic())
            self._end(running, answer_for_stopped(NOT_EXTENDED, None))
            return
        try:
            answer = running.task.perform(self._target, running.stop, running.progress)
        except Exception as error:
            # Performers must not raise. The attempt fails, and the thread's traceback shows the bug.
            self._end(
                running, Answer(ok=False, error=f"the target failed unexpectedly: {error!r}", error_class="internal")
            )
            raise
        self._end(running, answer)

    def _end(self, running: RunningTask, answer: Answer) -> None:
        if running.may_report():
            reason = running.stop.reason
            self._conclude(running, answer if reason is None else answer_for_stopped(reason, answer))

    def _conclude(self, running: RunningTask, answer: Answer) -> None:
        try:
            fenced = (
                Fenced("the run no longer belongs to this attempt") if running.fenced else self._report(running, answer)
            )
            self._log_end(running, answer, fenced)
        except (Unavailable, NotAllowed) as error:
            # The lease ends. The run is then found lost and tried again: later, but not forgotten.
            log.error("report_failed: run %s attempt %d: %s", running.task.run_id, running.task.attempt, error)  # noqa: TRY400
        finally:
            self._running_tasks.remove(running)

    def _report(self, running: RunningTask, answer: Answer) -> Fenced | None:
        """Repeat the report until it is answered or the lease has ended. Heartbeats extend the lease meanwhile."""
        backoff = Backoff(0.2, 2.0, self._chance)
        last = self._monotonic() + LONGEST_REPORTING
        while True:
            try:
                return self._source.report(running.task, answer)
            except Unavailable:
                pause = backoff.next()
                if self._monotonic() + pause >= min(running.lease_end, last):
                    raise
                self._sleep(pause)

    def _log_end(self, running: RunningTask, answer: Answer, fenced: Fenced | None) -> None:
        task = running.task
        ended = "fenced off" if fenced else answer.outcome
        why = fenced.why if fenced else answer.error
        log.info(
            "run %s attempt %d %s in %.3f s%s",
            task.run_id,
            task.attempt,
            ended,
            self._monotonic() - running.began,
            f": {redacted(why)}" if why else "",
            extra={"run": task.run_id, "attempt": task.attempt, "ended": ended, "error_class": answer.error_class},
        )


STOP_PATIENCE: Final = 3.0
"""Seconds that a target has to end after it was asked to stop. After that the worker abandons it."""
OVERRUN_SECONDS: Final = 15.0
"""Targets keep their own timeout. The worker stops a target that outlasts its timeout by this long."""


class Heartbeat:
    """The work of a worker's heartbeat threads. `beat` may hang in a call, `watch` does not."""

    def __init__(
        self,
        source: WorkSource,
        running_tasks: RunningTasks,
        monotonic: Callable[[], float],
        *,
        register: Callable[[], object],
        abandon: Callable[[RunningTask], None],
    ) -> None:
        self._source = source
        self._register = register
        self._running_tasks = running_tasks
        self._monotonic = monotonic
        self._abandon = abandon
        self._keeper = LeaseKeeper(
            running_tasks.running, lambda running, report: source.extend_lease(running.task, report), monotonic
        )
        self._failing = False

    def beat(self, *, stopping: bool = False) -> bool:
        """Extend every lease and send the load. Return whether each extension was answered.

        Register a worker again that the registry has forgotten. The next heartbeat repeats a call that was Unavailable.
        """
        all_answered = self._keeper.extend_all()
        load = self._running_tasks.load(stopping=stopping)
        try:
            try:
                self._source.send_heartbeat(load)
            except WorkerNotFound:
                self._register()
                self._source.send_heartbeat(load)
        except Unavailable as error:
            if not self._failing:
                log.warning("heartbeat_failed: %s", error)
            self._failing = True
        else:
            self._failing = False
            self._running_tasks.was_sent(load)
        return all_answered

    def watch(self) -> None:
        """Stop tasks whose lease is about to end or that outlast their timeout. Abandon tasks that do not end then."""
        self._keeper.stop_expiring()
        now = self._monotonic()
        for running in self._running_tasks.running():
            if running.began + running.task.needs.seconds + OVERRUN_SECONDS <= now:
                running.ask_to_stop(OVERRUN, now)
            asked = running.asked_to_stop_at
            if asked is not None and asked + STOP_PATIENCE <= now and running.may_report():
                self._abandon(running)

"""The tasks that run on this worker now, and the resources that are free beside them."""

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from onthedot.domain.workers.records import MOST_RECENT, Load, Resources
from onthedot.use_cases.attempts.keep_leases import RunningAttempt
from onthedot.worker.work_source import Task


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
        """Count the task as running from now on."""
        running = RunningTask(lease_end=task.lease_end, task=task, began=self._monotonic())
        with self._changed:
            self._running.append(running)
        return running

    def remove(self, running: RunningTask) -> None:
        """Free the resources of a task that has ended."""
        with self._changed:
            self._running.remove(running)
            self._ended.appendleft(running.task.run_id)
            self._changed.notify_all()

    def running(self) -> list[RunningTask]:
        """Return the tasks that run now."""
        with self._changed:
            return list(self._running)

    @property
    def is_idle(self) -> bool:
        """Whether no task runs."""
        return not self._running

    def free_resources(self) -> Resources | None:
        """Return the resources that are free, None when the worker may lease no more tasks."""
        running = self.running()
        if any(one.task.alone for one in running):
            return None
        free = self._resources.minus(_used(running))
        return free if free.concurrency >= 1 else None

    def load(self, *, stopping: bool = False, stopped: bool = False) -> Load:
        """Return the load to report with a heartbeat."""
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
        """Let all waiting threads evaluate their condition again."""
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

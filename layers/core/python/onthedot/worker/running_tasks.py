"""What runs on this worker now, and what room is left beside it."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from onthedot.domain.workers.records import Load, Resources
from onthedot.stopping import Stop
from onthedot.use_cases.attempts.keep_leases import STOP_MARGIN_MS
from onthedot.worker.work_source import Task


@dataclass(slots=True, eq=False)
class RunningTask:
    """One task on the bench. Of those who want to report it, one may."""

    task: Task
    began: float
    lease_end: float
    """As far as we know: what was confirmed last."""
    stop: Stop = field(default_factory=Stop)
    asked_to_stop_at: float | None = None
    fenced: bool = False
    _report: threading.Lock = field(default_factory=threading.Lock)

    def ask_to_stop(self, reason: str, now: float) -> None:
        if self.asked_to_stop_at is None:
            self.asked_to_stop_at = now
            self.stop.ask(reason)

    def ends_soon(self, now: float) -> bool:
        """Whether its lease is about to end, or has."""
        return self.lease_end - STOP_MARGIN_MS / 1000 <= now

    def may_report(self) -> bool:
        """True for the first who asks: the thread that ran it, or who gave up waiting for that."""
        return self._report.acquire(blocking=False)


class RunningTasks:
    """The running tasks of a worker, within its resources. Safe to use from several threads."""

    def __init__(self, resources: Resources, monotonic: Callable[[], float]) -> None:
        self._resources = resources
        self._monotonic = monotonic
        self._changed = threading.Condition()
        self._running: list[RunningTask] = []

    def add(self, task: Task) -> RunningTask:
        running = RunningTask(task, self._monotonic(), task.lease_end)
        with self._changed:
            self._running.append(running)
        return running

    def remove(self, running: RunningTask) -> None:
        with self._changed:
            self._running.remove(running)
            self._changed.notify_all()

    def running(self) -> list[RunningTask]:
        with self._changed:
            return list(self._running)

    @property
    def is_idle(self) -> bool:
        return not self._running

    def room(self) -> Resources | None:
        """What is free; None when nothing more may be taken."""
        running = self.running()
        if any(one.task.alone for one in running):
            return None
        free = self._resources.minus(_used(running))
        return free if free.concurrency >= 1 else None

    def load(self, *, stopping: bool = False, stopped: bool = False) -> Load:
        running = self.running()
        return Load(tuple(one.task.run_id for one in running), _used(running), stopping, stopped)

    def wait_until(self, holds: Callable[[], bool], seconds: float | None = None) -> bool:
        """Until it holds; looked at whenever a task ends, and when `nudge`d."""
        with self._changed:
            return self._changed.wait_for(holds, seconds)

    def nudge(self) -> None:
        with self._changed:
            self._changed.notify_all()


def _used(running: list[RunningTask]) -> Resources:
    needs = [one.task.needs for one in running]
    return Resources(len(needs), sum(need.cpu for need in needs), sum(need.memory_mb for need in needs))

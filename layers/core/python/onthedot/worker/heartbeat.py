"""Keeps what runs alive: extends every lease, says that the worker lives, and stops what may not go on."""

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from onthedot.domain.errors import Unavailable
from onthedot.ports import Answer
from onthedot.use_cases.attempts.keep_leases import CANCELLED, FENCED, UNHEARD
from onthedot.worker.running_tasks import RunningTask, RunningTasks
from onthedot.worker.work_source import LeaseExtended, WorkSource

STOP_PATIENCE: Final = 3.0
"""Seconds that a target has to end after it was asked to; then it is left behind."""
OVERRUN_SECONDS: Final = 15.0
"""Targets keep their own time-out; one that outlasts it by this long is stopped from outside."""
STOPPED: Final = "the worker was stopped"
OVERRUN: Final = "it outlasted its time-out"
AT_ONCE: Final = 8

log = logging.getLogger(__name__)


class Heartbeat:
    """`beat` and `watch` are called by a thread each: the first may hang in a call, the second never does."""

    def __init__(
        self,
        source: WorkSource,
        running_tasks: RunningTasks,
        monotonic: Callable[[], float],
        abandon: Callable[[RunningTask], None],
    ) -> None:
        self._source = source
        self._running_tasks = running_tasks
        self._monotonic = monotonic
        self._abandon = abandon
        self._unheard = False

    def beat(self, *, stopping: bool = False) -> bool:
        """Extend every lease and say what runs; whether every lease was heard of.

        Raises NotAllowed; what passes is left to the next beat, which had better be soon.
        """
        running = self._running_tasks.running()
        all_heard = True
        if running:
            with ThreadPoolExecutor(min(len(running), AT_ONCE), "keep") as pool:
                all_heard = all(list(pool.map(self._keep, running)))
        try:
            self._source.beat(self._running_tasks.load(stopping=stopping))
        except Unavailable as error:
            self._tell_once("heartbeat_failed", error)
        else:
            self._unheard = False
        return all_heard

    def _keep(self, running: RunningTask) -> bool:
        if running.fenced:
            return True
        try:
            kept = self._source.keep(running.task)
        except Unavailable as error:
            self._tell_once("lease_not_extended", error)  # it outlasts a missed beat; else the watch stops its target
            return False
        if isinstance(kept, LeaseExtended):
            running.lease_end = kept.lease_end
            if kept.cancel_requested:
                running.ask_to_stop(CANCELLED, self._monotonic())
        else:
            running.fenced = True
            running.ask_to_stop(FENCED, self._monotonic())
        return True

    def watch(self) -> None:
        """Ask those to stop whose lease is about to end, and leave those behind who do not."""
        now = self._monotonic()
        for running in self._running_tasks.running():
            if running.ends_soon(now):
                running.ask_to_stop(UNHEARD, now)
            if running.began + running.task.needs.seconds + OVERRUN_SECONDS <= now:
                running.ask_to_stop(OVERRUN, now)
            asked = running.asked_to_stop_at
            if asked is not None and asked + STOP_PATIENCE <= now and running.may_report():
                self._abandon(running)

    def _tell_once(self, action: str, error: Unavailable) -> None:
        if not self._unheard:
            self._unheard = True
            log.warning("%s: %s", action, error)


def answer_for_stopped(reason: str, answer: Answer | None) -> Answer:
    """What is reported of a task that was asked to stop; `answer` is what its target said then, if it ended at all.

    What ended well is well. What the worker had to break off is not held against the run.
    """
    if answer is not None and answer.ok:
        return answer
    if reason in (STOPPED, UNHEARD):
        return Answer(ok=False, handed_back=True, error=reason, error_class="released")
    if reason == OVERRUN:
        return Answer(ok=False, error=reason, error_class="timeout")
    if answer is not None and not answer.lost:
        return answer
    return Answer(ok=False, error=reason, error_class="cancelled", retryable=False)

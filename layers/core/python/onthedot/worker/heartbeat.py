"""The heartbeat of a pull worker: it extends leases, reports the load, and abandons tasks that do not end."""

import logging
from collections.abc import Callable
from typing import Final

from onthedot.domain.errors import Unavailable
from onthedot.use_cases.attempts.keep_leases import LeaseKeeper
from onthedot.use_cases.attempts.stop_reasons import OVERRUN
from onthedot.worker.running_tasks import RunningTask, RunningTasks
from onthedot.worker.work_source import WorkSource

STOP_PATIENCE: Final = 3.0
"""Seconds that a target has to end after it was asked to stop. After that the worker abandons it."""
OVERRUN_SECONDS: Final = 15.0
"""Targets keep their own time-out. The worker stops a target that outlasts its time-out by this long."""

log = logging.getLogger(__name__)


class Heartbeat:
    """The work of a worker's heartbeat threads. `beat` may hang in a call, `watch` does not."""

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
        self._keeper = LeaseKeeper(
            running_tasks.running, lambda running, report: source.extend_lease(running.task, report), monotonic
        )
        self._failing = False

    def beat(self, *, stopping: bool = False) -> bool:
        """Extend every lease and send the load. Return whether each extension was answered.

        Raise NotAllowed when the worker may not work any more. The next heartbeat repeats a call that was Unavailable.
        """
        all_answered = self._keeper.extend_all()
        load = self._running_tasks.load(stopping=stopping)
        try:
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
        """Stop tasks whose lease is about to end or that outlast their time-out. Abandon tasks that do not end then."""
        self._keeper.stop_expiring()
        now = self._monotonic()
        for running in self._running_tasks.running():
            if running.began + running.task.needs.seconds + OVERRUN_SECONDS <= now:
                running.ask_to_stop(OVERRUN, now)
            asked = running.asked_to_stop_at
            if asked is not None and asked + STOP_PATIENCE <= now and running.may_report():
                self._abandon(running)

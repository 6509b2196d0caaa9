"""Run each task in a thread of its own, from its beginning to its report."""

import logging
import random
import threading
import time
from collections.abc import Callable
from typing import Final

from onthedot.domain.backoff import Backoff
from onthedot.domain.errors import Unavailable
from onthedot.domain.targets.redaction import redacted
from onthedot.ports import Answer, Performer
from onthedot.use_cases.attempts.keep_leases import Fenced
from onthedot.use_cases.attempts.stop_reasons import NOT_EXTENDED, answer_for_stopped
from onthedot.worker.running_tasks import RunningTask, RunningTasks
from onthedot.worker.work_source import NotAllowed, Task, WorkSource

LONGEST_REPORTING: Final = 300.0
"""Seconds after which the worker stops trying to report a task, even if its lease is still extended."""

log = logging.getLogger(__name__)


class TaskThreads:
    """The threads of a worker's tasks. They run tasks side by side and report each task once."""

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
        """Report a task whose target does not end, and do not wait for its thread.

        The caller has called `may_report` before.
        """
        log.error("left_behind: run %s did not end when it was asked to", running.task.run_id)
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
            self._end(running, Answer(ok=False, error=f"the target broke: {error!r}", error_class="internal"))
            raise
        self._end(running, answer)

    def _end(self, running: RunningTask, answer: Answer) -> None:
        if running.may_report():
            reason = running.stop.reason
            self._conclude(running, answer if reason is None else answer_for_stopped(reason, answer))

    def _conclude(self, running: RunningTask, answer: Answer) -> None:
        try:
            fenced = Fenced("found by the heartbeat") if running.fenced else self._report(running, answer)
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
        ended = "fenced off" if fenced else _outcome_word(answer)
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


def _outcome_word(answer: Answer) -> str:
    if answer.ok:
        return "succeeded"
    return "lost" if answer.lost else "released" if answer.handed_back else "failed"

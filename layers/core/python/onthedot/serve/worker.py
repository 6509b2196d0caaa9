"""The worker inside the server: it starts due runs in groups, calls their targets side by side, and stores their ends.

A start and an end are operations of the writer thread, so that many of them share one commit. A target is called only
when the start is on disk.
"""

import logging
import math
import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from onthedot.core import lifecycle
from onthedot.core.attempt import prepare
from onthedot.core.choices import Priority
from onthedot.core.errors import Unavailable, UnreadableRecord
from onthedot.core.finish import STOPPED, answer_for_stopped, finish_run
from onthedot.core.leases import StoreLeases
from onthedot.core.ports import Answer, Call, Performer, Received
from onthedot.core.progress import LatestProgress
from onthedot.core.retry import Backoff
from onthedot.core.schema import DEFAULT_POOL
from onthedot.core.start import Done, Redeliver, Started, Verdict, start_run
from onthedot.core.stopping import Stop
from onthedot.engine import Engine
from onthedot.targets.processes.python_runner import HandlerCalls
from onthedot.targets.types import PythonTarget
from onthedot.wiring.embedded import Embedded
from onthedot.worker.queues import PriorityOrder
from onthedot.workers.records import SERVE_WORKER

MOST_AT_ONCE: Final = 200
"""The most runs that share the commit of their starts."""
VISIBILITY_MS: Final = lifecycle.LEASE_MS
LONGEST_PAUSE_MS: Final = 30_000
"""The longest wait without a look at the clock, which may be set ahead."""
FAILED_MS: Final = 1_000
"""When runs are tried again whose starts could not be stored."""
FINISH_SECONDS: Final = 600.0
"""How long to try to store the end of a run while the file fails. The lease is extended meanwhile, if it can be."""
STOP_SECONDS: Final = 10.0
"""How long a stopped server waits for targets that were asked to stop."""
PREFIX: Final = SERVE_WORKER
"""The first part of the id of this worker. A run that is found with it at a start belongs to a process that is gone."""

_NO_ANSWER: Final = Answer(ok=False, error="the target gave no answer", error_class="internal")
_LOG: Final = logging.getLogger(__name__)


class EmbeddedWorker:
    """The worker of one pool. Its starts, its ends, and the calls of handlers are work of the writer thread.

    Other targets are called by threads.
    """

    def __init__(  # noqa: PLR0917
        self,
        embedded: Embedded,
        performer: Performer,
        worker_id: str,
        concurrency: int,
        app: str | None = None,
        pool: str = DEFAULT_POOL,
    ) -> None:
        self._embedded = embedded
        self._engine: Engine = embedded.engine
        self._performer = performer
        self._handlers = None if app is None else HandlerCalls(app, embedded.writer.selector)
        self._worker_id = worker_id
        self._concurrency = concurrency
        self._pool = pool
        self._chance = random.Random()  # noqa: S311 (jitter of retries, not a secret)
        self._leases = StoreLeases(self._engine.store, self._engine.clock, lasting=True)
        self._order = PriorityOrder(time.monotonic())
        self._threads = ThreadPoolExecutor(concurrency, thread_name_prefix="run")
        self._changed = threading.Condition()
        self._running: set[_Attempt] = set()
        self._starting = 0
        """Runs whose starts the writer thread is to store."""
        self._worker_clock = time.monotonic
        self._stopping = False

    def start(self) -> None:
        """Begin to start runs that are due."""
        # Two guests: whatever is wrong with the calls of handlers, runs of other targets start.
        if self._handlers is not None:
            self._embedded.writer.join(self._handlers)
        self._embedded.writer.join(self)

    def stop(self, grace: float) -> None:
        """Start nothing more, let runs finish within the grace, and hand back the others."""
        with self._changed:
            self._stopping = True
        if not self._wait_until_idle(grace):
            with self._changed:
                running = list(self._running)
            for attempt in running:
                attempt.stop.ask(STOPPED)
            if not self._wait_until_idle(STOP_SECONDS):
                _LOG.error("never_ended", extra={"runs": len(self._running)})
        self._leases.close()
        self._threads.shutdown(wait=False, cancel_futures=True)
        if (handlers := self._handlers) is not None:
            self._embedded.writer.run(lambda: handlers.join() if handlers.close() else None)

    @property
    def running(self) -> int:
        """Return the number of runs that are under way."""
        return len(self._running)

    def turn(self) -> float:
        """Start the runs that are due and have a place. Return when there is more to do."""
        free = self._concurrency - len(self._running) - self._starting
        first = None if self._stopping or free <= 0 else self._embedded.queues.next_at(self._pool)
        if first is None:
            return math.inf
        wait_ms = min(first - self._engine.clock.now(), LONGEST_PAUSE_MS)
        if wait_ms <= 0 and (received := self._receive(min(free, MOST_AT_ONCE))):
            self._starting += len(received)
            self._embedded.writer.submit(
                lambda: [self._start(one) for one in received], partial(self._settle_all, received)
            )
            return 0.0
        return time.monotonic() + wait_ms / 1000

    def _wait_until_idle(self, seconds: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: not (self._running or self._starting), seconds)

    def _receive(self, most: int) -> list[Received]:
        """Take messages of the three queues in turns by their weights."""
        order = self._order.order(time.monotonic())
        received: list[Received] = []
        for priority in order:
            while len(received) < most and (some := self._some(priority, most - len(received))):
                received += some
        taken = [one.message.priority for one in received]
        self._order.record(order, most, taken, time.monotonic())
        return received

    def _some(self, priority: Priority, most: int) -> Sequence[Received]:
        return self._embedded.queues.receive(self._pool, priority, most, visibility_ms=VISIBILITY_MS)

    def _settle_all(
        self, received: Sequence[Received], verdicts: list[Started | Verdict] | None, error: BaseException | None
    ) -> None:
        """Call the targets, when the starts are on disk. If they could not be stored, their messages come again."""
        self._starting -= len(received)
        if verdicts is None:
            _LOG.warning("not_started", extra={"runs": len(received), "error": str(error)})
            verdicts = [Redeliver(FAILED_MS, str(error))] * len(received)
        for one, verdict in zip(received, verdicts, strict=True):
            self._settle(one, verdict)
        self._note_idle()

    def _start(self, received: Received) -> Started | Verdict:
        """Start one run. An error here concerns this run only."""
        early = received.message.due_at - self._engine.clock.now()
        if early > 0:
            return Redeliver(early, "early")
        try:
            return start_run(self._engine, received.message, self._worker_id, near_ms=0)
        except Unavailable as error:
            return Redeliver(min(FAILED_MS << received.receive_count, lifecycle.LEASE_MS), f"unavailable: {error}")
        except UnreadableRecord as error:
            return Redeliver(lifecycle.LEASE_MS, str(error))
        except Exception as error:  # noqa: BLE001 (one run must not stop the others)
            _LOG.exception("not_started", extra={"run": received.message.run_id})
            return Redeliver(lifecycle.LEASE_MS, repr(error))

    def _settle(self, received: Received, verdict: Started | Verdict) -> None:
        if isinstance(verdict, Redeliver):
            self._embedded.queues.hide(received, verdict.after_ms)
            return
        # The run is in a watch slot or has ended, so it needs its message no more.
        self._embedded.queues.delete(received)
        if isinstance(verdict, Done):
            _LOG.debug("dropped", extra={"run": received.message.run_id, "what": verdict.what})
            return
        attempt = _Attempt(verdict, self._worker_clock() + FINISH_SECONDS)
        with self._changed:
            self._running.add(attempt)
        if self._handlers is not None and _is_quick(verdict):
            self._call_handler(attempt, self._handlers)
        else:
            self._threads.submit(self._perform, attempt)

    def _call_handler(self, attempt: "_Attempt", handlers: HandlerCalls) -> None:
        try:
            call = self._call_of(attempt)
            if isinstance(call, Answer):
                self._answered(attempt, call)
            else:
                handlers.begin(call, partial(self._answered, attempt))
        except Exception as error:  # noqa: BLE001 (one run must not stop the others)
            self._end(attempt, error)

    def _perform(self, attempt: "_Attempt") -> None:
        try:
            call = self._call_of(attempt)
            if (
                self._handlers is not None
                and isinstance(call, Call)
                and isinstance(call.definition.target, PythonTarget)
            ):
                self._handlers.soon(partial(self._handlers.begin, call, partial(self._answered, attempt)))
            else:
                self._answered(attempt, call if isinstance(call, Answer) else self._performer.perform(call))
        except BaseException as error:  # noqa: BLE001 (a target may raise SystemExit)
            self._end(attempt, error)

    def _call_of(self, attempt: "_Attempt") -> Call | Answer:
        run, definition = attempt.started.run, attempt.started.definition
        attempt.release = self._leases.keep(run, attempt.stop, attempt.progress)
        return prepare(self._engine, run, definition, attempt.stop, attempt.progress)

    def _answered(self, attempt: "_Attempt", answer: Answer) -> None:
        """Let the writer thread store the end. No thread waits for it."""
        reason = attempt.stop.reason
        attempt.answer = answer if reason is None else answer_for_stopped(reason, answer)
        try:
            self._store_end(attempt)
        except Unavailable as error:
            self._end(attempt, error)

    def _store_end(self, attempt: "_Attempt") -> None:
        self._embedded.writer.submit(partial(self._finish, attempt), partial(self._ended, attempt))

    def _finish(self, attempt: "_Attempt") -> str:
        run, definition = attempt.started.run, attempt.started.definition
        return finish_run(self._engine, run, definition, attempt.answer, chance=self._chance, patience_ms=0)

    def _ended(self, attempt: "_Attempt", ended: str | None, error: BaseException | None) -> None:
        """Take note of the stored end. If it could not be stored, try again: the work is done and must not be repeated.

        The lease is extended meanwhile, if it can be.
        """
        if isinstance(error, Unavailable) and self._worker_clock() < attempt.try_until:
            _LOG.warning("not_finished", extra={"run": attempt.started.run.run_id, "error": str(error)})
            self._threads.submit(self._store_end_later, attempt)
            return
        self._log_end(attempt, ended)
        self._end(attempt, error)

    def _store_end_later(self, attempt: "_Attempt") -> None:
        attempt.pause = attempt.pause or Backoff(0.1, 5.0, self._chance)
        time.sleep(attempt.pause.next())
        try:
            self._store_end(attempt)
        except BaseException as error:  # noqa: BLE001 (as above)
            self._end(attempt, error)

    def _end(self, attempt: "_Attempt", error: BaseException | None) -> None:
        """Forget an attempt. After an error its lease ends, and the sweep finds it lost. Other runs go on."""
        if error is not None:
            _LOG.error("not_executed", extra={"run": attempt.started.run.run_id}, exc_info=error)
        attempt.release()
        with self._changed:
            self._running.discard(attempt)
        self._note_idle()
        self._embedded.writer.wake()

    def _note_idle(self) -> None:
        if self._stopping:
            with self._changed:
                self._changed.notify_all()

    def _log_end(self, attempt: "_Attempt", ended: str | None) -> None:
        """Log an attempt that failed. The record of the run says the same, also of one that succeeded."""
        answer, run = attempt.answer, attempt.started.run
        if not answer.ok or _LOG.isEnabledFor(logging.DEBUG):
            about = {"run": run.run_id, "attempt": run.attempt, "ended": ended, "error_class": answer.error_class}
            _LOG.log(logging.DEBUG if answer.ok else logging.WARNING, "executed", extra=about)


@dataclass(slots=True, eq=False)
class _Attempt:
    """An attempt that is under way."""

    started: Started
    try_until: float
    """When the worker stops to try to store the end."""
    stop: Stop = field(default_factory=Stop)
    progress: LatestProgress = field(default_factory=LatestProgress)
    answer: Answer = _NO_ANSWER
    release: Callable[[], None] = lambda: None
    """Ends the lease that is kept."""
    pause: Backoff | None = None
    """Between two tries to store the end."""


def _is_quick(started: Started) -> bool:
    """Whether the call of the run is one of a handler, and nothing has to be read for it."""
    definition = started.definition
    return (
        definition is not None
        and isinstance(definition.target, PythonTarget)
        and definition.payload_ref is None
        and not started.run.parents
    )

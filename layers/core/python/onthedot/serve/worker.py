"""The worker inside the server: it starts due runs in groups, calls their targets side by side, and stores their ends.

A start and an end are operations of the writer thread, so that many of them share one commit. A target is called only
when the start is on disk.
"""

import logging
import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from onthedot.core import lifecycle
from onthedot.core.attempt import perform
from onthedot.core.choices import Priority
from onthedot.core.errors import Unavailable, UnreadableRecord
from onthedot.core.finish import STOPPED, answer_for_stopped, finish_run
from onthedot.core.leases import StoreLeases
from onthedot.core.ports import Answer, Performer, Received
from onthedot.core.progress import LatestProgress
from onthedot.core.retry import Backoff
from onthedot.core.schema import DEFAULT_POOL
from onthedot.core.start import Done, Redeliver, Started, Verdict, start_run
from onthedot.core.stopping import Stop
from onthedot.engine import Engine
from onthedot.wiring.embedded import Embedded
from onthedot.worker.queues import PriorityOrder
from onthedot.workers.records import SERVE_WORKER

MOST_AT_ONCE: Final = 200
"""Most runs that share the commit of their starts."""
VISIBILITY_MS: Final = lifecycle.LEASE_MS
LONGEST_WAIT_MS: Final = 3_600_000
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
    """The worker of one pool. `start` begins its threads, `stop` ends them in order."""

    def __init__(
        self, embedded: Embedded, performer: Performer, worker_id: str, concurrency: int, pool: str = DEFAULT_POOL
    ) -> None:
        self._embedded = embedded
        self._engine: Engine = embedded.engine
        self._performer = performer
        self._worker_id = worker_id
        self._concurrency = concurrency
        self._pool = pool
        self._chance = random.Random()  # noqa: S311 (jitter of retries, not a secret)
        self._leases = StoreLeases(self._engine.store, self._engine.clock, lasting=True)
        self._order = PriorityOrder(time.monotonic())
        self._threads = ThreadPoolExecutor(concurrency, thread_name_prefix="run")
        self._starter = threading.Thread(target=self._work, name="starter", daemon=True)
        self._changed = threading.Condition()
        self._running: set[_Attempt] = set()
        self._worker_clock = time.monotonic
        self._stopping = False

    def start(self) -> None:
        """Begin to start runs that are due."""
        self._starter.start()

    def stop(self, grace: float) -> None:
        """Start nothing more, let runs finish within the grace, and hand back the others."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        self._embedded.queues.wake()
        self._starter.join()
        if not self._wait_until_idle(grace):
            with self._changed:
                running = list(self._running)
            for attempt in running:
                attempt.stop.ask(STOPPED)
            if not self._wait_until_idle(STOP_SECONDS):
                _LOG.error("never_ended", extra={"runs": len(self._running)})
        self._leases.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    @property
    def running(self) -> int:
        """Return the number of runs that are under way."""
        return len(self._running)

    def _wait_until_idle(self, seconds: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: not self._running, seconds)

    def _work(self) -> None:
        while not self._stopping:
            try:
                self._turn()
            except Exception:  # noqa: BLE001 (see the next line)
                # Whatever is wrong with these runs, the next ones must start. Their messages come again.
                _LOG.exception("turn_failed")
                time.sleep(FAILED_MS / 1000)

    def _turn(self) -> None:
        """Wait for a free place and a due run, then start as many as there are."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopping or len(self._running) < self._concurrency)
            free = self._concurrency - len(self._running)
        now = self._engine.clock.now()
        if self._embedded.queues.wait(self._pool, now + LONGEST_WAIT_MS, lambda: self._stopping):
            self._start_all(self._receive(min(free, MOST_AT_ONCE)))

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

    def _start_all(self, received: Sequence[Received]) -> None:
        """Start runs with one commit, then call their targets. If the commit fails, their messages come again."""
        try:
            verdicts = self._embedded.writer.run(lambda: [self._start(one) for one in received])
        except Unavailable as error:
            _LOG.warning("not_started", extra={"runs": len(received), "error": str(error)})
            verdicts = [Redeliver(FAILED_MS, str(error))] * len(received)
        for one, verdict in zip(received, verdicts, strict=True):
            self._settle(one, verdict)

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
        self._threads.submit(self._perform, attempt)

    def _perform(self, attempt: "_Attempt") -> None:
        run, stop = attempt.started.run, attempt.stop
        try:
            attempt.release = self._leases.keep(run, stop, attempt.progress)
            definition = attempt.started.definition
            answer = perform(self._engine, self._performer, run, definition, stop, progress=attempt.progress)
            attempt.answer = answer if stop.reason is None else answer_for_stopped(stop.reason, answer)
            self._store_end(attempt)
        except BaseException as error:  # noqa: BLE001 (a target may raise SystemExit)
            self._end(attempt, error)

    def _store_end(self, attempt: "_Attempt") -> None:
        """Let the writer thread store the end. No thread waits for it."""
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
    pause: Backoff = field(default_factory=lambda: Backoff(0.1, 5.0, random.Random()))  # noqa: S311 (no secret)

"""The worker inside the server: it starts due runs in groups, calls their targets side by side, and stores their ends.

A start and an end are operations of the writer thread, so that many of them share one commit. A target is called only
when the start is on disk.
"""

import logging
import random
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from onthedot.domain.backoff import Backoff
from onthedot.domain.errors import Unavailable, UnreadableRecord
from onthedot.domain.runs import lifecycle
from onthedot.domain.runs.records import Priority
from onthedot.ports import Answer, Engine, Performer, Received
from onthedot.schema import DEFAULT_POOL
from onthedot.stopping import Stop
from onthedot.use_cases.attempts.call_target import perform
from onthedot.use_cases.attempts.finish_run import finish_run
from onthedot.use_cases.attempts.start_run import Done, Redeliver, Started, Verdict, start_run
from onthedot.use_cases.attempts.stop_reasons import STOPPED, answer_for_stopped
from onthedot.use_cases.attempts.store_leases import StoreLeases
from onthedot.wiring.embedded import Embedded
from onthedot.worker.priorities import PriorityOrder

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
PREFIX: Final = "serve-"
"""The first part of the id of this worker. A run that is found with it at a start belongs to a process that is gone."""

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
        self._running: dict[str, Stop] = {}
        self._stopping = False

    def start(self) -> None:
        """Begin to run what is due."""
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
                running = list(self._running.values())
            for stop in running:
                stop.ask(STOPPED)
            if not self._wait_until_idle(STOP_SECONDS):
                _LOG.error("never_ended", extra={"runs": sorted(self._running)})
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
        early = received.message.fire_at - self._engine.clock.now()
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
        stop = Stop()
        with self._changed:
            self._running[verdict.run.attempt_token or ""] = stop
        self._threads.submit(self._perform, verdict, stop)

    def _perform(self, started: Started, stop: Stop) -> None:
        try:
            with self._leases.keeping(started.run, stop):
                answer = perform(self._engine, self._performer, started.run, started.definition, stop)
                if stop.reason is not None:
                    answer = answer_for_stopped(stop.reason, answer)
                self._log_end(started, answer, self._finish(started, answer))
        except BaseException:  # noqa: BLE001 (a target may raise SystemExit)
            # The lease of the run ends, and the sweep finds it lost. Other runs must go on.
            _LOG.exception("not_executed", extra={"run": started.run.run_id})
        finally:
            with self._changed:
                self._running.pop(started.run.attempt_token or "", None)
                self._changed.notify_all()

    def _finish(self, started: Started, answer: Answer) -> str:
        """Store the end. The work is done, so try for as long as the lease is kept. Raise Unavailable after that."""
        pause = Backoff(0.1, 5.0, self._chance)
        until = time.monotonic() + FINISH_SECONDS
        while True:
            try:
                return self._embedded.writer.run(lambda: self._finish_once(started, answer))
            except Unavailable as error:
                wait = pause.next()
                if time.monotonic() + wait > until:
                    raise
                _LOG.warning("not_finished", extra={"run": started.run.run_id, "error": str(error)})
                time.sleep(wait)

    def _finish_once(self, started: Started, answer: Answer) -> str:
        run, definition = started.run, started.definition
        return finish_run(self._engine, run, definition, answer, chance=self._chance, patience_ms=0)

    def _log_end(self, started: Started, answer: Answer, ended: str) -> None:
        if not _LOG.isEnabledFor(logging.INFO):
            return
        run = started.run
        about = {"run": run.run_id, "attempt": run.attempt, "ended": ended, "error_class": answer.error_class}
        _LOG.info("executed", extra=about)

"""Keep the leases of running attempts, and wait for the runs of one batch of messages."""

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Generic, TypeVar

from onthedot.core import lifecycle
from onthedot.core.errors import Unavailable
from onthedot.core.finish import CANCELLED, FENCED, NOT_EXTENDED
from onthedot.core.ports import Clock, Moved, RunStore
from onthedot.core.progress import LatestProgress, ProgressReport
from onthedot.core.records import Record
from onthedot.core.stopping import Stop

STOP_MARGIN_SECONDS: Final = 5.0
"""A target is asked to stop this long before the end of a lease that could not be extended."""
AT_ONCE: Final = 8
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LeaseExtended:
    lease_end: float
    """The new end of the lease, in seconds of the worker's own clock."""
    cancel_requested: bool = False


@dataclass(frozen=True, slots=True)
class Fenced:
    """The reply for an attempt that no longer owns its run: it ended, was lost, or another one has begun."""

    why: str


@dataclass(slots=True, eq=False)
class RunningAttempt:
    lease_end: float
    """The end that was confirmed last, in seconds of the worker's own clock."""
    stop: Stop = field(default_factory=Stop)
    progress: LatestProgress = field(default_factory=LatestProgress)
    asked_to_stop_at: float | None = None
    fenced: bool = False

    def ask_to_stop(self, reason: str, now: float) -> None:
        if self.asked_to_stop_at is None:
            self.asked_to_stop_at = now
            self.stop.ask(reason)

    def ends_soon(self, now: float) -> bool:
        return self.lease_end - STOP_MARGIN_SECONDS <= now

    def apply(self, reply: LeaseExtended | Fenced, now: float) -> None:
        if isinstance(reply, Fenced):
            self.fenced = True
            self.ask_to_stop(FENCED, now)
            return
        self.lease_end = reply.lease_end
        if reply.cancel_requested:
            self.ask_to_stop(CANCELLED, now)


AnyAttempt = TypeVar("AnyAttempt", bound=RunningAttempt)


class LeaseKeeper(Generic[AnyAttempt]):
    """The keeper of the leases of `running`, by `extend`, which also gets a report that is not stored yet."""

    def __init__(
        self,
        running: Callable[[], Sequence[AnyAttempt]],
        extend: Callable[[AnyAttempt, ProgressReport | None], LeaseExtended | Fenced],
        now: Callable[[], float],
    ) -> None:
        self._running = running
        self._extend = extend
        self._now = now
        self._failing = False

    def extend_all(self) -> bool:
        """Extend every lease once, side by side. Return whether each call was answered.

        A call that raises Unavailable stops no target: the lease outlasts a missed heartbeat.
        """
        attempts = [attempt for attempt in self._running() if not attempt.fenced]
        errors: list[Unavailable] = []
        if attempts:
            with ThreadPoolExecutor(min(len(attempts), AT_ONCE), "extend-lease") as pool:
                errors = [error for error in pool.map(self._extend_one, attempts) if error is not None]
        if errors and not self._failing:
            log.warning("lease_not_extended: %s", errors[0])
        self._failing = bool(errors)
        return not errors

    def _extend_one(self, attempt: AnyAttempt) -> Unavailable | None:
        report = attempt.progress.unsent
        try:
            reply = self._extend(attempt, report)
        except Unavailable as error:
            return error
        attempt.progress.mark_sent(report)
        attempt.apply(reply, self._now())
        return None

    def stop_expiring(self) -> None:
        """Ask each target whose lease is about to end to stop. This makes no call, so it cannot hang."""
        now = self._now()
        for attempt in self._running():
            if attempt.ends_soon(now):
                attempt.ask_to_stop(NOT_EXTENDED, now)


HEARTBEAT_SECONDS: Final = 10.0
SOONER: Final = 0.2
"""After a heartbeat that failed, the next one follows after this part of the interval: an outage must cost no lease."""
WATCH_SECONDS: Final = 1.0


class HeartbeatThreads:
    """Two threads that call `beat` and `watch` at their intervals. A `beat` may hang in a call, a `watch` must not.

    A `beat` that returns False is repeated sooner. A thread that ends by an error calls `on_failure`.
    """

    def __init__(
        self,
        beat: Callable[[], bool],
        watch: Callable[[], None],
        *,
        beat_seconds: float = HEARTBEAT_SECONDS,
        watch_seconds: float = WATCH_SECONDS,
        on_failure: Callable[[Exception], None] = lambda _: None,
    ) -> None:
        self._beat = beat
        self._watch = watch
        self._beat_seconds = beat_seconds
        self._watch_seconds = watch_seconds
        self._on_failure = on_failure
        self._soon = threading.Event()
        self._ended = threading.Event()
        self._beating = threading.Thread(target=self._run, args=(self._beat_on,), name="heartbeat", daemon=True)
        self._watching = threading.Thread(target=self._run, args=(self._watch_on,), name="lease-watch", daemon=True)

    def start(self, *, watch_now: bool = True) -> None:
        """Start the heartbeats, and the watch either now or with the first heartbeat."""
        if watch_now:
            self._watching.start()
        self._beating.start()

    def beat_soon(self) -> None:
        self._soon.set()

    def end(self, patience: float = 0) -> None:
        """Begin no heartbeat after this, and wait for the last one, at most for this time in seconds."""
        self._ended.set()
        self._soon.set()
        self._beating.join(patience)

    def _run(self, loop: Callable[[], None]) -> None:
        try:
            loop()
        except Exception as error:
            self._on_failure(error)
            raise

    def _beat_on(self) -> None:
        seconds = self._beat_seconds
        while not self._wait(seconds):
            if self._watching.ident is None:
                self._watching.start()
            seconds = self._beat_seconds if self._beat() else self._beat_seconds * SOONER

    def _wait(self, seconds: float) -> bool:
        self._soon.wait(seconds)
        self._soon.clear()
        return self._ended.is_set()

    def _watch_on(self) -> None:
        while not self._ended.wait(self._watch_seconds):
            self._watch()


@dataclass(slots=True, eq=False, kw_only=True)
class _StoredAttempt(RunningAttempt):
    run: Record


class StoreLeases:
    """The leases of all attempts of this process. Its threads live while there is an attempt, or until `close`.

    An attempt that is shorter than the heartbeat interval costs no write. With `lasting`, the threads of the first
    attempt serve all later ones: a process that is never frozen need not start them again.
    """

    def __init__(
        self, store: RunStore, clock: Clock, seconds: float = HEARTBEAT_SECONDS, *, lasting: bool = False
    ) -> None:
        self._lasting = lasting
        self._store = store
        self._clock = clock
        self._seconds = seconds
        self._lock = threading.Lock()
        self._attempts: list[_StoredAttempt] = []
        self._threads: HeartbeatThreads | None = None
        self.keeper = LeaseKeeper(self._running, self._extend, lambda: clock.now() / 1000)

    @contextmanager
    def keeping(self, run: Record, stop: Stop, progress: LatestProgress) -> Iterator[None]:
        release = self.keep(run, stop, progress)
        try:
            yield
        finally:
            release()

    def keep(self, run: Record, stop: Stop, progress: LatestProgress) -> Callable[[], None]:
        """Keep the lease of a started run until the function is called that this returns."""
        lease_end = (run.lease_until or self._clock.now()) / 1000
        attempt = _StoredAttempt(lease_end=lease_end, stop=stop, progress=progress, run=run)
        with self._lock:
            self._attempts.append(attempt)
            if self._threads is None:
                keeper = self.keeper
                self._threads = HeartbeatThreads(keeper.extend_all, keeper.stop_expiring, beat_seconds=self._seconds)
                # No lease can be about to end before the first heartbeat.
                self._threads.start(watch_now=False)
        return partial(self._remove, attempt)

    def _running(self) -> list[_StoredAttempt]:
        with self._lock:
            return list(self._attempts)

    def _extend(self, attempt: _StoredAttempt, report: ProgressReport | None) -> LeaseExtended | Fenced:
        now = self._clock.now()
        outcome = self._store.move(lifecycle.extend_lease(attempt.run, now, report))
        if not isinstance(outcome, Moved):
            return Fenced("the run is no longer in this attempt")
        cancelled = outcome.run is not None and outcome.run.cancel_requested is not None
        return LeaseExtended((now + lifecycle.LEASE_MS) / 1000, cancelled)

    def _remove(self, attempt: _StoredAttempt) -> None:
        with self._lock:
            self._attempts.remove(attempt)
            if not self._attempts and not self._lasting:
                self._end_threads()

    def close(self) -> None:
        with self._lock:
            self._end_threads()

    def _end_threads(self) -> None:
        if self._threads is not None:
            self._threads.end()
            self._threads = None

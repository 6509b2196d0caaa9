"""The leases of a worker on Lambda or in a server, which extends them in the run store itself."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from onthedot.domain.runs import lifecycle
from onthedot.domain.runs.progress import LatestProgress, ProgressReport
from onthedot.domain.runs.records import Record
from onthedot.ports import Clock, Moved, RunStore
from onthedot.stopping import Stop
from onthedot.use_cases.attempts.heartbeat_threads import HEARTBEAT_SECONDS, HeartbeatThreads
from onthedot.use_cases.attempts.keep_leases import Fenced, LeaseExtended, LeaseKeeper, RunningAttempt


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
        """Keep the lease of a started run while this context lasts."""
        release = self.keep(run, stop, progress)
        try:
            yield
        finally:
            release()

    def keep(self, run: Record, stop: Stop, progress: LatestProgress) -> Callable[[], None]:
        """Keep the lease of a started run until the function is called that this returns."""
        lease_end = (run.lease_until or self._clock.now()) / 1000
        attempt = _StoredAttempt(lease_end=lease_end, stop=stop, progress=progress, run=run)
        self._add(attempt)
        return partial(self._remove, attempt)

    def _running(self) -> list[_StoredAttempt]:
        with self._lock:
            return list(self._attempts)

    def _extend(self, attempt: _StoredAttempt, report: ProgressReport | None) -> LeaseExtended | Fenced:
        now = self._clock.now()
        outcome = self._store.move(lifecycle.extend_lease(attempt.run, now, report))
        if not isinstance(outcome, Moved):
            return Fenced("the run is not in this attempt any more")
        cancelled = outcome.run is not None and outcome.run.cancel_requested is not None
        return LeaseExtended((now + lifecycle.LEASE_MS) / 1000, cancelled)

    def _add(self, attempt: _StoredAttempt) -> None:
        with self._lock:
            self._attempts.append(attempt)
            if self._threads is None:
                keeper = self.keeper
                self._threads = HeartbeatThreads(keeper.extend_all, keeper.stop_expiring, beat_seconds=self._seconds)
                # No lease can be about to end before the first heartbeat.
                self._threads.start(watch_now=False)

    def _remove(self, attempt: _StoredAttempt) -> None:
        with self._lock:
            self._attempts.remove(attempt)
            if not self._attempts and not self._lasting:
                self._end_threads()

    def close(self) -> None:
        """End the threads."""
        with self._lock:
            self._end_threads()

    def _end_threads(self) -> None:
        if self._threads is not None:
            self._threads.end()
            self._threads = None

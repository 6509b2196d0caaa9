"""The two threads beside a worker's main loop: one beats, one watches."""

import threading
from collections.abc import Callable

from onthedot.use_cases.attempts.keep_leases import SOONER
from onthedot.worker.heartbeat import Heartbeat
from onthedot.worker.work_source import NotAllowed

LAST_BEAT_SECONDS = 5.0


class HeartbeatThreads:
    """Calls `beat` and `watch` of a heartbeat at their intervals, until it is ended."""

    def __init__(
        self,
        heartbeat: Heartbeat,
        *,
        beat_seconds: float,
        watch_seconds: float,
        on_refusal: Callable[[NotAllowed], None],
    ) -> None:
        self._heartbeat = heartbeat
        self._beat_seconds = beat_seconds
        self._watch_seconds = watch_seconds
        self._on_refusal = on_refusal
        self._stopping = False
        self._soon = threading.Event()
        self._ended = threading.Event()
        self._beating = threading.Thread(target=self._run, args=(self._beat,), name="heartbeat", daemon=True)
        self._watching = threading.Thread(target=self._run, args=(self._watch,), name="watch", daemon=True)

    def start(self) -> None:
        self._beating.start()
        self._watching.start()

    def say_stopping(self) -> None:
        """From now on, and at once, beats say that the worker is about to end. Saying so again hurries nobody."""
        if not self._stopping:
            self._stopping = True
            self._soon.set()

    def end(self) -> None:
        """No beat begins after this; one that hangs is not waited for long."""
        self._ended.set()
        self._soon.set()
        self._beating.join(LAST_BEAT_SECONDS)

    def _run(self, loop: Callable[[], None]) -> None:
        """A worker without a pulse must not go on: it would lose whatever it takes."""
        try:
            loop()
        except Exception as error:
            self._on_refusal(NotAllowed(f"the worker's {threading.current_thread().name} broke: {error!r}"))
            raise

    def _beat(self) -> None:
        all_heard = True
        while True:
            self._soon.wait(self._beat_seconds if all_heard else self._beat_seconds * SOONER)
            self._soon.clear()
            if self._ended.is_set():
                return
            try:
                all_heard = self._heartbeat.beat(stopping=self._stopping)
            except NotAllowed as error:
                self._on_refusal(error)

    def _watch(self) -> None:
        while not self._ended.wait(self._watch_seconds):
            self._heartbeat.watch()

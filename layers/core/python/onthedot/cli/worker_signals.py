"""How a worker is asked to end: SIGTERM or SIGINT once, in order; twice, at once."""

import logging
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Final

from onthedot.worker.runtime import Runtime

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
HURRY_SECONDS: Final = 1.0
"""For programs that are killed with the worker, when it is to end at once."""

LOOK_SECONDS: Final = 0.5

log = logging.getLogger(__name__)


def run_until_stopped(runtime: Runtime) -> None:
    """Run it in a thread of its own, while this one, the main one, waits for signals. Raises what `run` does."""
    events: SimpleQueue[int | None] = SimpleQueue()  # its `put` may be called in a signal handler; locks may not
    before = {number: signal.signal(number, lambda got, _: events.put(got)) for number in SIGNALS}
    pool = ThreadPoolExecutor(1, "worker")
    try:
        running = pool.submit(runtime.run)
        running.add_done_callback(lambda _: events.put(None))
        asked = False
        while (got := _next(events)) is not None:
            name = signal.Signals(got).name
            if asked:
                log.warning("%s again: ending at once", name)
                runtime.stop_now()
                wait([running], HURRY_SECONDS)
                _exit(128 + got)
            log.info("%s: taking nothing more, finishing what runs", name)
            asked = True
            runtime.stop()
        running.result()
        _leave_stuck_threads()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        pool.shutdown(wait=False)


def _next(events: "SimpleQueue[int | None]") -> int | None:
    """Waits in short steps: a signal that another thread received, or that came just before a wait, ends none."""
    while True:
        with suppress(Empty):
            return events.get(timeout=LOOK_SECONDS)


def _leave_stuck_threads() -> None:
    """A target that never ended must not keep the process: its run was reported and is somebody else's by now."""
    if any(thread.name.startswith("run-") for thread in threading.enumerate()):
        _exit(0)


def _exit(code: int) -> None:
    logging.shutdown()
    with suppress(OSError):
        sys.stdout.flush()
    os._exit(code)

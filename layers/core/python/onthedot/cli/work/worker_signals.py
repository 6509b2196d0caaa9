"""Stop a worker by signals: SIGTERM or SIGINT once ends it in order, twice ends it at once."""

import logging
import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Final, NoReturn

from onthedot.worker.runtime import Runtime

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
HURRY_SECONDS: Final = 1.0
"""How long a worker that ends at once waits for the programs that it kills."""

LOOK_SECONDS: Final = 0.5

log = logging.getLogger(__name__)


def run_until_stopped(runtime: Runtime) -> None:
    """Run the worker in a thread of its own while the main thread waits for signals. Raise the errors of `run`."""
    events: SimpleQueue[int | None] = SimpleQueue()  # a signal handler may call `put`, but must not acquire a lock
    before = {number: signal.signal(number, lambda got, _: events.put(got)) for number in SIGNALS}
    pool = ThreadPoolExecutor(1, "worker")
    try:
        running = pool.submit(runtime.run)
        running.add_done_callback(lambda _: events.put(None))
        stopping = False
        while (got := _next(events)) is not None:
            name = signal.Signals(got).name
            if stopping:
                log.warning("%s again: ending at once", name)
                runtime.stop_now()
                wait([running], HURRY_SECONDS)
                _exit(128 + got)
            log.info("%s: taking no more runs, finishing the present ones", name)
            stopping = True
            runtime.stop()
        running.result()
        _leave_stuck_threads()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        pool.shutdown(wait=False)


def wait_or_stop(seconds: float) -> None:
    """Wait, or raise SystemExit at the first signal. The first process of a container needs a handler to be ended."""

    def leave(*_: object) -> NoReturn:
        raise SystemExit(1)

    for number in SIGNALS:
        signal.signal(number, leave)
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        time.sleep(min(left, LOOK_SECONDS))


def _next(events: "SimpleQueue[int | None]") -> int | None:
    """Return the next event.

    Wait in short steps: a signal that another thread received, or that arrived just before a wait, does not end the
    wait.
    """
    while True:
        with suppress(Empty):
            return events.get(timeout=LOOK_SECONDS)


def _leave_stuck_threads() -> None:
    """End the process even if a target never ended: its run was reported, and another worker may have it by now."""
    if any(thread.name.startswith("run-") for thread in threading.enumerate()):
        _exit(0)


def _exit(code: int) -> None:
    logging.shutdown()
    with suppress(OSError):
        sys.stdout.flush()
    os._exit(code)

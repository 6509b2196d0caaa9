"""What targets of several kinds tell the other side of an attempt, and how its end is kept from the next one."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from onthedot.domain.instants import format_instant
from onthedot.ports import Call
from onthedot.stopping import Stop


def about(call: Call) -> Mapping[str, str]:
    """The attempt in words that go into headers and environments; the key is the same for every attempt of a run."""
    return {
        "job": call.job_id,
        "run": call.run_id,
        "attempt": str(call.attempt),
        "fire_time": format_instant(call.nominal_at),
        "idempotency_key": call.run_id,
    }


@contextmanager
def interruptible(stop: Stop, interrupt: Callable[[], None]) -> Iterator[None]:
    """Call `interrupt` when asked to stop while this lasts, and surely not later.

    Whoever asks may be about to call it just when the call ends by itself: then what it would have ended may
    already serve another call.
    """
    lock = threading.Lock()
    over = False

    def while_it_lasts() -> None:
        with lock:
            if not over:
                interrupt()

    with stop.interrupting(while_it_lasts):
        try:
            yield
        finally:
            with lock:
                over = True

"""The clock of a server: the writer thread must not sleep by it."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from onthedot.serve.clocks import ServerClock


def test_other_threads_sleep_until_the_instant() -> None:
    clock = ServerClock()
    clock.keep_awake(threading.Thread())
    instant = clock.now() + 5
    clock.sleep_until(instant)
    assert clock.now() >= instant


def test_the_thread_that_must_stay_awake_is_refused() -> None:
    clock = ServerClock()
    clock.keep_awake(threading.current_thread())
    with pytest.raises(RuntimeError, match="must not sleep"):
        clock.sleep_until(clock.now() + 60_000)
    clock.sleep_until(clock.now() - 1)
    with ThreadPoolExecutor(1) as other:
        other.submit(clock.sleep_until, clock.now() + 1).result()

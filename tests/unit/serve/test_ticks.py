"""The clock and the timer of a server."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from onthedot.engines.sqlite.database import Database
from onthedot.serve import ticks
from onthedot.serve.server import ServerClock
from onthedot.serve.ticks import Ticks
from onthedot.wiring.embedded import Embedded, embedded
from tests.builders import SERVER, SettableClock

MINUTE = 60_000


@pytest.fixture
def parts() -> Iterator[Embedded]:
    with Database() as database:
        made = embedded(database, SettableClock(), SERVER)
        yield made
        made.writer.close()


def a_wait(parts: Embedded, monkeypatch: pytest.MonkeyPatch) -> tuple[Ticks, threading.Thread]:
    """Wait for the next minute in a thread that looks at the clock often."""
    monkeypatch.setattr(ticks, "LONGEST_PAUSE_MS", 5)
    timer = Ticks(parts)
    next_minute = parts.engine.clock.now() + MINUTE
    waiting = threading.Thread(target=timer._wait_until, args=[next_minute])
    waiting.start()
    waiting.join(0.05)
    assert waiting.is_alive()
    return timer, waiting


@pytest.mark.parametrize("milliseconds", [-60 * MINUTE, 60 * MINUTE], ids=["back", "ahead"])
def test_a_clock_that_is_set_lets_the_next_tick_come_at_once(
    parts: Embedded, monkeypatch: pytest.MonkeyPatch, milliseconds: int
) -> None:
    _, waiting = a_wait(parts, monkeypatch)
    clock = parts.engine.clock
    assert isinstance(clock, SettableClock)

    clock.set_by(milliseconds)
    waiting.join(10)

    assert not waiting.is_alive()


def test_a_stop_ends_the_wait(parts: Embedded, monkeypatch: pytest.MonkeyPatch) -> None:
    timer, waiting = a_wait(parts, monkeypatch)
    timer._stopping.set()
    waiting.join(10)
    assert not waiting.is_alive()


def test_an_audit_that_hangs_or_fails_stops_no_tick(parts: Embedded, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, end = threading.Event(), threading.Event()

    def hang(*_: object) -> None:
        begun.set()
        end.wait(60)
        raise RuntimeError("the audit broke")

    monkeypatch.setattr(ticks, "audit_due_jobs", hang)
    monkeypatch.setattr(ticks, "AUDIT_TURNS", 1)
    timer = Ticks(parts)
    assert timer._turn()
    assert begun.wait(30)
    audit = timer._audit_thread
    assert timer._turn(), "the next tick comes while the audit hangs"
    assert audit is not None
    assert timer._audit_thread is audit, "no second one begins"
    end.set()
    timer.stop()
    assert not audit.is_alive()


def test_the_thread_that_must_stay_awake_is_refused() -> None:
    clock = ServerClock()
    clock.keep_awake(threading.current_thread())
    with pytest.raises(RuntimeError, match="must not sleep"):
        clock.sleep_until(clock.now() + 60_000)
    clock.sleep_until(clock.now() - 1)
    with ThreadPoolExecutor(1) as other:
        other.submit(clock.sleep_until, clock.now() + 1).result()

"""The start of a server after a process that died: no run is left without a message, and no dead attempt goes on."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from onthedot.core.choices import Priority
from onthedot.core.clock import VirtualClock
from onthedot.core.errors import Unavailable
from onthedot.core.ports import Deadline, Received, SlotEntry, Tick, TickLease
from onthedot.core.records import Record, Status
from onthedot.core.schema import DEFAULT_POOL
from onthedot.core.send import message_for
from onthedot.core.start import Done, Redeliver, Started, Verdict, start_run, take_over
from onthedot.core.tick import dispatch_due
from onthedot.engine import Engine
from onthedot.engines.sqlite.database import Database
from onthedot.engines.sqlite.store import SqliteRunStore
from onthedot.serve import recovery
from onthedot.serve.recovery import Recovery, recover
from onthedot.wiring.embedded import Embedded, embedded
from tests.builders import SERVER, a_run


class Life:
    """One process after another on the same file, in virtual time."""

    def __init__(self, path: Path) -> None:
        self.clock = VirtualClock()
        self._path = path
        self.parts = self._open()

    def die(self) -> dict[str, int]:
        """Lose everything in memory, and start again. Return the counts of the recovery."""
        self.parts.close()
        self.parts = self._open()
        self.parts.progress.forget_ticks(range(2))
        return recover(self.parts, "serve-2")

    def _open(self) -> Embedded:
        made = embedded(Database(self._path), self.clock, SERVER)
        return replace(made, runs=SqliteRunStore(made.database, self.clock, page_size=3))

    def a_run(self, due_in: float = 0.0) -> Record:
        return a_run(self.clock, SERVER).due_in(due_in).stored_in(self.parts.engine.store)

    def run(self, run: Record) -> Record:
        found = self.parts.engine.store.get(run.run_id)
        assert found is not None
        return found

    def start(self, run: Record, worker: str) -> object:
        return self.parts.writer.run(lambda: start_run(self.parts.engine, message_for(run), worker, near_ms=0))

    def received(self) -> list[str]:
        """Return the ids of all runs whose messages can be received now."""
        found: list[Received] = []
        while some := self.parts.queues.receive(DEFAULT_POOL, Priority.MEDIUM, 10, visibility_ms=60_000):
            found += some
        return sorted(one.message.run_id for one in found)


@pytest.fixture
def life(tmp_path: Path) -> Iterator[Life]:
    made = Life(tmp_path / "jobs.db")
    yield made
    made.parts.close()


def test_runs_whose_messages_were_lost_are_sent_again_page_by_page(life: Life) -> None:
    runs = [life.a_run() for _ in range(10)]
    later = life.a_run(due_in=30)

    counts = life.die()

    assert counts == {"sent": 11, "taken_back": 0, "left": 0}
    assert life.received() == sorted(run.run_id for run in runs)
    life.clock.advance(30)
    assert life.received() == [later.run_id], "at its time"


def test_an_attempt_of_the_process_before_is_lost_and_runs_again_at_once(life: Life) -> None:
    run = life.a_run()
    assert isinstance(life.start(run, "serve-1-abc"), Started)

    counts = life.die()

    assert counts == {"sent": 0, "taken_back": 1, "left": 0}
    lost = life.run(run)
    assert (lost.status, lost.losses, lost.attempts[-1].outcome) == (Status.DISPATCHED, 1, "lost")
    life.clock.advance(60)
    assert life.received() == [run.run_id]
    again = life.start(lost, "serve-2-def")
    assert isinstance(again, Started)
    assert again.run.attempt == 2


def test_an_attempt_of_a_pull_worker_goes_on(life: Life) -> None:
    """The worker is another process, which lives. A second message starts nothing."""
    run = life.a_run()
    assert isinstance(life.start(run, "wrk_1"), Started)

    life.die()

    running = life.run(run)
    assert (running.status, running.worker, running.losses) == (Status.RUNNING, "wrk_1", 0)
    assert isinstance(life.start(running, "serve-2"), Done | Redeliver)
    assert life.run(run) == running


def test_a_recovery_that_dies_is_done_again(life: Life) -> None:
    runs = [life.a_run() for _ in range(4)]
    for run in runs[:2]:
        life.start(run, "serve-1")

    life.die()
    life.die()
    life.die()

    life.clock.advance(60)
    assert life.received() == sorted(run.run_id for run in runs)
    assert [life.run(run).losses for run in runs] == [1, 1, 0, 0]


def test_a_record_that_cannot_be_read_holds_up_no_other(life: Life) -> None:
    broken, *others = [life.a_run() for _ in range(7)]
    with life.parts.database.transaction() as connection:
        connection.execute("UPDATE runs SET attempts = 'no json' WHERE run_id = ?", (broken.run_id,))

    life.die()

    assert life.received() == sorted(run.run_id for run in others)


def test_a_tick_of_the_process_before_holds_up_no_tick(life: Life) -> None:
    now = life.clock.now()
    assert life.parts.progress.begin(TickLease((0,), "died", now + 60_000), now) is not None

    life.die()

    life.parts.progress.begin(TickLease((0,), "died", now + 60_000), now)
    recovering = Recovery(life.parts, "serve-2")
    recovering.start()
    recovering.stop()
    tick = Tick(0, (0,), now, "next")
    counts = dispatch_due(life.parts.engine, life.parts.progress, tick, Deadline.after(now, 50_000))
    assert not counts["busy"]


def test_attempts_of_this_process_are_left_alone(life: Life) -> None:
    """The worker starts runs while the recovery is under way."""
    run = life.a_run()
    life.start(run, "serve-2")

    assert recover(life.parts, "serve-2") == {"sent": 0, "taken_back": 0, "left": 0}
    assert life.run(run).status is Status.RUNNING


def test_a_recovery_ends_when_the_server_stops(life: Life) -> None:
    for _ in range(10):
        life.a_run()
    looks = iter([False, False, True])

    assert recover(life.parts, "serve-2", lambda: next(looks))["sent"] == 6, "two pages of three"


def test_a_recovery_that_fails_begins_again(
    life: Life, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    run = life.a_run()
    life.parts.close()
    life.parts = life._open()
    monkeypatch.setattr(recovery, "FAILED_SECONDS", 0.01)
    failures = iter([Unavailable("database: disk I/O error"), Unavailable("database: disk I/O error")])
    reading = recovery._watched

    def fail_twice(parts: Embedded) -> Iterator[Sequence[SlotEntry]]:
        for failure in failures:
            raise failure
        return reading(parts)

    monkeypatch.setattr(recovery, "_watched", fail_twice)
    recovering = Recovery(life.parts, "serve-2")
    recovering.start()
    recovering._thread.join(10)

    assert life.received() == [run.run_id]
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == ["not_recovered"] * 2


def test_a_dead_attempt_that_cannot_be_handled_stops_no_other(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [life.a_run() for _ in range(7)]
    for run in runs:
        assert isinstance(life.start(run, "serve-1"), Started)
    bad = min(run.run_id for run in runs)

    def broken(engine: Engine, run: Record, now: int) -> Verdict:
        if run.run_id == bad:
            raise ValueError("a fault of this record")
        return take_over(engine, run, now)

    monkeypatch.setattr(recovery, "take_over", broken)

    assert life.die() == {"sent": 0, "taken_back": 6, "left": 1}
    assert [life.run(run).status for run in runs].count(Status.RUNNING) == 1

"""Records that a server remembers: never an older state than the stored one, and none that was undone."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from onthedot.core import lifecycle
from onthedot.core.clock import VirtualClock
from onthedot.core.moves import Move
from onthedot.core.ports import Moved, Refused
from onthedot.core.records import Record, Status
from onthedot.engines.sqlite.store import SqliteRunStore
from onthedot.targets.rules import AllowList
from onthedot.wiring.embedded import Embedded, embedded, owned_database, server_deployment
from tests.builders import a_run


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def parts(tmp_path: Path, clock: VirtualClock) -> Iterator[Embedded]:
    with owned_database(tmp_path / "onthedot.db") as database:
        made = embedded(database, clock, server_deployment(["http"], AllowList(), cpus=1.0, memory_mb=1024))
        yield made
        made.writer.close()


@pytest.fixture
def run(parts: Embedded, clock: VirtualClock) -> Record:
    """A run that the writer thread has created, so that it is remembered."""
    made = a_run(clock).dispatched().build()
    assert parts.writer.run(lambda: parts.engine.store.create(made)) is None
    return made


def start_of(run: Record, clock: VirtualClock, token: str = "token") -> Move:
    return lifecycle.start(run.run_id, run.generation, now=clock.now(), worker="w", attempt_token=token)


def end_of(run: Record, parts: Embedded, clock: VirtualClock) -> Move:
    return lifecycle.succeed(run, clock.now(), None, parts.engine.deployment)


def test_a_whole_life_reads_no_record_and_is_counted(
    parts: Embedded, run: Record, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def live() -> None:
        started = parts.engine.store.move(start_of(run, clock))
        assert isinstance(started, Moved)
        assert started.run is not None
        assert isinstance(parts.engine.store.move(end_of(started.run, parts, clock)), Moved)

    with monkeypatch.context() as patched:
        patched.setattr(SqliteRunStore, "move", None)
        patched.setattr(SqliteRunStore, "get", None)
        parts.writer.run(live)
    stored = parts.runs.get(run.run_id)
    assert stored is not None
    assert (stored.status, stored.revision, len(stored.attempts)) == (Status.SUCCEEDED, run.revision + 2, 1)
    minute = clock.now() // 60_000
    assert [one.counters.succeeded for one in parts.engine.statistics.read(run.tenant, minute, minute + 1)] == [1]


def test_a_move_on_an_older_memory_is_decided_by_what_is_stored(
    parts: Embedded, run: Record, clock: VirtualClock
) -> None:
    other = start_of(run, clock, "another worker")
    assert isinstance(parts.runs.move(other), Moved), "behind the back of the remembering store"
    outcome = parts.writer.run(lambda: parts.engine.store.move(start_of(run, clock)))
    assert isinstance(outcome, Refused)
    assert outcome.current is not None
    assert outcome.current.attempt_token == "another worker"


def test_a_move_on_an_older_memory_returns_the_record_as_it_is_stored(
    parts: Embedded, run: Record, clock: VirtualClock
) -> None:
    later = lifecycle.look_later(run, clock.now() + 600_000, parts.engine.deployment)
    assert isinstance(parts.runs.move(later), Moved), "behind the back of the remembering store"
    started = parts.writer.run(lambda: parts.engine.store.move(start_of(run, clock)))
    assert isinstance(started, Moved)
    assert started.run == parts.runs.get(run.run_id)


def test_what_another_thread_wrote_is_seen_at_once(parts: Embedded, run: Record, clock: VirtualClock) -> None:
    assert isinstance(parts.engine.store.move(start_of(run, clock)), Moved)
    seen = parts.writer.run(lambda: parts.engine.store.get(run.run_id))
    assert seen is not None
    assert seen.status is Status.RUNNING


def test_a_write_that_is_undone_is_forgotten(parts: Embedded, run: Record, clock: VirtualClock) -> None:
    def start_and_fail() -> None:
        with parts.database.transaction():
            assert isinstance(parts.engine.store.move(start_of(run, clock)), Moved)
            raise ValueError("undone")

    with pytest.raises(ValueError, match="undone"):
        parts.writer.run(start_and_fail)
    assert parts.writer.run(lambda: parts.engine.store.get(run.run_id)) == run
    assert isinstance(parts.writer.run(lambda: parts.engine.store.move(start_of(run, clock))), Moved)


def test_another_thread_sees_a_write_only_when_it_is_on_disk(parts: Embedded, run: Record, clock: VirtualClock) -> None:
    written, go_on = threading.Event(), threading.Event()

    def start_and_wait() -> None:
        parts.engine.store.move(start_of(run, clock))
        written.set()
        assert go_on.wait(30)

    starting = threading.Thread(target=parts.writer.run, args=(start_and_wait,))
    starting.start()
    assert written.wait(30)
    assert parts.engine.store.get(run.run_id) == run
    go_on.set()
    starting.join(30)
    seen = parts.engine.store.get(run.run_id)
    assert seen is not None
    assert seen.status is Status.RUNNING

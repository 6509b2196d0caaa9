"""What the embedded engine promises beyond the ports: durability in a file, upgrades, expiry."""

import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from onthedot.core import lifecycle
from onthedot.core.errors import Unavailable
from onthedot.core.lifecycle import TOMBSTONE_DAYS
from onthedot.core.listing import listed_under
from onthedot.core.ports import Deadline, RunMessage
from onthedot.core.records import Kind
from onthedot.engines.sqlite import database as database_module
from onthedot.engines.sqlite.database import Database
from onthedot.engines.sqlite.store import SqliteRunStore
from tests.builders import NOON, VISIBILITY_MS, VirtualClock, World, a_run, a_world

DIE_AFTER_CREATE = """
import os, signal, sys
from onthedot.engines.sqlite.database import Database
from onthedot.engines.sqlite.store import SqliteRunStore
from tests.builders import VirtualClock, a_run
clock = VirtualClock()
SqliteRunStore(Database(sys.argv[1]), clock).create(a_run(clock).called("job_durable").build())
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_was_accepted_outlives_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "jobs.db"
    program = [sys.executable, "-c", DIE_AFTER_CREATE, str(path)]
    died = subprocess.run(program, env={"PYTHONPATH": ":".join(sys.path)}, check=False)
    assert died.returncode == -9

    clock = VirtualClock()
    with Database(path) as database:
        assert SqliteRunStore(database, clock).get("job_durable") is not None


def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    with Database(tmp_path / "jobs.db"):
        modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}

    assert modes == {0o600}


def test_a_file_of_an_earlier_version_gets_the_new_fields(tmp_path: Path) -> None:
    path, clock = tmp_path / "jobs.db", VirtualClock()
    with Database(path) as database:
        run = a_run(clock).stored_in(SqliteRunStore(database, clock))
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE runs DROP COLUMN fingerprint")
    connection.close()

    with Database(path) as database:
        store = SqliteRunStore(database, clock)
        assert store.get(run.run_id) == run
        a_run(clock).having(fingerprint="f").stored_in(store)


def test_recurring_jobs_of_an_earlier_version_are_listed_under_their_kind_once(tmp_path: Path) -> None:
    path, clock = tmp_path / "jobs.db", VirtualClock()
    under = {"once": "acme#3", "again": "acme#3", "event": "acme#3"}
    kinds = {"once": Kind.ONE_OFF, "again": Kind.RECURRING, "event": Kind.EVENT}

    def listed() -> dict[str, str]:
        with Database(path) as database, database.reading() as connection:
            return {row["run_id"]: row["listed_under"] for row in connection.execute("SELECT * FROM runs")}

    with Database(path) as database:
        for name, kind in kinds.items():
            a_run(clock).called(name).having(kind=kind, listed_under=under[name]).stored_in(
                SqliteRunStore(database, clock)
            )
        with database.transaction() as connection:
            connection.execute("PRAGMA user_version = 1")

    expected = {name: listed_under("acme", name, kind) for name, kind in kinds.items()} | {"once": "acme#3"}
    assert listed() == expected
    with Database(path) as database, database.transaction() as connection:
        connection.execute("UPDATE runs SET listed_under = 'elsewhere'")
    assert set(listed().values()) == {"elsewhere"}, "the step is done once"


def test_two_processes_may_have_the_file_open(tmp_path: Path) -> None:
    clock = VirtualClock()
    with Database(tmp_path / "jobs.db") as one, Database(tmp_path / "jobs.db") as other:
        run = a_run(clock).stored_in(SqliteRunStore(one, clock))

        assert SqliteRunStore(other, clock).get(run.run_id) == run


def test_a_file_that_stays_locked_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_module, "_BUSY_SECONDS", 0.05)
    clock = VirtualClock()
    with Database(tmp_path / "jobs.db") as one, Database(tmp_path / "jobs.db") as other:
        with one.transaction():
            with pytest.raises(Unavailable):
                a_run(clock).called("job_a").stored_in(SqliteRunStore(other, clock))
            assert SqliteRunStore(other, clock).get("job_a") is None, "a reader waits for no writer"

        a_run(clock).called("job_a").stored_in(SqliteRunStore(other, clock))


def test_a_transaction_that_fails_leaves_nothing() -> None:
    with Database() as database:
        with pytest.raises(sqlite3.IntegrityError), database.transaction() as connection:
            connection.executemany("INSERT INTO blobs VALUES (?, ?)", [("a", b"1"), ("b", None)])

        with database.transaction() as connection:
            assert connection.execute("SELECT count(*) FROM blobs").fetchone()[0] == 0


def test_an_expired_record_frees_its_id_and_a_live_one_never_does() -> None:
    with a_world() as world:
        dead, live = (a_run(world.clock).stored_in(world.store) for _ in range(2))
        world.store.move(lifecycle.delete(dead, world.clock.now(), "tomb", world.deployment))

        world.clock.advance(TOMBSTONE_DAYS * 86_400 - 1)
        assert world.store.create(dead) is not None
        world.clock.advance(1)

        assert world.store.create(dead) is None
        assert world.store.get(live.run_id) == live


def a_message_in(world: World, due_in: float) -> RunMessage:
    run = a_run(world.clock).due_in(due_in).build()
    message = RunMessage(run.run_id, run.generation, run.due_at, run.tenant, run.priority, run.pool)
    world.queues.send([message], Deadline.after(world.clock.now(), 1000))
    return message


def test_a_message_for_much_later_comes_after_fifteen_minutes() -> None:
    with a_world() as world:
        message = a_message_in(world, due_in=5000)

        assert world.queues.next_visible_at(message.pool, message.priority) == NOON + 900_000
        world.clock.advance(900)
        assert [held.message for held in world.received(message.priority)] == [message]


def test_a_stale_receipt_neither_hides_nor_deletes() -> None:
    with a_world() as world:
        message = a_message_in(world, due_in=0)
        [stale] = world.received(message.priority)
        world.clock.advance(VISIBILITY_MS / 1000)

        world.queues.hide(stale, 5000)
        [again] = world.received(message.priority)
        world.queues.delete(stale)

        assert world.queues.counts(message.pool, message.priority).in_flight == 1
        world.queues.delete(again)
        assert world.queues.counts(message.pool, message.priority).in_flight == 0


def test_a_queue_is_as_far_behind_as_its_first_message_has_been_waiting() -> None:
    with a_world() as world:
        message = a_message_in(world, due_in=60)
        world.clock.advance(75)

        assert world.queues.visible(message.pool, message.priority) == 1
        assert world.queues.oldest_age_ms(message.pool, message.priority) == 15_000

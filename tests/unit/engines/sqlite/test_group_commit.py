"""The writer thread: operations share commits, and each learns its own outcome when it is on disk."""

import math
import selectors
import socket
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from queue import SimpleQueue

import pytest

from onthedot.core.errors import Unavailable
from onthedot.engines.sqlite import group_commit
from tests.unit.engines.sqlite.kit import INSERT, Desk, a_desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with a_desk(tmp_path) as made:
        yield made


def test_operations_that_arrive_during_a_commit_share_the_next_one(desk: Desk) -> None:
    before = desk.connection.commits
    with desk.held_up():
        futures = [desk.submit(desk.put(f"k{number}")) for number in range(50)]

    assert [future.result(10) for future in futures] == [f"k{number}" for number in range(50)]
    assert desk.connection.commits - before == 2, "one for the operation that held the writer up, one for all others"
    assert len(desk.stored()) == 50


def test_the_result_comes_when_the_operation_is_on_disk(desk: Desk) -> None:
    assert desk.writer.run(desk.put("a")) == "a"
    assert desk.stored() == ["a"]


def test_an_error_of_one_operation_is_only_its_own(desk: Desk) -> None:
    def fail() -> None:
        with desk.database.transaction() as connection:
            connection.execute(INSERT, ("undone",))
            raise ValueError("mine")

    with desk.held_up():
        before, broken, after = desk.submit(desk.put("a")), desk.submit(fail), desk.submit(desk.put("b"))

    assert (before.result(10), after.result(10)) == ("a", "b")
    with pytest.raises(ValueError, match="mine"):
        broken.result(10)
    assert desk.stored() == ["a", "b"]


def test_the_writes_before_an_error_stay_as_those_of_a_process_that_died_between_two_writes(desk: Desk) -> None:
    def fail_after_a_write() -> None:
        desk.put("first")()
        raise ValueError("between two writes")

    with pytest.raises(ValueError, match="between"):
        desk.writer.run(fail_after_a_write)
    assert desk.stored() == ["first"]


def test_a_commit_that_fails_fails_all_of_its_operations_and_stores_none(desk: Desk) -> None:
    arrived: list[str] = []

    def with_message() -> None:
        desk.put("c")()
        desk.database.after_commit(lambda: arrived.append("c"))

    with desk.held_up():
        futures = [desk.submit(do) for do in (desk.put("a"), desk.put("b"), with_message)]
        desk.submit(lambda: setattr(desk.connection, "failing", "COMMIT"))

    for future in futures:
        with pytest.raises(Unavailable, match="disk I/O error"):
            future.result(10)
    assert desk.stored() == []
    assert desk.writer.run(desk.put("later")) == "later"
    assert desk.stored() == ["later"]
    assert arrived == [], "not even with the next commit"


def test_a_statement_by_which_sqlite_undoes_everything_fails_the_whole_group(desk: Desk) -> None:
    """SQLite does so when the disk is full. Here a conflict clause asks for it."""
    desk.writer.run(desk.put("taken"))
    arrived: list[str] = []

    def undo_all() -> None:
        with desk.database.transaction() as connection:
            connection.execute("INSERT OR ROLLBACK INTO blobs VALUES ('taken', '')")

    def with_message() -> None:
        desk.put("a")()
        desk.database.after_commit(lambda: arrived.append("a"))

    with desk.held_up():
        futures = [desk.submit(do) for do in (with_message, undo_all, desk.put("b"))]

    for future in futures:
        with pytest.raises(Unavailable):
            future.result(10)
    assert desk.stored() == ["taken"]
    assert desk.writer.run(desk.put("later")) == "later"
    assert arrived == []


def test_a_caught_loss_of_the_transaction_lets_no_later_part_through(desk: Desk) -> None:
    """A use case may catch the error of one write and do the next one. That must not be stored alone."""
    desk.writer.run(desk.put("taken"))

    def go_on() -> str:
        with pytest.raises(sqlite3.IntegrityError), desk.database.transaction() as connection:
            connection.execute("INSERT OR ROLLBACK INTO blobs VALUES ('taken', '')")
        return desk.put("after")()

    with pytest.raises(Unavailable):
        desk.writer.run(go_on)
    assert desk.stored() == ["taken"]


def test_actions_run_after_the_commit_and_never_for_undone_parts(desk: Desk) -> None:
    seen: list[tuple[str, list[str]]] = []

    def act(name: str) -> None:
        desk.database.after_commit(lambda: seen.append((name, desk.stored())))

    def fail() -> None:
        with desk.database.transaction() as connection:
            connection.execute(INSERT, ("b",))
            act("b")
            raise ValueError("undo")

    def partly() -> None:
        desk.put("a")()
        act("a")
        with pytest.raises(ValueError, match="undo"):
            fail()
        assert seen == []

    desk.writer.run(partly)

    assert seen == [("a", ["a"])]


def test_an_action_without_a_transaction_runs_at_once(desk: Desk) -> None:
    seen: list[str] = []
    desk.database.after_commit(lambda: seen.append("now"))
    assert seen == ["now"]


def test_a_transaction_that_cannot_begin_fails_its_operations_and_later_ones_are_tried(desk: Desk) -> None:
    desk.connection.failing = "BEGIN IMMEDIATE"

    with pytest.raises(Unavailable):
        desk.writer.run(desk.put("a"))
    assert desk.writer.run(desk.put("b")) == "b"
    assert desk.stored() == ["b"]


def test_a_file_that_another_program_locks_fails_all_that_wait_at_once(desk: Desk) -> None:
    """Each attempt to begin waits for the lock. A thousand operations must not wait for it one after another."""
    with closing(sqlite3.connect(desk.path, isolation_level=None, check_same_thread=False)) as other:
        with desk.held_up():
            futures = [desk.submit(desk.put(f"k{number}")) for number in range(20)]
            begun = desk.connection.begun
            desk.connection.on_commit = lambda: other.execute("BEGIN IMMEDIATE")
        for future in futures:
            with pytest.raises(Unavailable, match="locked"):
                future.result(10)
        assert desk.connection.begun - begun == 1
    assert desk.writer.run(desk.put("later")) == "later"


def test_a_report_that_raises_holds_up_no_other_report(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    def broken(result: object, error: BaseException | None) -> None:
        raise ValueError("in the report")

    with desk.held_up():
        desk.writer.submit(desk.put("a"), broken)
        other = desk.submit(desk.put("b"))

    assert other.result(10) == "b"
    assert desk.stored() == ["a", "b"]
    assert [record.message for record in caplog.records] == ["report_failed"]


def test_an_operation_that_runs_another_one_does_it_at_once(desk: Desk) -> None:
    assert desk.writer.run(lambda: desk.writer.run(desk.put("a"))) == "a"


def test_close_commits_all_that_waits_and_refuses_the_rest(desk: Desk) -> None:
    with desk.held_up():
        futures = [desk.submit(desk.put(f"k{number}")) for number in range(5)]
        closing = threading.Thread(target=desk.writer.close)
        closing.start()
    closing.join(10)

    assert [future.result(0) for future in futures] == desk.stored() == [f"k{number}" for number in range(5)]
    with pytest.raises(Unavailable, match="stopping"):
        desk.submit(desk.put("late"))


def test_many_threads_lose_nothing(desk: Desk) -> None:
    def work(thread: int) -> None:
        for number in range(50):
            desk.writer.run(desk.put(f"{thread}/{number}"))

    threads = [threading.Thread(target=work, args=[thread]) for thread in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert len(desk.stored()) == 400
    assert desk.writer.operations == 400
    assert desk.writer.commits < 400


class AGuest:
    """A guest that counts its turns, and fails in some."""

    def __init__(self) -> None:
        self.turns = 0
        self.fails = False
        self.turned = threading.Condition()

    def turn(self) -> float:
        with self.turned:
            self.turns += 1
            self.turned.notify_all()
        if self.fails:
            raise ValueError("this turn fails")
        return math.inf

    def has_turned(self, wake: Callable[[], object]) -> bool:
        with self.turned:
            before = self.turns
            wake()
            return self.turned.wait_for(lambda: self.turns > before, 10)


@pytest.fixture
def guest(desk: Desk) -> AGuest:
    made = AGuest()
    assert made.has_turned(lambda: desk.writer.join(made))
    return made


def test_a_guest_has_a_turn_when_it_is_woken_and_after_each_commit(desk: Desk, guest: AGuest) -> None:
    assert guest.has_turned(desk.writer.wake)
    assert guest.has_turned(lambda: desk.writer.run(desk.put("a")))


def test_no_wake_is_lost(desk: Desk, guest: AGuest) -> None:
    """Threads wake the writer while it works, falls asleep, and sleeps."""

    def wake_often() -> None:
        for number in range(300):
            desk.writer.run(lambda: None)
            if number % 3 == 0:
                time.sleep(0.0005)

    threads = [threading.Thread(target=wake_often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert desk.writer.operations >= 1200


def test_a_guest_that_fails_stops_no_operation_and_has_other_turns(
    desk: Desk, guest: AGuest, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(group_commit, "_FAILED_SECONDS", 0.01)
    guest.fails = True
    assert desk.writer.run(desk.put("a")) == "a"
    assert guest.has_turned(lambda: None)
    assert "turn_failed" in caplog.messages
    guest.fails = False


def test_sockets_of_guests_are_read_between_commits(desk: Desk) -> None:
    ours, theirs = socket.socketpair()
    read: SimpleQueue[bytes] = SimpleQueue()
    with ours, theirs:
        desk.writer.run(
            lambda: desk.writer.selector.register(ours, selectors.EVENT_READ, lambda: read.put(ours.recv(10)))
        )
        theirs.send(b"idle")
        assert read.get(timeout=10) == b"idle"
        with desk.held_up():
            futures = [desk.submit(desk.put(f"k{number}")) for number in range(3)]
            theirs.send(b"busy")
        assert read.get(timeout=10) == b"busy"
        assert [future.result(10) for future in futures] == ["k0", "k1", "k2"]
        desk.writer.run(lambda: desk.writer.selector.unregister(ours))

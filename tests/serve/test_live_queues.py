"""The queues of a server by themselves: receipts, waits, and the order of priorities."""

import threading
import time
from pathlib import Path

import pytest

from onthedot.core.choices import Priority
from onthedot.core.clock import SystemClock
from onthedot.core.ports import Deadline, Received, RunMessage
from onthedot.engines.sqlite.database import Database
from onthedot.engines.sqlite.live_queues import LiveQueues

HIGH, MEDIUM, LOW = Priority.HIGH, Priority.MEDIUM, Priority.LOW
LONG = 60_000


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path / "onthedot.db")


@pytest.fixture
def queues(database: Database) -> LiveQueues:
    return LiveQueues(database, SystemClock())


def now() -> int:
    return SystemClock().now()


def send(queues: LiveQueues, run_id: str, priority: Priority = MEDIUM, pool: str = "pull", after_ms: int = 0) -> None:
    message = RunMessage(run_id, "g", now() + after_ms, "acme", priority, pool)
    assert queues.send([message], Deadline.after(now(), 1_000)) == ()


def receive(queues: LiveQueues, priority: Priority = MEDIUM) -> Received:
    [received] = queues.receive("pull", priority, 1, visibility_ms=LONG)
    return received


def test_a_receipt_of_the_process_before_fits_no_message(database: Database) -> None:
    """A worker that reports after a restart sends the receipt of a message that is gone."""
    first, second = receipts(LiveQueues(database, SystemClock())), receipts(LiveQueues(database, SystemClock()))
    assert first & second == set()


def receipts(queues: LiveQueues) -> set[str]:
    """The receipts of a thousand messages. Their queues are forgotten then."""
    for number in range(1_000):
        send(queues, f"run_{number}")
    return {receive(queues).receipt for _ in range(1_000)}


def test_of_many_threads_one_gets_a_message_and_the_others_wait_on(queues: LiveQueues) -> None:
    got: list[str] = []
    over = threading.Event()

    def wait() -> None:
        received = queues.receive_first("pull", [MEDIUM], visibility_ms=LONG, until=now() + LONG, is_over=over.is_set)
        got.extend(one.message.run_id for one in received)

    threads = [threading.Thread(target=wait) for _ in range(8)]
    for thread in threads:
        thread.start()
    for number in range(3):
        send(queues, f"run_{number}", after_ms=50)
    deadline = time.monotonic() + 30
    while sum(thread.is_alive() for thread in threads) > 5:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert len(got) == 3
    over.set()
    queues.wake()
    for thread in threads:
        thread.join(10)
    assert sorted(got) == ["run_0", "run_1", "run_2"]


def test_messages_of_another_pool_do_not_wake_a_thread(queues: LiveQueues) -> None:
    looks: list[int] = []

    def is_over() -> bool:
        looks.append(1)
        return False

    thread = threading.Thread(
        target=lambda: queues.receive_first("pull", [MEDIUM], visibility_ms=LONG, until=now() + 300, is_over=is_over)
    )
    thread.start()
    for number in range(50):
        send(queues, f"run_{number}", pool="default")
    thread.join(10)
    assert len(looks) <= 3


def test_a_message_that_is_given_back_wakes_a_thread_that_waits(queues: LiveQueues) -> None:
    send(queues, "run_1")
    first = receive(queues)
    got: list[Received] = []
    thread = threading.Thread(
        target=lambda: got.extend(queues.receive_first("pull", [MEDIUM], visibility_ms=LONG, until=now() + LONG))
    )
    thread.start()
    time.sleep(0.05)
    queues.hide(first, 0)
    thread.join(10)
    assert [one.message.run_id for one in got] == ["run_1"]

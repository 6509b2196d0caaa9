"""The queues of a server beyond the contract: receipts, transactions, and clocks that are set."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from onthedot.core.choices import Priority
from onthedot.core.clock import VirtualClock
from onthedot.core.errors import Unavailable
from onthedot.core.ports import Deadline, Received
from onthedot.core.schema import DEFAULT_POOL, PRIORITIES
from onthedot.engines.sqlite import live_queues
from onthedot.engines.sqlite.database import Database
from onthedot.engines.sqlite.live_queues import LiveQueues
from tests.contract.kits.kit import a_message
from tests.unit.engines.sqlite.kit import a_desk

MEDIUM = Priority.MEDIUM


class SettableClock(VirtualClock):
    """A clock that is set back, too."""

    def set(self, instant: int) -> None:
        self._now = instant


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def database() -> Iterator[Database]:
    with Database() as made:
        yield made


@pytest.fixture
def queues(database: Database, clock: SettableClock) -> LiveQueues:
    return LiveQueues(database, clock)


def send(queues: LiveQueues, clock: VirtualClock, due_in: float = 0.0, run_id: str = "job_a") -> None:
    queues.send([a_message(clock, due_in, run_id)], Deadline.after(clock.now(), 1000))


def receive(queues: LiveQueues, visibility_ms: int = 30_000) -> list[Received]:
    return list(queues.receive(DEFAULT_POOL, MEDIUM, 10, visibility_ms=visibility_ms))


def test_no_receipt_is_used_twice(queues: LiveQueues, clock: SettableClock) -> None:
    """A receipt of a message that is gone must not fit a later one."""
    receipts = []
    for _ in range(100):
        send(queues, clock)
        (received,) = receive(queues)
        queues.delete(received)
        assert receive(queues) == []
        clock.advance(31)
        receipts.append(received.receipt)

    assert len(set(receipts)) == 100


def test_a_message_of_a_transaction_arrives_when_that_is_on_disk(tmp_path: Path) -> None:
    clock = VirtualClock()
    with a_desk(tmp_path) as desk:
        queues = LiveQueues(desk.database, clock)

        def send_and_look() -> list[Received]:
            send(queues, clock)
            return receive(queues)

        assert desk.writer.run(send_and_look) == []
        assert len(receive(queues)) == 1


def test_a_message_of_a_transaction_that_fails_never_arrives(tmp_path: Path) -> None:
    clock = VirtualClock()
    with a_desk(tmp_path) as desk:
        queues = LiveQueues(desk.database, clock)
        with desk.held_up():
            sent = desk.submit(lambda: send(queues, clock))
            desk.submit(lambda: setattr(desk.connection, "failing", "COMMIT"))

        with pytest.raises(Unavailable):
            sent.result(10)
        assert receive(queues) == []


def test_a_clock_that_is_set_back_brings_no_message_early_and_loses_none(
    queues: LiveQueues, clock: SettableClock
) -> None:
    noon = clock.now()
    send(queues, clock, due_in=60)
    clock.set(noon - 3_600_000)
    assert receive(queues) == []
    clock.set(noon + 59_999)
    assert receive(queues) == []
    clock.set(noon + 60_000)
    assert len(receive(queues)) == 1


def test_a_clock_that_is_set_ahead_makes_messages_due(queues: LiveQueues, clock: SettableClock) -> None:
    send(queues, clock, due_in=1800)
    clock.set(clock.now() + 3_600_000)
    assert len(receive(queues)) == 1


def test_a_receiver_looks_at_the_clock_now_and_then(
    queues: LiveQueues, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits for a run in half an hour when the clock is set ahead. No message wakes it."""
    monkeypatch.setattr(live_queues, "LONGEST_PAUSE_MS", 10)
    send(queues, clock, due_in=1800)
    found: list[Received] = []

    def wait() -> None:
        until = clock.now() + 10**9
        found.extend(queues.receive_first(DEFAULT_POOL, PRIORITIES, visibility_ms=30_000, until=until))

    waiting = threading.Thread(target=wait)
    waiting.start()
    clock.set(clock.now() + 3_600_000 - 1)
    waiting.join(10)

    assert len(found) == 1


def test_a_change_is_told_to_whoever_waits_outside(queues: LiveQueues, clock: SettableClock) -> None:
    told: list[int | None] = []
    queues.on_change = lambda: told.append(queues.next_at(DEFAULT_POOL))
    send(queues, clock)
    (received,) = receive(queues)
    queues.hide(received, 0)

    assert told == [clock.now(), clock.now()]


def test_ten_thousand_messages_leave_nothing_behind(queues: LiveQueues, clock: SettableClock) -> None:
    for _ in range(1000):
        queues.send([a_message(clock, run_id=f"job_{n}") for n in range(10)], Deadline.after(clock.now(), 1000))
        for received in receive(queues):
            queues.delete(received)
    clock.advance(31)
    assert receive(queues) == []
    (queue,) = queues._queues.values()
    assert (queue.heap, queue.hidden) == ([], {})


def test_a_message_hidden_until_the_time_at_which_it_is_visible_anyway_is_one_message(
    queues: LiveQueues, clock: SettableClock
) -> None:
    send(queues, clock)
    (received,) = receive(queues, visibility_ms=30_000)
    queues.hide(received, 30_000)
    clock.advance(30)
    assert queues.counts(DEFAULT_POOL, MEDIUM).visible == 1
    assert len(receive(queues)) == 1
    clock.advance(30)
    assert len(receive(queues)) == 1


def test_a_run_that_is_sent_again_waits_once_and_its_age_counts_from_its_fire_time(
    queues: LiveQueues, clock: SettableClock
) -> None:
    message = a_message(clock)
    for _ in range(3):
        queues.send([message], Deadline.after(clock.now(), 1000))
        (received,) = receive(queues)
        queues.hide(received, 0)
        clock.advance(40)
    assert queues.counts(DEFAULT_POOL, MEDIUM).visible == 1
    assert queues.oldest_age_ms(DEFAULT_POOL, MEDIUM) == 120_000


def test_a_run_is_sent_again_while_a_worker_has_its_message(queues: LiveQueues, clock: SettableClock) -> None:
    message = a_message(clock)
    queues.send([message], Deadline.after(clock.now(), 1000))
    (first,) = receive(queues)
    queues.send([message], Deadline.after(clock.now(), 1000))
    (second,) = receive(queues)
    queues.delete(first)
    queues.delete(second)
    queues.send([message], Deadline.after(clock.now(), 1000))
    assert len(receive(queues)) == 1


def test_a_run_whose_message_was_received_too_often_is_sent_again(database: Database, clock: SettableClock) -> None:
    queues = LiveQueues(database, clock, max_receives=1)
    message = a_message(clock)
    queues.send([message], Deadline.after(clock.now(), 1000))
    (received,) = receive(queues)
    queues.hide(received, 0)
    queues.send([message], Deadline.after(clock.now(), 1000))
    assert len(receive(queues)) == 1
    assert queues.counts(DEFAULT_POOL, MEDIUM).dead == 1

"""The queues of a test: messages arrive at their times, and come again unless they are deleted."""

from onthedot.clock import NOON, VirtualClock
from onthedot.domain.runs.records import Priority
from onthedot.ports import Deadline, RunMessage
from onthedot.testing.queue import VISIBILITY_MS, MemoryQueues

SOON = Deadline(NOON + 1_000)


def a_message(run_id: str, at: int = NOON, priority: Priority = Priority.MEDIUM) -> RunMessage:
    return RunMessage(run_id, "g", at, "acme", priority, "default")


def queues_with(*messages: RunMessage) -> tuple[MemoryQueues, VirtualClock]:
    clock = VirtualClock()
    queues = MemoryQueues(clock)
    assert queues.send(messages, SOON) == ()
    return queues, clock


def taken(queues: MemoryQueues) -> list[str]:
    found = []
    while (received := queues.take()) is not None:
        found.append(received.message.run_id)
    return found


def test_a_message_arrives_at_its_time_and_not_before() -> None:
    queues, clock = queues_with(a_message("b", NOON + 2_500), a_message("a", NOON + 1_001), a_message("past", NOON - 9))
    assert taken(queues) == ["past"]
    assert queues.next_at() == NOON + 1_001
    clock.advance(2.5)
    assert taken(queues) == ["a", "b"]


def test_a_message_that_is_not_deleted_comes_again() -> None:
    queues, clock = queues_with(a_message("a"))
    first = queues.take()
    assert first is not None
    assert queues.take() is None
    clock.advance(VISIBILITY_MS / 1000)
    second = queues.take()
    assert second is not None
    assert second.receive_count == 2
    queues.delete(first)
    assert queues.next_at() is not None
    queues.delete(second)
    queues.delete(second)
    assert queues.next_at() is None


def test_a_hidden_message_comes_again_at_that_time() -> None:
    queues, clock = queues_with(a_message("a"))
    received = queues.take()
    assert received is not None
    queues.hide(received, 1_500)
    assert queues.next_at() == NOON + 1_500
    clock.advance(1.5)
    assert taken(queues) == ["a"]
    queues.hide(received, 0)
    assert queues.next_at() == clock.now() + VISIBILITY_MS


def test_queues_are_counted_and_received_by_pool_and_priority() -> None:
    queues, clock = queues_with(a_message("a"), a_message("b", priority=Priority.HIGH), a_message("c", NOON + 60_000))
    clock.advance(5)
    assert queues.visible("default", Priority.MEDIUM) == 1
    assert queues.oldest_age_ms("default", Priority.MEDIUM) == 5_000
    assert queues.oldest_age_ms("default", Priority.LOW) is None
    received = queues.receive("default", Priority.MEDIUM, 10, visibility_ms=1_000)
    assert [one.message.run_id for one in received] == ["a"]
    assert queues.visible("default", Priority.MEDIUM) == 0
    assert queues.receive("other", Priority.HIGH, 10, visibility_ms=1_000) == []

"""Long polls of three queues at the same time: a message wakes the worker, or is given back while it pauses."""

import queue
import threading
from collections.abc import Sequence

import pytest

from onthedot.core.choices import Priority
from onthedot.core.errors import Unavailable
from onthedot.core.ports import Received, RunMessage, RunQueues
from onthedot.core.schema import PRIORITIES
from onthedot.worker.queues import QueuePolls
from tests.unit.worker.kit import PATIENCE

LONG = 3600.0


def a_message(run_id: str, priority: Priority) -> Received:
    return Received(RunMessage(run_id, "g", 0, "acme", priority, "pull"), f"receipt-{run_id}", 1)


class Queues(RunQueues):
    """Polls that last until the test answers them."""

    def __init__(self) -> None:
        self.answers: dict[Priority, queue.SimpleQueue[Sequence[Received] | Exception]] = {
            priority: queue.SimpleQueue() for priority in PRIORITIES
        }
        self.polled: queue.SimpleQueue[Priority] = queue.SimpleQueue()
        self.hidden: queue.SimpleQueue[tuple[str, int]] = queue.SimpleQueue()

    def receive(
        self, pool: str, priority: Priority, maximum: int, *, visibility_ms: int, wait_ms: int = 0
    ) -> Sequence[Received]:
        assert (maximum, wait_ms > 0) == (1, True)
        self.polled.put(priority)
        answer = self.answers[priority].get(timeout=PATIENCE)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def hide(self, received: Received, milliseconds: int) -> None:
        self.hidden.put((received.message.run_id, milliseconds))

    delete = send = visible = oldest_age_ms = counts = None  # type: ignore[assignment]

    def end_polls(self) -> None:
        for answers in self.answers.values():
            answers.put(())

    def wait_for_polls(self, number: int = 3) -> set[Priority]:
        return {self.polled.get(timeout=PATIENCE) for _ in range(number)}


def waiting(polled: QueuePolls) -> "queue.SimpleQueue[bool | Exception]":
    """Wait in a thread beside the test. The queue gets the value that the wait returns, or its error."""
    returned: queue.SimpleQueue[bool | Exception] = queue.SimpleQueue()

    def wait() -> None:
        try:
            returned.put(polled.wait(LONG))
        except (Unavailable, KeyError) as error:
            returned.put(error)

    threading.Thread(target=wait, daemon=True).start()
    return returned


def taken(polled: QueuePolls, *order: Priority) -> list[str]:
    return [received.message.run_id for received in polled.take(order or PRIORITIES)]


@pytest.fixture
def queues() -> Queues:
    return Queues()


def test_all_three_queues_are_polled_at_the_same_time_and_the_first_message_ends_the_wait(queues: Queues) -> None:
    polled = QueuePolls(queues, "pull")
    returned = waiting(polled)
    assert queues.wait_for_polls() == set(PRIORITIES)
    queues.answers[Priority.LOW].put([a_message("a", Priority.LOW)])
    assert returned.get(timeout=PATIENCE) is True
    assert taken(polled) == ["a"]
    assert taken(polled) == [], "it is taken once"
    queues.end_polls()


def test_the_queue_that_comes_first_for_the_worker_is_taken_first(queues: Queues) -> None:
    polled = QueuePolls(queues, "pull")
    polled._arrived = [a_message(priority.value, priority) for priority in PRIORITIES]
    assert taken(polled, *reversed(PRIORITIES)) == ["LOW", "MEDIUM", "HIGH"]


def test_messages_that_arrive_after_a_pause_are_given_back_at_once(queues: Queues) -> None:
    polled = QueuePolls(queues, "pull")
    returned = waiting(polled)
    queues.wait_for_polls()
    queues.answers[Priority.HIGH].put([a_message("a", Priority.HIGH)])
    assert returned.get(timeout=PATIENCE) is True
    polled.pause()
    queues.answers[Priority.LOW].put([a_message("b", Priority.LOW)])
    given_back = {queues.hidden.get(timeout=PATIENCE) for _ in range(2)}
    assert given_back == {("a", 0), ("b", 0)}
    queues.end_polls()


def test_a_wait_that_begins_after_wake_ends_at_once(queues: Queues) -> None:
    polled = QueuePolls(queues, "pull")
    polled.pause()
    assert polled.wait(LONG) is True
    queues.end_polls()


def test_a_bug_in_a_poll_is_raised_by_wait(queues: Queues) -> None:
    returned = waiting(QueuePolls(queues, "pull"))
    queues.wait_for_polls()
    error = KeyError("a bug")
    queues.answers[Priority.HIGH].put(error)
    assert returned.get(timeout=PATIENCE) is error
    queues.end_polls()


def test_a_queue_that_fails_keeps_no_message_of_the_others_waiting(queues: Queues) -> None:
    polled = QueuePolls(queues, "pull")
    returned = waiting(polled)
    queues.wait_for_polls()
    queues.answers[Priority.HIGH].put(Unavailable("throttled"))
    queues.answers[Priority.MEDIUM].put([])
    assert queues.wait_for_polls(1) == {Priority.MEDIUM}, "the failing one is not polled again in this wait"
    queues.answers[Priority.LOW].put([a_message("a", Priority.LOW)])
    assert returned.get(timeout=PATIENCE) is True
    assert taken(polled) == ["a"]

    returned = waiting(polled)
    assert queues.wait_for_polls(2) == {Priority.HIGH, Priority.LOW}, "the next wait polls it again"
    polled.wake()
    assert returned.get(timeout=PATIENCE) is True
    queues.end_polls()


def test_when_all_queues_fail_the_wait_raises_the_error(queues: Queues) -> None:
    returned = waiting(QueuePolls(queues, "pull"))
    queues.wait_for_polls()
    error = Unavailable("throttled")
    for priority in PRIORITIES:
        queues.answers[priority].put(error)
    assert returned.get(timeout=PATIENCE) is error
    queues.end_polls()


def test_a_wait_that_begins_just_before_the_last_polls_end_is_not_blind(queues: Queues) -> None:
    polled = QueuePolls(queues, "pull")
    assert polled.wait(0.01) is False
    queues.wait_for_polls()
    returned = waiting(polled)  # its polls are those of the wait before
    for _ in range(3):
        assert queues.polled.empty()
        queues.end_polls()
        assert queues.wait_for_polls() == set(PRIORITIES), "no queue is ever without a poll"
    queues.answers[Priority.LOW].put([a_message("a", Priority.LOW)])
    assert returned.get(timeout=PATIENCE) is True
    assert queues.polled.empty(), "a poll that still lasts is not begun twice"
    queues.end_polls()


def test_a_worker_that_ends_leaves_no_poll_behind_that_could_swallow_a_message(queues: Queues) -> None:
    polled = QueuePolls(queues, "pull")
    assert polled.wait(0.01) is False
    polled.pause()
    closing = threading.Thread(target=polled.close)
    closing.start()
    queues.answers[Priority.HIGH].put([a_message("late", Priority.HIGH)])
    assert queues.hidden.get(timeout=PATIENCE) == ("late", 0), "it is given back"
    assert closing.is_alive(), "two polls are still under way"
    queues.end_polls()
    closing.join(PATIENCE)
    assert not closing.is_alive()

"""What waits for another worker is left to it."""

from onthedot.domain.run import Priority
from onthedot.schema import PRIORITIES
from onthedot.use_cases.lease_runs import NOT_FOR_US_MS
from onthedot.worker.avoided import AVOID_SECONDS, Avoided
from tests.unit.worker_kit import Seconds


def test_a_queue_with_something_for_another_worker_is_left_alone_for_a_while() -> None:
    seconds = Seconds()
    avoided = Avoided(seconds)
    avoided.note([Priority.HIGH])
    assert avoided.without(PRIORITIES) == [Priority.MEDIUM, Priority.LOW]
    seconds.now += AVOID_SECONDS
    assert avoided.without(PRIORITIES) == list(PRIORITIES)


def test_it_is_left_alone_for_longer_than_its_message_is_hidden() -> None:
    assert AVOID_SECONDS * 1000 >= 2 * NOT_FOR_US_MS

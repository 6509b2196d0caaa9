"""Counting dead letters stops nothing: a queue that fails is left out, and slow ones take a bounded time."""

from typing import Any

from onthedot.core.clock import VirtualClock
from onthedot.core.errors import Unavailable
from onthedot.engines.aws.sqs.dead_letters import LONGEST_MS, SqsDeadLetters


class Sqs:
    """Queues with two messages each. One fails, and each call may take some time."""

    def __init__(self, clock: VirtualClock, seconds: float = 0, failing: str = "") -> None:
        self._clock, self._seconds, self._failing = clock, seconds, failing
        self.asked: list[str] = []

    def get_queue_attributes(self, **asked: Any) -> Any:
        self.asked.append(asked["QueueUrl"])
        self._clock.sleep_until(self._clock.now() + round(self._seconds * 1000))
        if asked["QueueUrl"] == self._failing:
            raise Unavailable("sqs")
        return {"Attributes": dict.fromkeys(asked["AttributeNames"], "2")}


def test_a_queue_that_fails_is_left_out() -> None:
    clock = VirtualClock()
    assert SqsDeadLetters(Sqs(clock, failing="b"), ["a", "b", "c"], clock).count() == 4  # type: ignore[arg-type]


def test_slow_queues_take_a_bounded_time() -> None:
    clock = VirtualClock()
    sqs = Sqs(clock, seconds=3)
    began = clock.now()
    assert SqsDeadLetters(sqs, [str(number) for number in range(70)], clock).count() == 4  # type: ignore[arg-type]
    assert len(sqs.asked) == 2
    assert clock.now() - began <= LONGEST_MS + 3_000

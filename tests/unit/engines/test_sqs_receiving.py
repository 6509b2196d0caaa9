"""The calls of SQS that receive messages: none waits longer than the read timeout of its client."""

from typing import Any

import pytest

from onthedot.core.choices import Priority
from onthedot.engines.aws.client import READ_SECONDS
from onthedot.engines.aws.sqs.queues import SHORT_POLL_SECONDS, SqsRunQueues
from tests.builders import VirtualClock


class EmptyQueue:
    """A client whose queue never has anything."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    def receive_message(self, **asked: Any) -> dict[str, Any]:
        self.asked.append(asked)
        return {}

    def what_was_asked(self, name: str, **receive: Any) -> list[Any]:
        queues = SqsRunQueues(self, None, {"default-high": "http://q"}, VirtualClock())  # type: ignore[arg-type]
        arguments = {"maximum": 10, "visibility_ms": 30_000, **receive}
        assert list(queues.receive("default", Priority.HIGH, **arguments)) == []
        return [asked[name] for asked in self.asked]


@pytest.mark.parametrize(
    ("wait_ms", "seconds"),
    [(0, [0]), (1, [1]), (1_500, [2]), (4_000, [4]), (4_001, [4, 1]), (10_000, [4, 4, 2]), (20_000, [4] * 5)],
)
def test_a_long_wait_is_several_calls(wait_ms: int, seconds: list[int]) -> None:
    assert EmptyQueue().what_was_asked("WaitTimeSeconds", wait_ms=wait_ms) == seconds


def test_no_call_waits_as_long_as_the_client_has_patience() -> None:
    assert READ_SECONDS > SHORT_POLL_SECONDS


@pytest.mark.parametrize(("visibility_ms", "seconds"), [(0, 0), (1, 1), (34_000, 34), (34_001, 35), (10**9, 12 * 3600)])
def test_messages_are_hidden_for_whole_seconds_rounded_up(visibility_ms: int, seconds: int) -> None:
    assert EmptyQueue().what_was_asked("VisibilityTimeout", visibility_ms=visibility_ms) == [seconds]

"""Queues on MiniStack's SQS of which one was deleted: its messages wait, and the others go."""

import secrets
from dataclasses import replace

import pytest

from onthedot.core.choices import Priority
from onthedot.core.clock import SystemClock
from onthedot.core.errors import Unreachable
from onthedot.core.ports import Deadline, Received
from onthedot.engines.aws.sqs.queues import SqsRunQueues
from tests.contract.kits.kit import a_message
from tests.contract.kits.ministack_kit import Clients


@pytest.fixture
def queues(ministack: Clients) -> SqsRunQueues:
    """The queue of HIGH was deleted, that of LOW was never there."""
    names = {f"default-{name}": f"{name}-{secrets.token_hex(4)}" for name in ("high", "medium")}
    urls = {key: ministack.sqs.create_queue(QueueName=name)["QueueUrl"] for key, name in names.items()}
    ministack.sqs.delete_queue(QueueUrl=urls["default-high"])
    return SqsRunQueues(ministack.sqs, None, urls, SystemClock())


def test_messages_of_the_other_queues_are_sent(queues: SqsRunQueues) -> None:
    clock = SystemClock()
    messages = [replace(a_message(clock, run_id=f"job_{p}"), priority=p) for p in Priority for _ in range(12)]

    unsent = queues.send(messages, Deadline.after(clock.now(), 10_000))

    assert sorted(message.priority for message in unsent) == [Priority.HIGH] * 12 + [Priority.LOW] * 12
    assert len(queues.receive("default", Priority.MEDIUM, 10, visibility_ms=30_000)) == 10


@pytest.mark.parametrize("priority", [Priority.HIGH, Priority.LOW])
def test_every_call_of_a_queue_that_is_gone_says_so(queues: SqsRunQueues, priority: Priority) -> None:
    message = replace(a_message(SystemClock()), priority=priority)
    calls = (
        lambda: queues.visible("default", priority),
        lambda: queues.counts("default", priority),
        lambda: queues.receive("default", priority, 10, visibility_ms=30_000),
        lambda: queues.delete(Received(message, "receipt", 1)),
        lambda: queues.hide(Received(message, "receipt", 1), 0),
    )
    for call in calls:
        with pytest.raises(Unreachable):
            call()

"""Sending to many queues in SQS: a queue that is gone, denied or throttled keeps back only its own messages."""

import logging
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from onthedot.core.choices import Priority
from onthedot.core.ports import Deadline, RunMessage
from onthedot.engines.aws.sqs.queues import SqsRunQueues
from onthedot.engines.aws.sqs.sending import PATIENCE_MS
from tests.builders import VirtualClock
from tests.unit.engines.test_queue_ages import refusal

URLS = {f"default-{priority.value.lower()}": f"http://{priority.value.lower()}" for priority in Priority}
Answer = Callable[[list[dict[str, Any]]], Any]


def taken(entries: list[dict[str, Any]]) -> Any:
    return {"Successful": [{"Id": entry["Id"]} for entry in entries]}


def refused(code: str, status: int = 400) -> Answer:
    def answer(_: list[dict[str, Any]]) -> Any:
        raise refusal(code, status)

    return answer


def in_turn(*answers: Answer) -> Answer:
    left = iter(answers)

    def answer(entries: list[dict[str, Any]]) -> Any:
        return next(left)(entries)

    return answer


class Sqs:
    """A client whose queues answer as scripted, and take everything by default."""

    def __init__(self, clock: VirtualClock, **answers: Answer) -> None:
        self.clock = clock
        self.answers = answers
        self.calls: Counter[str] = Counter()
        self.sent: list[str] = []

    def send_message_batch(self, *, QueueUrl: str, Entries: Any) -> Any:  # noqa: N803 - boto3's names
        queue = QueueUrl.removeprefix("http://")
        self.calls[queue] += 1
        self.clock.advance(0.01)
        reply = self.answers.get(queue, taken)(Entries)
        sent = {entry["Id"] for entry in reply["Successful"]}
        self.sent += [entry["MessageGroupId"] for entry in Entries if entry["Id"] in sent]
        return reply


class Sent:
    """Queues on a scripted client, with messages that are named by their tenants."""

    def __init__(self, **answers: Answer) -> None:
        self.clock = VirtualClock()
        self.sqs = Sqs(self.clock, **answers)
        self.queues = SqsRunQueues(self.sqs, None, URLS, self.clock)  # type: ignore[arg-type]

    def send(self, *messages: RunMessage, seconds: float = 80) -> list[str]:
        """Return the tenants whose messages were not sent."""
        unsent = self.queues.send(messages, Deadline.after(self.clock.now(), round(seconds * 1000)))
        return [message.tenant for message in unsent]


def a_message(tenant: str, priority: Priority, pool: str = "default") -> RunMessage:
    return RunMessage(f"job_{tenant}", "g", 0, tenant, priority, pool)


def messages(priority: Priority, count: int) -> list[RunMessage]:
    return [a_message(f"{priority.value}-{number}", priority) for number in range(count)]


@pytest.mark.parametrize(
    "answer",
    [
        refused("AWS.SimpleQueueService.NonExistentQueue"),
        refused("AccessDenied", 403),
        refused("KMS.DisabledException"),
        refused("RequestThrottled"),
        refused("InternalError", 500),
    ],
)
def test_a_queue_that_fails_keeps_back_only_its_own_messages(answer: Answer, caplog: pytest.LogCaptureFixture) -> None:
    world = Sent(high=answer)
    theirs, others = messages(Priority.HIGH, 25), messages(Priority.LOW, 25)

    with caplog.at_level(logging.ERROR):
        unsent = world.send(*theirs, *others)
        world.send(*theirs)

    assert sorted(unsent) == sorted(message.tenant for message in theirs)
    assert sorted(world.sqs.sent) == sorted(message.tenant for message in others)
    assert [(record.message, record.__dict__["queue"]) for record in caplog.records] == [
        ("queue_fails", "default-high")
    ]


def test_a_queue_that_this_stage_does_not_have_keeps_back_only_its_own_messages(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = Sent()

    unsent = world.send(a_message("theirs", Priority.HIGH, pool="removed"), a_message("other", Priority.HIGH))

    assert (unsent, world.sqs.sent) == (["theirs"], ["other"])
    assert [record.__dict__["error"] for record in caplog.records] == ["this stage has no queue removed-high"]


def test_a_throttled_queue_takes_a_bounded_time_and_then_one_call_each(caplog: pytest.LogCaptureFixture) -> None:
    world = Sent(high=refused("RequestThrottled"))
    began = world.clock.now()

    world.send(*messages(Priority.HIGH, 500), *messages(Priority.LOW, 10), seconds=80)

    assert world.clock.now() - began <= PATIENCE_MS + 100
    calls = world.sqs.calls["high"]
    world.send(*messages(Priority.HIGH, 500), seconds=80)
    assert world.sqs.calls["high"] == calls + 1
    assert world.sqs.calls["low"] == 1


def test_a_queue_that_is_back_takes_messages_and_is_tried_again_when_it_fails_again() -> None:
    world = Sent(high=refused("RequestThrottled"))
    world.send(*messages(Priority.HIGH, 10))
    world.sqs.answers.clear()

    assert world.send(*messages(Priority.HIGH, 30)) == []

    world.sqs.answers["high"] = in_turn(*[refused("RequestThrottled")] * 3, taken)
    assert world.send(*messages(Priority.HIGH, 10)) == []


def test_one_message_that_sqs_refuses_keeps_back_no_other(caplog: pytest.LogCaptureFixture) -> None:
    def strict(entries: list[dict[str, Any]]) -> Any:
        if any(entry["MessageGroupId"] == "bad-tenant" for entry in entries):
            raise ClientError({"Error": {"Code": "InvalidParameterValue"}}, "SendMessageBatch")
        return taken(entries)

    world = Sent(high=strict)
    good = messages(Priority.HIGH, 25)

    unsent = world.send(*good[:5], a_message("bad-tenant", Priority.HIGH), *good[5:])

    assert unsent == ["bad-tenant"]
    assert sorted(world.sqs.sent) == sorted(message.tenant for message in good)
    assert [(record.message, record.__dict__["run"]) for record in caplog.records] == [
        ("message_refused", "job_bad-tenant")
    ]


@pytest.mark.parametrize("tenant", ["a tenant", "größe", "x" * 129, ""])
def test_every_tenant_is_a_message_group_that_sqs_takes(tenant: str) -> None:
    world = Sent()

    assert world.send(a_message(tenant, Priority.HIGH), a_message("acme", Priority.HIGH)) == []

    [group, plain] = world.sqs.sent
    assert (len(group), group.isalnum(), plain) == (64, True, "acme")


def test_an_entry_that_is_the_senders_fault_is_not_tried_again() -> None:
    def half(entries: list[dict[str, Any]]) -> Any:
        first, *rest = entries
        return {"Failed": [{"Id": first["Id"], "SenderFault": True, "Code": "InvalidMessageContents"}], **taken(rest)}

    world = Sent(high=half)

    assert world.send(*messages(Priority.HIGH, 3)) == ["HIGH-0"]
    assert world.sqs.calls["high"] == 1


def test_entries_that_failed_by_themselves_are_sent_again() -> None:
    world = Sent(high=in_turn(lambda entries: taken(entries[:1]), taken))

    assert world.send(*messages(Priority.HIGH, 3)) == []
    assert len(world.sqs.sent) == 3


def test_at_the_deadline_each_queue_was_tried_once() -> None:
    world = Sent(high=refused("RequestThrottled"))

    unsent = world.send(*messages(Priority.HIGH, 10), *messages(Priority.LOW, 10), seconds=0)

    assert len(unsent) == 10
    assert world.sqs.calls == {"high": 1, "low": 1}

"""Publishing to MiniStack's EventBridge: events arrive, and the answer of every entry is checked."""

import json
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from onthedot.core.ports import Deadline, Undecided
from onthedot.engines.aws.eventbridge_bus import BYTES_PER_CALL, EventBridgeBus
from onthedot.events.lifecycle import LifecycleEvent
from onthedot.events.ports import Unpublishable
from tests.builders import VirtualClock
from tests.contract.kits.ministack_kit import Clients

OVERHEAD = len("onthedot") + len("onthedot.run.succeeded") + len('{"text":""}')


def an_event(number: int = 0, **detail: Any) -> LifecycleEvent:
    return LifecycleEvent("onthedot.run.succeeded", detail or {"number": number})


def of_bytes(size: int) -> LifecycleEvent:
    """An event whose entry has exactly this size."""
    return an_event(text="x" * (size - OVERHEAD))


@dataclass(frozen=True)
class Heard:
    """A bus, and a queue that hears all of it."""

    bus: EventBridgeBus
    client: Any
    sqs: Any
    url: str

    def events(self) -> list[Any]:
        bodies: list[Any] = []
        while got := self.sqs.receive_message(QueueUrl=self.url, MaxNumberOfMessages=10).get("Messages"):
            for message in got:
                bodies.append(json.loads(message["Body"]))
                self.sqs.delete_message(QueueUrl=self.url, ReceiptHandle=message["ReceiptHandle"])
        return bodies


@pytest.fixture
def heard(ministack: Clients) -> Iterator[Heard]:
    url = ministack.dynamodb.meta.endpoint_url
    client = boto3.Session("test", "test", region_name="us-east-1").client("events", endpoint_url=url)
    name = f"bus-{secrets.token_hex(4)}"
    queue = ministack.sqs.create_queue(QueueName=name)["QueueUrl"]
    arn = ministack.sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    client.create_event_bus(Name=name)
    client.put_rule(Name="all", EventBusName=name, EventPattern='{"source": ["onthedot"]}')
    client.put_targets(Rule="all", EventBusName=name, Targets=[{"Id": "queue", "Arn": arn}])
    yield Heard(EventBridgeBus(client, name, VirtualClock()), client, ministack.sqs, queue)
    client.remove_targets(Rule="all", EventBusName=name, Ids=["queue"])


def soon(seconds: float = 10) -> Deadline:
    return Deadline.after(VirtualClock().now(), round(seconds * 1000))


def test_what_is_published_is_heard_by_a_rule(heard: Heard) -> None:
    assert heard.bus.publish([an_event(7)], soon()) == [None]
    [event] = heard.events()
    assert (event["source"], event["detail-type"], event["detail"]) == (
        "onthedot",
        "onthedot.run.succeeded",
        {"number": 7},
    )


def test_ten_go_in_a_call_and_all_arrive(heard: Heard) -> None:
    assert heard.bus.publish([an_event(n) for n in range(25)], soon()) == [None] * 25
    assert sorted(event["detail"]["number"] for event in heard.events()) == list(range(25))


def test_nothing_is_nothing_to_publish(heard: Heard) -> None:
    assert heard.bus.publish([], soon()) == []


def test_an_event_that_is_too_large_is_named_and_the_others_are_published(heard: Heard) -> None:
    answers = heard.bus.publish([an_event(1), of_bytes(BYTES_PER_CALL + 1), an_event(2)], soon())
    assert [type(answer) for answer in answers] == [type(None), Unpublishable, type(None)]
    assert len(heard.events()) == 2


@dataclass
class ScriptedBridge:
    """Answers each call as the script says: an error code for an entry, None for success, an exception for the call."""

    script: list[Sequence[str | None] | Exception]
    calls: list[list[Any]] = field(default_factory=list)

    def put_events(self, *, Entries: Sequence[Any]) -> Any:  # noqa: N803 - boto3's name
        self.calls.append([json.loads(entry["Detail"]) for entry in Entries])
        said = self.script.pop(0) if self.script else [None] * len(Entries)
        if isinstance(said, Exception):
            raise said
        return {"Entries": [{"ErrorCode": code, "ErrorMessage": "m"} if code else {"EventId": "e"} for code in said]}


def scripted(*script: Sequence[str | None] | Exception) -> tuple[EventBridgeBus, ScriptedBridge]:
    bridge = ScriptedBridge(list(script))
    return EventBridgeBus(bridge, "bus", VirtualClock()), bridge


def refusal(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "m"}}, "PutEvents")


def test_of_a_call_that_half_succeeded_only_the_other_half_is_sent_again() -> None:
    bus, bridge = scripted([None, "ThrottlingException", None, "InternalFailure"], [None, None])
    assert bus.publish([an_event(n) for n in range(4)], soon()) == [None] * 4
    assert [[detail["number"] for detail in call] for call in bridge.calls] == [[0, 1, 2, 3], [1, 3]]


def test_an_entry_that_will_never_be_taken_is_not_sent_again() -> None:
    bus, bridge = scripted([None, "MalformedDetail"])
    assert bus.publish([an_event(0), an_event(1)], soon()) == [None, Unpublishable("MalformedDetail: m")]
    assert len(bridge.calls) == 1


def test_a_bus_that_throttles_for_ever_is_given_up_at_the_deadline() -> None:
    bus, bridge = scripted(*[["ThrottlingException"]] * 100)
    assert bus.publish([an_event()], soon(2)) == [Undecided("ThrottlingException: m")]
    assert 1 < len(bridge.calls) < 20


def test_a_call_that_was_throttled_whole_is_made_again() -> None:
    bus, bridge = scripted(refusal("ThrottlingException"))
    assert bus.publish([an_event()], soon()) == [None]
    assert len(bridge.calls) == 2


def test_a_bus_that_we_may_not_use_is_not_called_again_until_the_next_batch() -> None:
    bus, bridge = scripted(refusal("AccessDeniedException"))
    assert bus.publish([an_event()], soon()) == [Undecided("no answer before the deadline")]
    assert len(bridge.calls) == 1


def test_one_entry_that_the_bus_refuses_keeps_back_no_other() -> None:
    bus, bridge = scripted(refusal("ValidationException"), [None], refusal("ValidationException"), [None])
    answers = bus.publish([an_event(n) for n in range(3)], soon())
    assert answers == [None, Unpublishable("ValidationException"), None]
    assert [len(call) for call in bridge.calls] == [3, 1, 1, 1]


def test_an_event_that_utf_8_cannot_encode_keeps_back_no_other() -> None:
    bus, bridge = scripted()
    answers = bus.publish([an_event(text="\ud800"), an_event(1)], soon())
    assert [type(answer) for answer in answers] == [Unpublishable, type(None)]
    assert bridge.calls == [[{"number": 1}]]


def test_a_call_never_has_more_than_ten_entries_nor_more_bytes_than_the_bus_takes() -> None:
    bus, bridge = scripted()
    large = [of_bytes(BYTES_PER_CALL // 2) for _ in range(3)]
    assert bus.publish([*large, *(an_event(n) for n in range(11))], soon()) == [None] * 14
    assert [len(call) for call in bridge.calls] == [2, 10, 2]


def test_an_event_of_exactly_the_largest_size_goes() -> None:
    bus, bridge = scripted()
    assert bus.publish([of_bytes(BYTES_PER_CALL)], soon()) == [None]
    assert len(bridge.calls) == 1

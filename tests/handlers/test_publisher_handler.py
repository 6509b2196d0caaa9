"""Batches of the table's stream: the published events, and the records that Lambda must deliver again."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from onthedot.core.ports import Deadline, Undecided
from onthedot.core.records import Record, Status
from onthedot.core.schema import progress_key
from onthedot.engines.aws.dynamodb.keys import stored_key
from onthedot.engines.aws.dynamodb.records import to_item
from onthedot.events.lifecycle import LifecycleEvent
from onthedot.events.ports import Unpublishable
from onthedot.settings import PublisherSettings
from tests.builders import VirtualClock, a_run
from tests.handlers.conftest import Cloud, Context

BUS = "onthedot-test"


class Heard(list[Any]):
    """Entries that publishers put on the bus."""

    def listen_to(self, publisher: ModuleType) -> ModuleType:
        def note(params: Any, **_: Any) -> None:
            self.extend({**entry, "Detail": json.loads(entry["Detail"])} for entry in params["Entries"])

        publisher._bus._client.meta.events.register("provide-client-params.events.PutEvents", note)
        return publisher


@pytest.fixture
def heard(cloud: Cloud) -> Heard:
    cloud.client("events").create_event_bus(Name=BUS)
    return Heard()


def settings(**options: bool) -> PublisherSettings:
    return PublisherSettings(stage="test", bus=BUS, **{"every_change": False, "with_results": False, **options})


@pytest.fixture
def publisher(heard: Heard, load: Callable[..., ModuleType]) -> ModuleType:
    return heard.listen_to(load("publisher", settings()))


def stream_record(number: int, old: Record | None, new: Record | None) -> dict[str, Any]:
    """As Lambda hands it over."""
    images = {"OldImage": old, "NewImage": new}
    standing = new or old
    assert standing is not None
    told: dict[str, Any] = {name: to_item(image) for name, image in images.items() if image is not None}
    keys = {name: value for name, value in to_item(standing).items() if name in ("pk", "sk")}
    told |= {"Keys": keys, "SequenceNumber": f"{number:021d}", "ApproximateCreationDateTime": 1_772_366_400.0}
    return {"eventID": str(number), "eventName": "MODIFY", "eventSource": "aws:dynamodb", "dynamodb": told}


def an_end(number: int, status: Status = Status.SUCCEEDED) -> dict[str, Any]:
    """The record of a run that ends; all of them are `job_<number>`."""
    run = replace(a_run(VirtualClock()).called(f"job_{number}").dispatched().build(), status=Status.RUNNING)
    return stream_record(number, run, replace(run, status=status, revision=2, result='{"a":1}'))


def batch(*records: dict[str, Any]) -> dict[str, Any]:
    return {"Records": list(records)}


class Answering:
    """A bus that answers by a job's id."""

    def __init__(self, answers: dict[str, Undecided | Unpublishable]) -> None:
        self.answers = answers

    def publish(self, events: Sequence[LifecycleEvent], _: Deadline) -> Sequence[Undecided | Unpublishable | None]:
        return [self.answers.get(event.detail["job_id"]) for event in events]


def test_ends_of_runs_are_told_to_the_bus(publisher: ModuleType, heard: Heard) -> None:
    answer = publisher.handle(batch(an_end(1), an_end(2, Status.FAILED)), Context())
    assert answer == {"batchItemFailures": []}
    assert {(entry["EventBusName"], entry["Source"]) for entry in heard} == {(BUS, "onthedot")}
    assert [(entry["DetailType"], entry["Detail"]["job_id"]) for entry in heard] == [
        ("onthedot.run.succeeded", "job_1"),
        ("onthedot.run.failed", "job_2"),
    ]


def test_steps_and_results_are_told_only_by_a_stage_that_wants_them(
    load: Callable[..., ModuleType], heard: Heard
) -> None:
    run = a_run(VirtualClock()).due_in(600).pending().build()
    step = stream_record(1, run, replace(run, status=Status.DISPATCHED, revision=2))
    heard.listen_to(load("publisher", settings())).handle(batch(step), Context())
    assert heard == []
    loud = heard.listen_to(load("publisher", settings(every_change=True, with_results=True)))
    loud.handle(batch(step, an_end(2)), Context())
    dispatched, succeeded = heard
    assert dispatched["DetailType"] == "onthedot.run.dispatched"
    assert succeeded["Detail"]["result"] == '{"a":1}'


def test_from_the_first_record_that_could_not_be_told_all_are_handed_over_again(
    publisher: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publisher, "_bus", Answering({"job_2": Undecided("x"), "job_4": Undecided("x")}))
    answer = publisher.handle(batch(*(an_end(n) for n in range(1, 6))), Context())
    assert answer == {"batchItemFailures": [{"itemIdentifier": f"{2:021d}"}]}


def test_a_record_that_can_never_be_told_holds_up_nobody(
    publisher: ModuleType, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(publisher, "_bus", Answering({"job_1": Unpublishable("too large")}))
    assert publisher.handle(batch(an_end(1), an_end(2)), Context()) == {"batchItemFailures": []}
    [logged] = [record for record in caplog.records if record.message == "unpublishable"]
    assert vars(logged)["why"] == "too large"


def test_a_record_that_nobody_can_read_is_logged_and_holds_up_nobody(
    publisher: ModuleType, heard: Heard, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    unreadable = an_end(1)
    unreadable["dynamodb"]["NewImage"]["status"] = {"S": "HAPPY"}
    assert publisher.handle(batch(unreadable, an_end(2)), Context()) == {"batchItemFailures": []}
    assert [entry["Detail"]["job_id"] for entry in heard] == ["job_2"]
    assert "unreadable_record" in [record.message for record in caplog.records]
    assert '"unsettled":[1]' in capsys.readouterr().out


@pytest.mark.parametrize(
    "broken",
    [
        {"SequenceNumber": "1"},
        {"Keys": {"pk": {"S": "job_1"}}},
        {"Keys": {"pk": {"S": "job_1"}, "sk": {"S": "job"}}, "NewImage": {"pk": {"S": "job_1"}}},
    ],
)
def test_a_record_of_any_other_shape_stops_no_other(publisher: ModuleType, heard: Heard, broken: Any) -> None:
    assert publisher.handle(batch({"dynamodb": broken}, an_end(2)), Context()) == {"batchItemFailures": []}
    assert [entry["Detail"]["job_id"] for entry in heard] == ["job_2"]


def test_a_change_of_which_no_event_can_be_made_stops_no_other(
    load: Callable[..., ModuleType], heard: Heard, capsys: pytest.CaptureFixture[str]
) -> None:
    publisher = heard.listen_to(load("publisher", settings(with_results=True)))
    run = replace(a_run(VirtualClock()).called("job_1").dispatched().build(), definition=None, payload="not json")
    broken = stream_record(1, run, replace(run, status=Status.SKIPPED, revision=2))

    assert publisher.handle(batch(broken, an_end(2)), Context()) == {"batchItemFailures": []}
    assert [entry["Detail"]["job_id"] for entry in heard] == ["job_2"]
    assert '"unsettled":[1]' in capsys.readouterr().out


def test_what_is_no_job_and_no_run_is_passed_over(publisher: ModuleType, heard: Heard) -> None:
    told = {"Keys": stored_key(progress_key(0)), "NewImage": stored_key(progress_key(0)), "SequenceNumber": "1"}
    assert publisher.handle(batch({"dynamodb": told}), Context()) == {"batchItemFailures": []}
    assert heard == []


def test_a_bus_that_cannot_be_used_fails_the_batch_and_is_no_silence(
    publisher: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Forbidden:
        def publish(self, *_: object) -> Any:
            raise PermissionError("events:PutEvents")

    monkeypatch.setattr(publisher, "_bus", Forbidden())
    with pytest.raises(PermissionError):
        publisher.handle(batch(an_end(1)), Context())

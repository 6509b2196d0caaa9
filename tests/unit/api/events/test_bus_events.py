"""Commands of the event bus are refused for the reasons that REST gives."""

from collections.abc import Iterator
from typing import Any

import pytest

from onthedot.core.ports import Deadline
from onthedot.core.records import Status
from onthedot.events.bus_events import BadEvent, take_event
from tests.builders import NOON, World, a_world
from tests.unit.api.kit import URL, Api

SUBMIT, CANCEL = "onthedot.job.submit", "onthedot.job.cancel"


@pytest.fixture
def world() -> Iterator[World]:
    with a_world() as world:
        yield world


def take(world: World, detail: Any, detail_type: str, event_id: str = "e1") -> list[str]:
    event = {"id": event_id, "source": "shop", "detail-type": detail_type, "time": "2026-03-01T12:00:00Z"}
    return take_event(world.engine, "acme", {**event, "detail": detail}, Deadline(NOON + 60_000))


def reason_of(error: dict[str, Any]) -> str:
    """An error of REST as a dead letter names it."""
    details = "; ".join(f"{detail['field']}: {detail['message']}" for detail in error["details"])
    return f"{error['code']}: {details or error['message']}"


@pytest.mark.parametrize(
    "job",
    [
        {},
        {"callback_url": URL, "priority": "URGENT", "surprise": 1},
        {"callback_url": URL, "at": 1, "delay": 2},
        {"callback_url": URL, "at": "2001-01-01T00:00:00Z"},
        {"callback_url": URL, "cron": "61 * * * *"},
        {"callback_url": URL, "payload": float("nan")},
        {"callback_url": URL, "payload": "x" * 1_100_000},
        {"target": {"type": "lambda", "function": "not-allowed"}},
        {"callback_url": URL, "dependencies": ["job_missing"]},
        "text",
    ],
)
def test_a_job_that_rest_refuses_is_refused_with_the_same_reason(world: World, job: Any) -> None:
    refused = Api(world).post(job)
    with pytest.raises(BadEvent) as bad:
        take(world, job, SUBMIT)
    assert str(bad.value) == reason_of(refused.body["error"])


@pytest.mark.parametrize("job_id", ["job_missing", "job_x.1772366400000"])
def test_the_cancel_of_no_job_is_refused_with_the_reason_of_rest(world: World, job_id: str) -> None:
    refused = Api(world).call("PUT", f"/v1/jobs/{job_id}/cancel")
    with pytest.raises(BadEvent) as bad:
        take(world, {"job_id": job_id}, CANCEL)
    assert str(bad.value) == reason_of(refused.body["error"])


@pytest.mark.parametrize("job_id", ["../../health", "a/b", "", "é", "x" * 129])
def test_the_cancel_of_a_text_that_is_no_id_names_the_field(world: World, job_id: str) -> None:
    with pytest.raises(BadEvent, match=r"^job_id: "):
        take(world, {"job_id": job_id}, CANCEL)


def test_a_workflow_is_cancelled_with_its_jobs(world: World) -> None:
    api = Api(world)
    jobs = [{"key": "a", "callback_url": URL}]
    workflow = api.send("POST", "/v1/workflows", jobs=jobs, delay=3600).body["workflow_id"]
    assert take(world, {"job_id": workflow}, CANCEL) == [workflow]
    assert api.get(f"/v1/workflows/{workflow}").body["status"] == Status.CANCELLED


def test_a_late_copy_of_a_submit_finds_the_job_of_the_first(world: World) -> None:
    job = {"callback_url": URL, "at": "2026-03-01T13:00:00Z"}
    first = take(world, job, SUBMIT)
    world.clock.advance(3 * 86_400)
    assert take(world, job, SUBMIT) == first

"""A PATCH that does not fit is refused by the field's name, and nothing changes."""

from collections.abc import Iterator
from typing import Any

import pytest

from onthedot.core import lifecycle
from onthedot.core.ports import Moved
from onthedot.jobs.requests import MAX_PAYLOAD
from tests.builders import World, a_world
from tests.unit.api.jobs.test_patch import CRON, patch
from tests.unit.api.kit import URL, Api, fields_of, message_of


@pytest.fixture
def world() -> Iterator[World]:
    with a_world() as world:
        yield world


@pytest.fixture
def api(world: World) -> Api:
    return Api(world)


@pytest.mark.parametrize("version", ["", "x", '"1', "1.5", "-1", "١", "1" * 20, '"1", "2"'])
def test_what_is_no_version_is_refused(api: Api, version: str) -> None:
    response = patch(api, api.job(delay=3600), {"If-Match": version}, name="x")
    assert (response.status, fields_of(response)) == (422, {"If-Match"})


BAD_CHANGES: list[tuple[dict[str, Any], dict[str, Any], str, str]] = [
    ({}, {}, "body", "at least one field"),
    ({}, {"colour": 1}, "colour", "unknown field"),
    ({}, {"idempotency_key": "k"}, "idempotency_key", "unknown field"),
    ({}, {"target": {"type": "shell", "argv": []}}, "target.argv", "at least 1"),
    ({}, {"target": {"type": "http", "url": URL, "headers": {"A": "***"}}}, "target.headers.A", "mask of a secret"),
    ({"delay": 3600}, {"at": "2026-02-01T00:00:00Z"}, "at", "in the past"),
    ({"every": 60}, {"timezone": "UTC"}, "timezone", "only with cron"),
    ({"every": 60}, {"dst": {}}, "dst", "only with cron"),
    (CRON, {"every": 60, "timezone": "UTC"}, "timezone", "only with cron"),
    (CRON, {"end_at": "2026-03-01T12:00:01Z"}, "end_at", "leaves no fire time"),
    (CRON, {"start_at": "2028-01-01T00:00:00Z", "end_at": "2027-01-01T00:00:00Z"}, "end_at", "before start_at"),
    (CRON, {"start_at": "2050-01-01T00:00:00Z"}, "start_at", "10 years"),
    ({"every": 60}, {"max_runs": 1}, "max_runs", "runs that there are"),
]


@pytest.mark.parametrize(("job", "fields", "name", "advice"), BAD_CHANGES)
def test_a_bad_change_is_refused_by_name_and_nothing_changes(
    api: Api, job: dict[str, Any], fields: dict[str, Any], name: str, advice: str
) -> None:
    job_id = api.job(**job)
    before = api.stored()
    response = patch(api, job_id, **fields)
    assert (response.status, fields_of(response)) == (422, {name})
    assert advice in message_of(response)
    assert api.stored() == before


@pytest.mark.parametrize(
    "fields", [{"at": 1, "delay": 1}, {"cron": "* * * * *", "every": 1}, {"target": {}, "callback_url": URL}]
)
def test_two_of_a_choice_are_refused_naming_each(api: Api, fields: dict[str, Any]) -> None:
    response = patch(api, api.job(), **fields)
    assert (response.status, fields_of(response)) == (422, set(fields))


def test_a_payload_that_is_too_large_is_refused(api: Api) -> None:
    response = patch(api, api.job(delay=3600), payload="x" * MAX_PAYLOAD)
    assert (response.status, fields_of(response)) == (413, {"payload"})


def test_what_has_started_is_not_changed(api: Api, world: World) -> None:
    job_id = api.job()
    run = world.store.get(job_id)
    assert run is not None
    move = lifecycle.start(job_id, run.generation, now=world.clock.now(), worker="w", attempt_token="t")
    assert isinstance(world.store.move(move), Moved)
    response = patch(api, job_id, priority="LOW")
    assert (response.status, response.body["error"]["code"]) == (409, "conflict")
    assert "RUNNING" in response.body["error"]["message"]


def test_anothers_job_is_not_there_and_its_payload_is_not_kept(api: Api) -> None:
    job_id = api.job(delay=3600)
    before = api.stored()
    assert patch(api.called_by("other"), job_id, payload="x" * 5000).status == 404
    assert patch(api, "job_" + "a" * 26, name="x").status == 404
    assert api.stored() == before

"""PATCH changes what is sent and nothing else, and overwrites no version that the client has not seen."""

from typing import Any

import pytest

from onthedot.api.http import Response
from onthedot.core import lifecycle
from onthedot.core.ports import Moved
from tests.builders import World
from tests.unit.api.kit import URL, Api, fields_of, message_of

CRON: dict[str, Any] = {"cron": "0 9 * * *", "timezone": "Europe/Berlin", "dst": {"gap": "skip"}, "jitter_seconds": 5}


def patch(api: Api, job_id: str, /, headers: dict[str, str] | None = None, **fields: Any) -> Response:
    return api.send("PATCH", f"/v1/jobs/{job_id}", headers, **fields)


def changed(api: Api, job_id: str, /, **fields: Any) -> dict[str, Any]:
    response = patch(api, job_id, **fields)
    assert response.status == 200, response.body
    assert response.body == api.get(f"/v1/jobs/{job_id}").body
    return dict(response.body)


def test_a_callback_url_replaces_the_target_with_its_headers(api: Api) -> None:
    target = {"type": "http", "url": URL, "headers": {"Authorization": "Bearer x"}}
    after = changed(api, api.job(target=target, delay=3600), callback_url="https://example.com/other")
    assert after["target"] == {"type": "http", "url": "https://example.com/other", "method": "POST", "headers": {}}


@pytest.mark.parametrize(
    ("fields", "fire_time"),
    [({"at": "2026-03-01T15:00:00Z"}, "2026-03-01T15:00:00.000Z"), ({"delay": 7200}, "2026-03-01T14:00:00.000Z")],
)
def test_a_one_off_job_is_moved(api: Api, fields: dict[str, Any], fire_time: str) -> None:
    after = changed(api, api.job(delay=3600), **fields)
    assert (after["fire_time"], after["next_fire_time"], after["status"]) == (fire_time, fire_time, "PENDING")


def test_a_job_moved_near_is_handed_over(api: Api) -> None:
    assert changed(api, api.job(delay=3600), delay=5)["status"] == "DISPATCHED"


def test_a_zone_alone_moves_a_cron(api: Api) -> None:
    job_id = api.job(**CRON)
    after = changed(api, job_id, timezone="Asia/Tokyo")
    assert (after["cron"], after["dst"]["gap"], after["jitter_seconds"]) == ("0 9 * * *", "skip", 5)
    assert (after["timezone"], after["next_fire_time"]) == ("Asia/Tokyo", "2026-03-02T00:00:00.000Z")


def test_an_expression_keeps_its_zone_and_policies(api: Api) -> None:
    after = changed(api, api.job(**CRON), cron="0 10 * * *", dst={"overlap": "twice"})
    assert after["timezone"] == "Europe/Berlin"
    assert after["dst"] == {"gap": "skip", "overlap": "twice"}
    assert after["next_fire_time"] == "2026-03-02T09:00:00.000Z"


def test_a_cron_becomes_an_interval_and_back(api: Api) -> None:
    job_id = api.job(**CRON)
    interval = changed(api, job_id, every=7200)
    assert (interval["every"], interval["next_fire_time"]) == (7200, "2026-03-01T14:00:00.000Z")
    assert not {"cron", "timezone", "dst"} & interval.keys()
    cron = changed(api, job_id, cron="0 9 * * *")
    assert (cron["timezone"], cron["next_fire_time"]) == ("UTC", "2026-03-02T09:00:00.000Z")


def test_an_interval_keeps_its_beat_unless_it_is_given_another(api: Api, world: World) -> None:
    job_id = api.job(every=3600)
    world.clock.advance(60)
    assert changed(api, job_id, overlap="skip")["next_fire_time"] == "2026-03-01T13:00:00.000Z"
    assert changed(api, job_id, start_at=None)["next_fire_time"] == "2026-03-01T13:00:00.000Z"
    assert changed(api, job_id, start_at="2026-03-01T12:20:00Z")["next_fire_time"] == "2026-03-01T12:20:00.000Z"
    assert changed(api, job_id, every=1800)["next_fire_time"] == "2026-03-01T12:20:00.000Z"


@pytest.mark.parametrize("version", ["1", '"1"', 'W/"1"', " 1 ", "*"])
def test_a_change_with_the_version_that_is_there_happens(api: Api, version: str) -> None:
    response = patch(api, api.job(delay=3600), {"if-match": version}, name="x")
    assert (response.status, response.body["version"], response.headers["ETag"]) == (200, 2, '"2"')


def test_a_change_of_what_has_changed_meanwhile_is_refused(api: Api) -> None:
    job_id = api.job(delay=3600)
    assert patch(api, job_id, {"If-Match": "1"}, name="x").status == 200
    stale = patch(api, job_id, {"If-Match": "1"}, name="y")
    assert (stale.status, stale.body["error"]["code"]) == (412, "precondition_failed")
    assert api.get(f"/v1/jobs/{job_id}").body["name"] == "x"


@pytest.mark.parametrize("version", ["", "x", '"1', "1.5", "-1", "١", "1" * 20, '"1", "2"'])
def test_what_is_no_version_is_refused(api: Api, version: str) -> None:
    response = patch(api, api.job(delay=3600), {"If-Match": version}, name="x")
    assert (response.status, fields_of(response)) == (422, {"If-Match"})


BAD_CHANGES: list[tuple[dict[str, Any], dict[str, Any], str, str]] = [
    ({}, {}, "body", "at least one field"),
    ({}, {"target": {"type": "http", "url": URL, "headers": {"A": "***"}}}, "target.headers.A", "mask of a secret"),
    ({"delay": 3600}, {"at": "2026-02-01T00:00:00Z"}, "at", "in the past"),
    ({"every": 60}, {"timezone": "UTC"}, "timezone", "only with cron"),
    ({"every": 60}, {"dst": {}}, "dst", "only with cron"),
    (CRON, {"every": 60, "timezone": "UTC"}, "timezone", "only with cron"),
    (CRON, {"end_at": "2026-03-01T12:00:01Z"}, "end_at", "leaves no fire time"),
    (CRON, {"start_at": "2028-01-01T00:00:00Z", "end_at": "2027-01-01T00:00:00Z"}, "end_at", "before start_at"),
    (CRON, {"start_at": "2050-01-01T00:00:00Z"}, "start_at", "10 years"),
    ({"every": 60}, {"max_runs": 1}, "max_runs", "runs that exist already"),
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


def test_what_has_started_is_not_changed(api: Api, world: World) -> None:
    job_id = api.job()
    run = world.store.get(job_id)
    assert run is not None
    move = lifecycle.start(job_id, run.generation, now=world.clock.now(), worker="w", attempt_token="t")
    assert isinstance(world.store.move(move), Moved)
    response = patch(api, job_id, priority="LOW")
    assert (response.status, response.body["error"]["code"]) == (409, "conflict")
    assert "RUNNING" in response.body["error"]["message"]

"""PATCH changes the fields that are sent, keeps the others, and overwrites no version that the client has not seen."""

from collections.abc import Iterator
from typing import Any

import pytest

from onthedot.api.http import Response
from tests.builders import World, a_world
from tests.unit.api.kit import URL, Api

CRON: dict[str, Any] = {"cron": "0 9 * * *", "timezone": "Europe/Berlin", "dst": {"gap": "skip"}, "jitter_seconds": 5}


@pytest.fixture
def world() -> Iterator[World]:
    with a_world() as world:
        yield world


@pytest.fixture
def api(world: World) -> Api:
    return Api(world)


def patch(api: Api, job_id: str, /, headers: dict[str, str] | None = None, **fields: Any) -> Response:
    return api.send("PATCH", f"/v1/jobs/{job_id}", headers, **fields)


def changed(api: Api, job_id: str, /, **fields: Any) -> dict[str, Any]:
    response = patch(api, job_id, **fields)
    assert response.status == 200, response.body
    assert response.body == api.get(f"/v1/jobs/{job_id}").body
    return dict(response.body)


def test_what_is_given_changes_and_the_rest_stays(api: Api) -> None:
    job_id = api.job(name="a", tags={"k": "v"}, payload=[1], retry={"max_retries": 9, "factor": 3}, delay=3600)
    before = api.get(f"/v1/jobs/{job_id}").body
    after = changed(api, job_id, priority="HIGH", retry={"max_retries": 1}, timeout_seconds=5)
    assert after == {
        **before,
        "priority": "HIGH",
        "retry": {**before["retry"], "max_retries": 1},
        "timeout_seconds": 5,
        "version": 2,
        "changes": after["changes"],
    }


def test_a_callback_url_replaces_the_target_with_its_headers(api: Api) -> None:
    target = {"type": "http", "url": URL, "headers": {"Authorization": "Bearer x"}}
    after = changed(api, api.job(target=target, delay=3600), callback_url="https://example.com/other")
    assert after["target"] == {"type": "http", "url": "https://example.com/other", "method": "POST", "headers": {}}


def test_null_clears_what_may_be_absent(api: Api) -> None:
    job_id = api.job(every=3600, name="n", max_runs=5, start_at="2026-03-01T12:30:00Z", end_at="2026-04-01T00:00:00Z")
    after = changed(api, job_id, name=None, max_runs=None, start_at=None, end_at=None)
    assert [after[name] for name in ("name", "max_runs", "start_at", "end_at")] == [None] * 4
    # Its start had not come: without one, it begins an interval from now.
    assert after["next_fire_time"] == "2026-03-01T13:00:00.000Z"


def test_a_null_payload_is_a_payload(api: Api) -> None:
    assert changed(api, api.job(payload=1, delay=3600), payload=None)["payload"] is None


def test_a_large_payload_is_kept_apart(api: Api, world: World) -> None:
    job_id = api.job(delay=3600)
    assert changed(api, job_id, payload="x" * 5000)["payload"] == "x" * 5000
    job = world.store.get(job_id)
    assert job is not None
    assert job.definition is not None
    assert job.definition.payload_ref is not None


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


def test_policies_are_changed_in_part(api: Api) -> None:
    job_id = api.job(every=3600, misfire={"policy": "skip", "grace_seconds": 5}, max_runs=3)
    after = changed(api, job_id, misfire={"grace_seconds": 9}, overlap="queue", max_runs=4, jitter_seconds=1)
    assert after["misfire"] == {"policy": "skip", "grace_seconds": 9}
    assert (after["overlap"], after["max_runs"], after["jitter_seconds"]) == ("queue", 4, 1)


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

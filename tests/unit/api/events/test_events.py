"""Jobs that wait for events, and events, by REST."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from onthedot.core.records import Kind
from tests.builders import World, a_world
from tests.unit.api.kit import Api, fields_of, message_of

ORDERS = {"source": ["shop"], "detail-type": [{"prefix": "Order"}], "detail": {"total": [{"numeric": [">", 10]}]}}
EVENT: dict[str, Any] = {"source": "shop", "detail_type": "Order Paid", "detail": {"total": 11, "number": 7}}


@pytest.fixture
def world() -> Iterator[World]:
    with a_world() as world:
        yield world


@pytest.fixture
def api(world: World) -> Api:
    return Api(world)


def tell(api: Api, **changes: Any) -> Any:
    response = api.send("POST", "/v1/events", **{**EVENT, **changes})
    assert response.status == 202, response.body
    return response.body


def test_a_job_that_waits_is_accepted_and_shown_with_its_pattern(api: Api) -> None:
    response = api.submit(on_event=ORDERS, payload={"n": "$.detail.number"})
    assert response.status == 202
    body = response.body
    assert (body["status"], body["fire_time"], body["next_fire_time"]) == ("ACTIVE", None, None)
    job = api.get(f"/v1/jobs/{body['job_id']}").body
    assert (job["on_event"], job["payload"]) == (ORDERS, {"n": "$.detail.number"})
    assert "on_event" not in api.get(f"/v1/jobs/{api.job()}").body


def test_an_event_makes_runs_that_can_be_read(api: Api) -> None:
    job_id = api.job(on_event=ORDERS, priority="HIGH")
    told = tell(api, id="e-1", time="2026-03-01T11:00:00Z")
    (run_id,) = told["runs"]
    assert told["event_id"] == "e-1"
    run = api.execution(run_id)
    assert (run["job_id"], run["trigger"], run["priority"]) == (job_id, "event", "HIGH")
    assert run["fire_time"] == "2026-03-01T11:00:00.000Z"
    (listed,) = api.get(f"/v1/jobs/{job_id}/executions").body["executions"]
    assert listed["execution_id"] == run_id


def test_a_worker_is_given_the_event_in_eventbridges_shape(api: Api, world: World) -> None:
    api.job(on_event=ORDERS)
    (run_id,) = tell(api, id="e-1", resources=["arn:aws:s3:::b"], time="2026-03-01T11:00:00Z")["runs"]
    run = world.store.get(run_id)
    assert run is not None
    assert json.loads(run.payload or "") == {
        "id": "e-1",
        "source": "shop",
        "detail-type": "Order Paid",
        "time": "2026-03-01T11:00:00.000Z",
        "resources": ["arn:aws:s3:::b"],
        "detail": EVENT["detail"],
    }


def test_what_does_not_match_makes_no_run(api: Api) -> None:
    api.job(on_event=ORDERS)
    assert tell(api, detail={"total": 10})["runs"] == []
    assert tell(api, source="bank")["runs"] == []


def test_the_same_id_makes_no_second_run_whatever_time_it_tells(api: Api, world: World) -> None:
    api.job(on_event=ORDERS)
    first = tell(api, id="e-1")
    world.clock.advance(5)
    assert tell(api, id="e-1") == first
    assert tell(api, id="e-1", time="2026-03-01T10:00:00Z") == first


def test_without_an_id_each_is_an_event_of_its_own(api: Api) -> None:
    api.job(on_event=ORDERS)
    first, second = tell(api), tell(api)
    assert first["event_id"] != second["event_id"]
    assert set(first["runs"]).isdisjoint(second["runs"])


def test_events_are_for_the_callers_tenant_alone(api: Api) -> None:
    api.job(on_event=ORDERS)
    assert tell(api.called_by("other"), id="e-1")["runs"] == []
    assert len(tell(api, id="e-1")["runs"]) == 1


@pytest.mark.parametrize("role", ["viewer", "worker"])
def test_who_may_not_submit_may_not_tell_of_events(api: Api, role: str) -> None:
    assert api.called_by(role=role).send("POST", "/v1/events", None, **EVENT).status == 403


@pytest.mark.parametrize(
    ("fields", "name", "advice"),
    [
        ({"on_event": {}}, "on_event", "at least one field"),
        ({"on_event": {"source": "shop"}}, "on_event.source", "must be a list"),
        ({"on_event": {"detail": {"a": [{"prefx": "x"}]}}}, "on_event.detail.a[0].prefx", "did you mean 'prefix'"),
        ({"on_event": {"source": ["s"] * 2_000}}, "on_event", "at most 4096 bytes"),
        ({"on_event": ORDERS, "payload": {"a": ["$.detail[x]"]}}, "payload.a[0]", "is not a path"),
        ({"on_event": ORDERS, "overlap": "skip"}, "overlap", "recurring jobs only"),
    ],
)
def test_a_bad_pattern_or_payload_is_refused_by_its_place(
    api: Api, fields: dict[str, Any], name: str, advice: str
) -> None:
    response = api.submit(**fields)
    assert response.status == 422
    assert fields_of(response) == {name}
    assert advice in message_of(response)
    assert api.stored() == []


@pytest.mark.parametrize("other", [{"at": 1772366500}, {"delay": 1}, {"cron": "* * * * *"}, {"every": 5}])
def test_a_pattern_stands_alone(api: Api, other: dict[str, Any]) -> None:
    response = api.submit(on_event=ORDERS, **other)
    assert fields_of(response) == {"on_event", *other}


def test_dollars_are_just_dollars_where_nothing_is_picked(api: Api) -> None:
    assert api.submit(payload="$.not[a path").status == 202


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"source": ""}, "source"),
        ({"detail_type": 3}, "detail_type"),
        ({"detail": []}, "detail"),
        ({"id": "\n"}, "id"),
        ({"time": "today"}, "time"),
        ({"resources": "x"}, "resources"),
        ({"surprise": 1}, "surprise"),
        ({"detail_type": "onthedot.job.submit"}, "detail_type"),
    ],
)
def test_a_bad_event_is_refused_by_its_field(api: Api, changes: dict[str, Any], name: str) -> None:
    response = api.send("POST", "/v1/events", **{**EVENT, **changes})
    assert (response.status, fields_of(response)) == (422, {name})


def test_a_huge_event_is_refused(api: Api) -> None:
    response = api.send("POST", "/v1/events", **{**EVENT, "detail": {"x": "y" * 300_000}})
    assert response.status == 413


def test_a_pattern_is_changed_and_a_payload_with_it(api: Api) -> None:
    job_id = api.job(on_event=ORDERS)
    response = api.send("PATCH", f"/v1/jobs/{job_id}", on_event={"source": ["bank"]}, payload={"t": "$.time"})
    assert response.status == 200, response.body
    assert (response.body["on_event"], response.body["version"]) == ({"source": ["bank"]}, 2)
    assert tell(api)["runs"] == []
    assert len(tell(api, source="bank")["runs"]) == 1


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"on_event": {"source": "x"}}, "on_event.source"),
        ({"payload": {"a": "$["}}, "payload.a"),
        ({"delay": 3}, "delay"),
        ({"cron": "* * * * *"}, "cron"),
        ({"on_event": ORDERS, "every": 5}, "every"),
    ],
)
def test_a_bad_change_is_refused_and_changes_nothing(api: Api, fields: dict[str, Any], name: str) -> None:
    job_id = api.job(on_event=ORDERS)
    response = api.send("PATCH", f"/v1/jobs/{job_id}", **fields)
    assert response.status == 422
    assert name in fields_of(response)
    assert api.get(f"/v1/jobs/{job_id}").body["version"] == 1


@pytest.mark.parametrize("fields", [{"delay": 100}, {"every": 60}])
def test_other_jobs_take_no_pattern(api: Api, fields: dict[str, Any]) -> None:
    response = api.send("PATCH", f"/v1/jobs/{api.job(**fields)}", on_event=ORDERS)
    assert fields_of(response) == {"on_event"}
    assert "jobs that wait for events" in message_of(response)


def test_a_paused_job_is_paused_and_a_cancelled_one_ends(api: Api) -> None:
    job_id = api.job(on_event=ORDERS)
    assert api.call("POST", f"/v1/jobs/{job_id}/pause").body["status"] == "PAUSED"
    assert tell(api)["runs"] == []
    assert api.call("POST", f"/v1/jobs/{job_id}/resume").body["status"] == "ACTIVE"
    assert len(tell(api)["runs"]) == 1
    assert api.call("PUT", f"/v1/jobs/{job_id}/cancel").body["status"] == "CANCELLED"
    assert tell(api)["runs"] == []


def test_explain_and_status_know_event_jobs(api: Api) -> None:
    job_id = api.job(on_event=ORDERS)
    (reason,) = api.get(f"/v1/jobs/{job_id}/explain").body["reasons"]
    assert reason["code"] == "waits_for_events"
    assert api.get(f"/v1/jobs/{job_id}/status").body["status"] == "ACTIVE"
    assert api.get(f"/v1/executions/{job_id}").status == 404
    assert api.call("POST", f"/v1/jobs/{job_id}/run").status == 409


def test_a_batch_takes_them_and_refuses_bad_ones_by_themselves(api: Api, world: World) -> None:
    url = "https://example.com/"
    jobs = [{"callback_url": url, "on_event": ORDERS}, {"callback_url": url, "on_event": {}}]
    good, bad = api.send("POST", "/v1/jobs/batch", jobs=jobs).body["jobs"]
    stored = world.store.get(good["job_id"])
    assert stored is not None
    assert stored.kind is Kind.EVENT
    assert bad["error"]["details"][0]["field"] == "on_event"
    assert len(tell(api)["runs"]) == 1


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"id": "\ud800"}, "id"),
        ({"source": "\udfff"}, "source"),
        ({"detail_type": "a\ud800b"}, "detail_type"),
        ({"detail": {"order": {"number": "\ud800"}}}, "detail.order.number"),
        ({"detail": {"\ud800": 1}}, "detail.?"),
        ({"resources": ["\ud800"]}, "resources.0"),
    ],
)
def test_half_of_a_surrogate_pair_is_refused_by_name_and_makes_no_run(
    api: Api, changes: dict[str, Any], name: str
) -> None:
    job_id = api.job(on_event={"source": [{"exists": True}]}, payload={"n": "$.detail.order.number"})
    response = api.send("POST", "/v1/events", **{**EVENT, **changes})
    assert (response.status, fields_of(response)) == (400, {name})
    assert "surrogate" in message_of(response)
    assert api.get(f"/v1/jobs/{job_id}/executions").body["executions"] == []

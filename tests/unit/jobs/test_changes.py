"""The changes of a job: who changed it, when and what, in its own record and in the log."""

import logging
from typing import Any

import pytest

from onthedot.access.ports import Principal
from onthedot.access.tenants import COMMAND, Action, change_jobs
from onthedot.wiring.sqlite import SqliteEngine
from tests.builders import World
from tests.unit.api.kit import Api


@pytest.fixture
def api(world: World) -> Api:
    return Api(world, Principal("acme", "operator", "alice"))


def changes(api: Api, job_id: str) -> list[tuple[str, str | None, list[str], int]]:
    shown = api.get(f"/v1/jobs/{job_id}").body["changes"]
    return [(one["action"], one["by"], one["fields"], one["version"]) for one in shown]


def test_a_job_shows_who_changed_what(api: Api, world: World) -> None:
    job_id = api.job(cron="0 9 * * *")
    bob = Api(world, Principal("acme", "admin", "bob"))
    world.clock.advance(60)
    api.send("PATCH", f"/v1/jobs/{job_id}", timezone="Europe/Berlin", cron="0 8 * * *")
    bob.send("POST", f"/v1/jobs/{job_id}/pause")
    bob.send("POST", f"/v1/jobs/{job_id}/pause")
    api.send("POST", f"/v1/jobs/{job_id}/resume")
    bob.send("PUT", f"/v1/jobs/{job_id}/cancel")
    assert changes(api, job_id) == [
        ("cancel", "bob", [], 5),
        ("resume", "alice", [], 4),
        ("pause", "bob", [], 3),
        ("change", "alice", ["cron", "timezone"], 2),
        ("create", "alice", [], 1),
    ]
    assert api.get(f"/v1/jobs/{job_id}").body["changes"][3]["at"] == "2026-03-01T12:01:00.000Z"


def test_a_change_of_many_jobs_is_noted_in_each(api: Api) -> None:
    jobs = [api.job(delay=3600, name="mail") for _ in range(3)]
    api.send("POST", "/v1/jobs/bulk", action="pause", filter={"name": "mail"})
    api.send("POST", "/v1/jobs/bulk", action="cancel", ids=jobs[:2])
    assert [changes(api, job_id)[0][:2] for job_id in jobs] == [
        ("cancel", "alice"),
        ("cancel", "alice"),
        ("pause", "alice"),
    ]


def test_a_command_that_stops_a_tenant_is_noted(api: Api, world: World) -> None:
    job_id = api.job(delay=3600)
    assert isinstance(world, SqliteEngine)
    change_jobs(world.engine, world.tenant_data, "acme", Action.PAUSE, lambda _: None)
    assert changes(api, job_id)[0][:2] == ("pause", COMMAND)


def test_a_refused_change_is_not_noted(api: Api) -> None:
    job_id = api.job(delay=3600)
    assert api.send("PATCH", f"/v1/jobs/{job_id}", cron="0 9 * * *").status == 422
    assert [action for action, *_ in changes(api, job_id)] == ["create"]


def test_a_job_with_many_runs_names_the_client_that_made_it(api: Api) -> None:
    batch = api.send("POST", "/v1/jobs/batch", jobs=[{"every": 60, "callback_url": "https://example.com"}])
    workflow = api.send("POST", "/v1/workflows", every=60, jobs=[{"key": "a", "callback_url": "https://example.com"}])
    event = api.job(on_event={"pattern": {"source": ["shop"]}})
    for job_id in (api.job(every=60), event, batch.body["jobs"][0]["job_id"], workflow.body["job_id"]):
        assert changes(api, job_id) == [("create", "alice", [], 1)]


def test_a_one_off_job_that_is_never_changed_stores_nothing_of_it(api: Api, world: World) -> None:
    job_id = api.job(delay=3600)
    assert changes(api, job_id) == [("create", None, [], 1)]
    with world.database.reading() as connection:
        assert connection.execute("SELECT count(changes) FROM runs").fetchone()[0] == 0


LOGGED: list[tuple[str, str, dict[str, Any], str, int]] = [
    ("POST", "/v1/jobs", {"callback_url": "https://example.com", "payload": "s3cret"}, "/v1/jobs", 202),
    ("PATCH", "/v1/jobs/JOB", {"payload": "s3cret"}, "/v1/jobs/{id}", 200),
    ("POST", "/v1/jobs/JOB/pause", {}, "/v1/jobs/{id}/pause", 200),
    ("DELETE", "/v1/jobs/job_nothing", {}, "/v1/jobs/{id}", 404),
    ("PUT", "/v1/gates/stripe", {"in_flight": 3}, "/v1/gates/{name}", 200),
    ("POST", "/v1/tokens", {"tenant": "acme", "role": "viewer", "name": "n"}, "/v1/tokens", 403),
]


@pytest.mark.parametrize("call", LOGGED, ids=[f"{one[0]} {one[1]}" for one in LOGGED])
def test_each_call_that_changes_something_is_logged_once_with_its_principal(
    api: Api, caplog: pytest.LogCaptureFixture, call: tuple[str, str, dict[str, Any], str, int]
) -> None:
    method, path, body, route, status = call
    job_id = api.job(delay=3600)
    caplog.clear()
    with caplog.at_level(logging.INFO, "onthedot.api.router"):
        response = api.send(method, path.replace("JOB", job_id), **body)
    [line] = [record.__dict__ for record in caplog.records if record.message == "change_requested"]
    assert (line["method"], line["route"], line["status"]) == (method, route, status)
    assert (line["principal"], line["tenant"], line["role"]) == ("alice", "acme", "operator")
    assert line["id"] == {
        "/v1/jobs": response.body.get("job_id"),
        "/v1/gates/{name}": "stripe",
        "/v1/tokens": None,
        "/v1/jobs/{id}": job_id if status == 200 else "job_nothing",
    }.get(route, job_id)
    assert "s3cret" not in str(line)


def test_calls_that_change_nothing_and_those_of_each_run_are_not_logged(
    api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "onthedot.api.router"):
        api.get("/v1/jobs")
        api.send("POST", "/v1/schedules/preview", cron="0 9 * * *")
        api.send("POST", "/v1/workers/wkr_1/lease")
        api.send("POST", "/v1/executions/job_x.1/heartbeat")
        api.anonymous().send("POST", "/v1/jobs")
        api.send("POST", "/v1/nothing")
    assert [record.message for record in caplog.records if record.message == "change_requested"] == []


def test_a_call_that_fails_unexpectedly_is_logged_too(
    api: Api, world: World, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = api.job(delay=3600)
    monkeypatch.setattr(world.store, "move", lambda _: 1 / 0)
    with caplog.at_level(logging.INFO, "onthedot.api.router"):
        caplog.clear()  # another test may have raised the level, so that the create is logged too
        assert api.send("POST", f"/v1/jobs/{job_id}/pause").status == 500
    [line] = [record.__dict__ for record in caplog.records if record.message == "change_requested"]
    assert (line["id"], line["status"], line["principal"]) == (job_id, 500, "alice")

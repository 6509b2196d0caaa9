"""Jobs and executions that this version cannot read: their tenant learns so, others learn nothing."""

from typing import Any

import pytest

from onthedot.core.listing import failed_under
from tests.builders import World
from tests.unit.api.kit import Api


def damage(world: World, run_id: str, values: str) -> None:
    with world.database.transaction() as connection:
        connection.execute(f"UPDATE runs SET {values} WHERE run_id = ?", (run_id,))


@pytest.mark.parametrize("values", ["format = 99", "kind = 'chronic'", "generation = NULL", "definition = '{'"])
def test_a_job_that_cannot_be_read_is_named_to_its_tenant_only(api: Api, world: World, values: str) -> None:
    job_id = api.job(delay=3600)
    damage(world, job_id, values)
    answer = api.get(f"/v1/jobs/{job_id}")
    assert (answer.status, answer.body["error"]["code"]) == (500, "unreadable")
    assert job_id in answer.body["error"]["message"]
    foreign = api.called_by("other").get(f"/v1/jobs/{job_id}")
    assert (foreign.status, foreign.body) == (404, api.called_by("other").get("/v1/jobs/job_none").body)


@pytest.mark.parametrize("report", [("heartbeat", {"attempt": 1}), ("complete", {"attempt": 1, "status": "SUCCEEDED"})])
def test_a_report_about_it_tells_another_tenant_nothing(
    api: Api, world: World, report: tuple[str, dict[str, Any]]
) -> None:
    path, fields = report
    job_id = api.job(delay=3600)
    damage(world, job_id, "format = 99")
    assert api.send("POST", f"/v1/executions/{job_id}/{path}", **fields).status == 500
    foreign = api.called_by("other").send("POST", f"/v1/executions/{job_id}/{path}", **fields)
    missing = api.called_by("other").send("POST", f"/v1/executions/job_none/{path}", **fields)
    assert (foreign.status, foreign.body) == (404, missing.body)


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "pause"), ("POST", "resume"), ("PUT", "cancel"), ("POST", "run"), ("GET", "status")]
)
def test_no_request_changes_it(api: Api, world: World, method: str, path: str) -> None:
    job_id = api.job(delay=3600)
    damage(world, job_id, "format = 99")
    with world.database.transaction() as connection:
        before = [tuple(row) for row in connection.execute("SELECT * FROM runs")]
    answer = api.send(method, f"/v1/jobs/{job_id}/{path}") if method != "GET" else api.get(f"/v1/jobs/{job_id}/{path}")
    assert (answer.status, answer.body["error"]["code"]) == (500, "unreadable")
    with world.database.transaction() as connection:
        assert [tuple(row) for row in connection.execute("SELECT * FROM runs")] == before


def test_explain_says_why_with_the_status_as_it_is_stored(api: Api, world: World) -> None:
    job_id = api.job(delay=3600)
    damage(world, job_id, "status = 'FROZEN'")
    answer = api.get(f"/v1/jobs/{job_id}/explain")
    assert (answer.status, answer.body["status"]) == (200, "FROZEN")
    assert [reason["code"] for reason in answer.body["reasons"]] == ["unreadable"]
    assert "its status cannot be read" in answer.body["reasons"][0]["message"]
    assert api.called_by("other").get(f"/v1/jobs/{job_id}/explain").status == 404


def test_a_list_of_executions_names_the_ones_that_cannot_be_read(api: Api, world: World) -> None:
    job_id = api.job(every=3600)
    runs = [api.send("POST", f"/v1/jobs/{job_id}/run").body["execution_id"] for _ in range(3)]
    assert "unreadable" not in api.get(f"/v1/jobs/{job_id}/executions").body
    damage(world, runs[1], "status = 'FROZEN'")
    page = api.get(f"/v1/jobs/{job_id}/executions").body
    assert {one["execution_id"] for one in page["executions"]} == {runs[0], runs[2]}
    assert [one["id"] for one in page["unreadable"]] == [runs[1]]
    assert api.get(f"/v1/executions/{runs[1]}").body["error"]["code"] == "unreadable"


def test_a_list_of_dead_letters_names_the_ones_that_cannot_be_read(api: Api, world: World) -> None:
    jobs = [api.job(delay=3600) for _ in range(2)]
    for job_id in jobs:
        under = failed_under("acme", job_id)
        damage(world, job_id, f"status = 'FAILED', failed_under = '{under}', finished_at = 1")
    assert "unreadable" not in api.get("/v1/dead-letters").body
    damage(world, jobs[0], "definition = '{'")
    page = api.get("/v1/dead-letters").body
    assert [one["execution_id"] for one in page["dead_letters"]] == [jobs[1]]
    assert [one["id"] for one in page["unreadable"]] == [jobs[0]]

"""One call acts on many jobs, or counts them. A job that fails does not stop the others."""

from typing import Any

import pytest

from onthedot.core.errors import Unavailable
from onthedot.jobs import bulk as use_case
from onthedot.jobs.change import pause_job
from tests.unit.api.kit import SHELL, Api, a_worker, fields_of

DONE = {"failed": 0, "failures": [], "next_cursor": None}


def bulk(api: Api, action: str, **fields: Any) -> Any:
    response = api.send("POST", "/v1/jobs/bulk", action=action, **fields)
    assert response.status == 200, response.body
    return response.body


def status(api: Api, job_id: str) -> str:
    response = api.get(f"/v1/jobs/{job_id}/status")
    return str(response.body["status"]) if response.status == 200 else str(response.status)


def some_jobs(api: Api, count: int, name: str = "mail") -> list[str]:
    made: list[str] = []
    for number in range(count):
        made.append(api.job(name=f"{name} {number}", delay=3600))
        api.world.clock.advance(1)
    return made


@pytest.mark.parametrize(
    ("action", "after"), [("pause", "PAUSED"), ("cancel", "CANCELLED"), ("delete", "404"), ("run", "PENDING")]
)
def test_an_act_reaches_the_jobs_that_pass_the_filter_and_no_other(api: Api, action: str, after: str) -> None:
    mails, other = some_jobs(api, 3), api.job(name="report", delay=3600)
    theirs = api.called_by("other").job(name="mail", delay=3600)
    assert bulk(api, action, filter={"name": "mail"}) == {**DONE, "matched": 3, "done": 3}
    assert {status(api, job_id) for job_id in mails} == {after}
    assert status(api, other) == status(api.called_by("other"), theirs) == "PENDING"
    runs = [len(api.get(f"/v1/jobs/{job_id}/executions").body.get("executions", [])) for job_id in [*mails, other]]
    assert runs == ([2, 2, 2, 1] if action == "run" else [0, 0, 0, 1] if action == "delete" else [1, 1, 1, 1])


def test_paused_jobs_are_resumed(api: Api) -> None:
    jobs = some_jobs(api, 2)
    bulk(api, "pause", ids=jobs)
    assert bulk(api, "resume", filter={"status": "PAUSED"}) == {**DONE, "matched": 2, "done": 2}
    assert {status(api, job_id) for job_id in jobs} == {"PENDING"}


def test_jobs_by_id_are_acted_on_once_each(api: Api) -> None:
    first, second, third = some_jobs(api, 3)
    assert bulk(api, "run", ids=[first, second, first]) == {**DONE, "matched": 2, "done": 2}
    assert len(api.get(f"/v1/jobs/{first}/executions").body["executions"]) == 2
    assert len(api.get(f"/v1/jobs/{third}/executions").body["executions"]) == 1


@pytest.mark.parametrize("action", ["pause", "resume", "cancel", "delete", "run"])
def test_a_dry_run_counts_and_changes_nothing(api: Api, action: str) -> None:
    mails = some_jobs(api, 3)
    before = api.stored()
    assert bulk(api, action, filter={"name": "mail"}, dry_run=True) == {**DONE, "matched": 3, "done": 0}
    counted = bulk(api, action, ids=[*mails, "job_missing"], dry_run=True)
    assert (counted["matched"], counted["done"], [one["id"] for one in counted["failures"]]) == (3, 0, ["job_missing"])
    assert api.stored() == before


def test_jobs_that_cannot_be_acted_on_say_why_and_stop_no_other(api: Api) -> None:
    ended = api.job(target=SHELL, name="mail ended")
    worker = a_worker(api)
    worker.complete(worker.take())
    [waits] = some_jobs(api, 1)
    theirs = api.called_by("other").job(delay=3600)
    step = bulk(api, "pause", ids=[ended, "job_missing", theirs, waits])
    assert (step["matched"], step["done"], step["failed"]) == (2, 1, 3)
    assert [(one["id"], one["code"]) for one in step["failures"]] == [
        (ended, "conflict"),
        ("job_missing", "not_found"),
        (theirs, "not_found"),
    ]
    assert "SUCCEEDED" in step["failures"][0]["message"]
    assert (status(api, waits), status(api.called_by("other"), theirs)) == ("PAUSED", "PENDING")


def test_a_job_that_cannot_be_read_stops_no_other(api: Api) -> None:
    bad, good = some_jobs(api, 2)
    with api.world.database.transaction() as connection:
        connection.execute("UPDATE runs SET definition = 'no JSON' WHERE run_id = ?", (bad,))
    step = bulk(api, "pause", filter={"kind": "one-off"})
    assert (step["matched"], step["done"], [one["id"] for one in step["failures"]]) == (2, 1, [bad])
    assert status(api, good) == "PAUSED"


def test_a_service_that_fails_for_one_job_stops_no_other(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = some_jobs(api, 3)

    def failing(engine: Any, tenant: str, job_id: str, by: str | None) -> Any:
        if job_id == jobs[1]:
            raise Unavailable("throttled")
        return pause_job(engine, tenant, job_id, by)

    monkeypatch.setitem(use_case.ACTS, "pause", failing)
    step = bulk(api, "pause", filter={"name": "mail"})
    assert (step["done"], [one["id"] for one in step["failures"]]) == (2, [jobs[1]])
    assert [status(api, job_id) for job_id in jobs] == ["PAUSED", "PENDING", "PAUSED"]


@pytest.mark.parametrize("by_ids", [True, False])
@pytest.mark.parametrize("action", ["delete", "run", "pause"])
def test_the_client_repeats_the_call_with_the_cursor_until_all_are_done(
    api: Api, monkeypatch: pytest.MonkeyPatch, action: str, by_ids: bool
) -> None:
    monkeypatch.setattr(use_case, "STEP", 2)
    jobs = some_jobs(api, 5)
    chosen: dict[str, Any] = {"ids": jobs} if by_ids else {"filter": {"name": "mail"}}
    steps = [bulk(api, action, **chosen)]
    while steps[-1]["next_cursor"] is not None:
        steps.append(bulk(api, action, **chosen, cursor=steps[-1]["next_cursor"]))
    assert [step["done"] for step in steps] == [2, 2, 1]
    assert sum(step["failed"] for step in steps) == 0


@pytest.mark.parametrize("by_ids", [True, False])
def test_a_step_that_runs_out_of_time_goes_on_with_its_cursor(
    api: Api, monkeypatch: pytest.MonkeyPatch, by_ids: bool
) -> None:
    jobs = some_jobs(api, 3)

    def slow(engine: Any, tenant: str, job_id: str, by: str | None) -> Any:
        api.world.clock.advance(20)
        return pause_job(engine, tenant, job_id, by)

    monkeypatch.setitem(use_case.ACTS, "pause", slow)
    chosen: dict[str, Any] = {"ids": jobs} if by_ids else {"filter": {"name": "mail"}}
    step, steps = bulk(api, "pause", **chosen), 1
    while step["next_cursor"] is not None:
        assert step["done"] == 1
        step, steps = bulk(api, "pause", **chosen, cursor=step["next_cursor"]), steps + 1
    assert steps == 3
    assert {status(api, job_id) for job_id in jobs} == {"PAUSED"}


@pytest.mark.parametrize(
    ("fields", "at_fault"),
    [
        ({"action": "pause"}, "filter"),
        ({"action": "pause", "filter": {"kind": "event"}, "ids": ["job_a"]}, "filter"),
        ({"action": "delete", "filter": {}}, "filter"),
        ({"action": "pause", "ids": []}, "ids"),
        ({"action": "pause", "ids": ["job_a"] * 501}, "ids"),
        ({"action": "pause", "ids": ["not an id"]}, "ids.0"),
        ({"action": "explode", "ids": ["job_a"]}, "action"),
        ({"ids": ["job_a"]}, "action"),
        ({"action": "pause", "filter": {"status": "DELETED"}}, "filter.status"),
        ({"action": "pause", "filter": {"nam": "a"}}, "filter.nam"),
        ({"action": "pause", "filter": {"kind": "event"}, "dry_run": "yes"}, "dry_run"),
        ({"action": "pause", "filter": {"kind": "event"}, "cursor": "x"}, "cursor"),
        ({"action": "pause", "filter": {"kind": "event"}, "dryrun": True}, "dryrun"),
    ],
)
def test_a_bad_call_is_refused_by_name_and_changes_nothing(api: Api, fields: dict[str, Any], at_fault: str) -> None:
    some_jobs(api, 1)
    before = api.stored()
    response = api.send("POST", "/v1/jobs/bulk", None, **fields)
    assert (response.status, fields_of(response)) == (422, {at_fault})
    assert api.stored() == before


def test_a_dry_run_counts_more_jobs_than_one_call_acts_on(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(7):
        api.job(delay=3600, name="mail")
    monkeypatch.setattr(use_case, "STEP", 2)
    monkeypatch.setattr(use_case, "COUNTED_AT_ONCE", 3)
    counted = bulk(api, "pause", filter={"name": "mail"}, dry_run=True)
    assert (counted["matched"], counted["next_cursor"]) == (7, None)
    monkeypatch.setattr(use_case, "COUNTED_PAGES", 2)
    first = bulk(api, "pause", filter={"name": "mail"}, dry_run=True)
    rest = bulk(api, "pause", filter={"name": "mail"}, dry_run=True, cursor=first["next_cursor"])
    assert (first["matched"], rest["matched"], rest["next_cursor"]) == (6, 1, None)

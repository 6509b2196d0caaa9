"""Jobs are found by filters, the latest first, page by page; each tenant finds its own."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from onthedot.core.ports import Deadline, ReadRecords
from onthedot.jobs import list_jobs
from onthedot.jobs.facts import FactFilter
from tests.scenarios.kits.faults import Faults, FaultyStore
from tests.unit.api.kit import SHELL, Api, a_worker

HOURLY = "0 * * * *"
PATTERN = {"source": ["shop"]}


def page(api: Api, **query: Any) -> Any:
    response = api.ask("/v1/jobs", {name: str(value) for name, value in query.items()})
    assert response.status == 200, response.body
    return response.body


def ids(api: Api, **query: Any) -> list[str]:
    return [job["job_id"] for found in api.pages("/v1/jobs", "jobs", **query) for job in found]


def some_jobs(api: Api, count: int, **fields: Any) -> list[str]:
    """Jobs, one each second; the latest first."""
    made: list[str] = []
    for number in range(count):
        made.append(api.job(name=f"job {number}", delay=3600, **fields))
        api.world.clock.advance(1)
    return made[::-1]


def test_a_job_is_found_by_its_whole_name(api: Api) -> None:
    wanted = [api.job(name="report", every=60), api.job(name="report", delay=3600)]
    api.job(name="report-2", every=60)
    api.job(name="Report", every=60)
    assert sorted(ids(api, full_name="report")) == sorted(wanted)
    assert ids(api, full_name="report", kind="recurring") == wanted[:1]
    assert ids(api, full_name="rep") == []


def test_a_recurring_job_is_listed_with_its_schedule_and_its_latest_outcomes(api: Api) -> None:
    job_id = api.job(target=SHELL, cron=HOURLY, timezone="Europe/Berlin", retry={"max_retries": 0})
    worker = a_worker(api)
    for status in ("SUCCEEDED", "FAILED", "SUCCEEDED"):
        api.send("POST", f"/v1/jobs/{job_id}/run")
        worker.complete(worker.take(), status)
        api.world.clock.advance(1)
    [job] = page(api)["jobs"]
    assert (job["kind"], job["status"], job["cron"], job["timezone"]) == (
        "recurring",
        "ACTIVE",
        HOURLY,
        "Europe/Berlin",
    )
    assert job["next_fire_time"] == "2026-03-01T13:00:00.000Z"
    assert job["outcomes"] == ["SUCCEEDED", "FAILED", "SUCCEEDED"]
    assert "at" not in job


@pytest.mark.parametrize("limit", [1, 2, 3, 20])
def test_all_jobs_are_listed_once_the_latest_first(api: Api, limit: int) -> None:
    """Recurring and event jobs are in partitions of their own, and still in the order of time."""
    expected = some_jobs(api, 3)
    expected = [api.job(cron=HOURLY), *expected]
    api.world.clock.advance(1)
    expected = [api.job(on_event=PATTERN), *expected]
    api.world.clock.advance(1)
    expected = some_jobs(api, 4) + expected
    pages = api.pages("/v1/jobs", "jobs", limit=limit)
    assert [job["job_id"] for found in pages for job in found] == expected
    assert all(len(found) == limit for found in pages[:-1])
    assert 0 < len(pages[-1]) <= limit


def test_jobs_of_one_millisecond_are_listed_once_each(api: Api) -> None:
    made = {api.job(delay=3600) for _ in range(25)}
    found = ids(api, limit=4)
    assert (len(found), set(found)) == (25, made)


def test_kinds_are_listed_apart(api: Api) -> None:
    once, again, event = api.job(delay=3600), api.job(cron=HOURLY), api.job(on_event=PATTERN)
    assert ids(api, kind="one-off") == [once]
    assert ids(api, kind="recurring") == [again]
    assert ids(api, kind="event") == [event]


def test_a_name_is_found_by_its_beginning(api: Api) -> None:
    first, second = api.job(name="report: eu", delay=3600), api.job(name="report: us", cron=HOURLY)
    api.job(name="my report: us", delay=3600)
    api.job(delay=3600)
    assert set(ids(api, name="report")) == {first, second}
    assert ids(api, name="report: us") == [second]
    assert ids(api, name="Report") == []


def test_a_tag_is_found_by_its_key_and_by_its_value(api: Api) -> None:
    ours, theirs = api.job(tags={"team": "a"}, delay=3600), api.job(tags={"team": "b"}, cron=HOURLY)
    odd = api.job(tags={"a=b": "c=d"}, delay=3600)
    assert set(ids(api, tag="team")) == {ours, theirs}
    assert ids(api, tag="team=b") == [theirs]
    assert ids(api, tag="a=b") == ids(api, tag="a=b=c=d") == [odd]
    assert ids(api, tag="tea") == ids(api, tag="team=") == []


def test_priorities_and_workflows_are_filters(api: Api) -> None:
    high = api.job(priority="HIGH", delay=3600)
    body: dict[str, Any] = {"jobs": [{"key": "a", "callback_url": "https://example.com/a", "delay": 3600}]}
    accepted = api.send("POST", "/v1/workflows", **body)
    assert accepted.status == 202, accepted.body
    assert ids(api, priority="HIGH") == [high]
    assert ids(api, workflow=accepted.body["workflow_id"]) == [accepted.body["workflow_id"]]


def test_a_status_is_that_of_now(api: Api) -> None:
    waits, paused, cancelled = api.job(delay=3600), api.job(delay=3600), api.job(delay=3600)
    api.send("POST", f"/v1/jobs/{paused}/pause")
    api.send("PUT", f"/v1/jobs/{cancelled}/cancel")
    assert ids(api, status="PENDING") == [waits]
    assert ids(api, status="PAUSED") == [paused]
    assert ids(api, status="CANCELLED") == [cancelled]
    assert ids(api, status="FAILED") == []


def test_a_job_that_waits_for_its_retry_is_found_as_it_is_shown(api: Api) -> None:
    job_id = api.job(target=SHELL, retry={"max_retries": 1, "backoff_seconds": 60, "jitter": False})
    worker = a_worker(api)
    worker.complete(worker.take(), "FAILED", error="boom")
    assert ids(api, status="RETRYING") == [job_id]
    assert ids(api, status="DISPATCHED") == ids(api, status="PENDING") == []


def test_a_renamed_job_is_found_by_its_new_name_only(api: Api) -> None:
    job_id = api.job(name="old", tags={"team": "a"}, cron=HOURLY)
    assert api.send("PATCH", f"/v1/jobs/{job_id}", name="new").status == 200
    assert (ids(api, name="old"), ids(api, name="new")) == ([], [job_id])
    assert ids(api, tag="team=a") == [job_id]


def test_a_deleted_job_is_not_listed(api: Api) -> None:
    job_id, other = api.job(delay=3600), api.job(delay=3600)
    api.send("DELETE", f"/v1/jobs/{job_id}")
    assert ids(api) == [other]


def test_a_tenant_sees_its_own_jobs_alone(api: Api) -> None:
    mine = api.job(delay=3600)
    for tenant in ("other", "acme#1", "acme#r1", "acm"):
        theirs = api.called_by(tenant).job(cron=HOURLY)
        assert ids(api.called_by(tenant)) == [theirs]
    assert ids(api) == [mine]


def test_runs_of_recurring_jobs_are_not_listed(api: Api) -> None:
    job_id = api.job(cron=HOURLY)
    api.send("POST", f"/v1/jobs/{job_id}/run")
    assert ids(api) == [job_id]


@pytest.mark.parametrize("status", [{}, {"status": "PENDING"}])
def test_a_page_looks_at_a_bounded_number_of_jobs(
    api: Api, monkeypatch: pytest.MonkeyPatch, status: dict[str, str]
) -> None:
    """Such a page has a cursor even when it found nothing."""
    monkeypatch.setattr(list_jobs, "MOST_LOOKED_AT", 4)
    sought = api.job(name="sought", delay=3600)
    api.world.clock.advance(1)
    some_jobs(api, 10)
    pages = api.pages("/v1/jobs", "jobs", name="sought", **status)
    assert [[job["job_id"] for job in found] for found in pages] == [[], [], [sought]]


def test_a_page_reads_a_bounded_number_of_records(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_jobs, "MOST_READ", 3)
    monkeypatch.setattr(list_jobs, "READ_AT_ONCE", 3)
    paused = api.job(delay=3600)
    api.send("POST", f"/v1/jobs/{paused}/pause")
    api.world.clock.advance(1)
    some_jobs(api, 7)
    pages = api.pages("/v1/jobs", "jobs", status="PAUSED")
    assert [[job["job_id"] for job in found] for found in pages] == [[], [], [paused]]


def test_a_job_that_cannot_be_read_hides_no_other(api: Api) -> None:
    bad, good = api.job(delay=3600), api.job(delay=3600)
    with api.world.database.transaction() as connection:
        connection.execute("UPDATE runs SET definition = 'no JSON' WHERE run_id = ?", (bad,))
    found = page(api)
    assert [job["job_id"] for job in found["jobs"]] == [good]
    assert [one["id"] for one in found["unreadable"]] == [bad]
    assert page(api.called_by("other"))["jobs"] == []


def test_a_recurring_job_of_the_version_before_is_listed_and_moves_with_a_change(api: Api) -> None:
    job_id = api.job(cron=HOURLY)
    with api.world.database.transaction() as connection:
        connection.execute("UPDATE runs SET listed_under = 'acme#5' WHERE run_id = ?", (job_id,))
    assert ids(api) == [job_id]
    api.send("POST", f"/v1/jobs/{job_id}/pause")
    assert ids(api, kind="recurring") == ids(api) == [job_id]


class CountingReads(FaultyStore):
    """A store that notes the ids of the records that are read."""

    def get_many(self, run_ids: Sequence[str], deadline: Deadline) -> ReadRecords:
        READ.extend(run_ids)
        return super().get_many(run_ids, deadline)


READ: list[str] = []


def test_a_filter_by_name_reads_only_the_jobs_that_pass(api: Api) -> None:
    sought = api.job(name="sought", delay=3600)
    some_jobs(api, 10)
    READ.clear()
    engine = replace(api.world.engine, store=CountingReads(api.world.store, Faults()))
    page = list_jobs.list_jobs(engine, "acme", list_jobs.JobQuery(FactFilter(name="sought")), 5)
    assert [listed.job.job_id for listed in page.items] == READ == [sought]

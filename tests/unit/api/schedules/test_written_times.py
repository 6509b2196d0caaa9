"""Times as AWS users write them, through the API: `cron(…)`, `rate(…)`, `at(…)`, local times and `H`."""

from typing import Any

import pytest

from onthedot.api.http import Response
from tests.unit.api.kit import URL, Api, fields_of, message_of

LOCAL: dict[str, Any] = {"at": "2026-07-31T09:30:00", "timezone": "Europe/Berlin"}


def shown(api: Api, job_id: str) -> dict[str, Any]:
    return dict(api.get(f"/v1/jobs/{job_id}").body)


def refused(response: Response, api: Api) -> tuple[set[str], str]:
    assert response.status == 422, response.body
    assert api.stored() == []
    return fields_of(response), message_of(response)


def test_an_expression_of_eventbridge_is_accepted_and_shown_verbatim(api: Api) -> None:
    job = shown(api, api.job(cron="cron(0/15 9-17 ? * MON-FRI *)", timezone="Europe/Berlin"))
    assert job["cron"] == "cron(0/15 9-17 ? * MON-FRI *)"
    assert job["next_fire_time"] == "2026-03-02T08:00:00.000Z"


def test_years_that_are_over_are_refused_at_submit_and_in_a_change(api: Api) -> None:
    over = "cron(15 10 ? * 6L 2019-2022)"
    fields, message = refused(api.submit(cron=over), api)
    assert fields == {"cron"}
    assert "its last year is 2022; give other years, or *" in message
    changed = api.send("PATCH", f"/v1/jobs/{api.job(cron='0 9 * * *')}", cron=over)
    assert (changed.status, fields_of(changed)) == (422, {"cron"})


def test_a_schedule_that_clocks_always_jump_over_is_refused_with_the_field_to_change(api: Api) -> None:
    night: dict[str, Any] = {"cron": "30 2 * 3 SUNL", "timezone": "Europe/Berlin"}
    fields, message = refused(api.submit(**night, dst={"gap": "skip"}), api)
    assert fields == {"cron"}
    assert "dst.gap run_after" in message
    assert api.submit(**night, dst={"gap": "run_after"}).status == 202


def test_a_rate_is_an_interval_in_seconds(api: Api) -> None:
    job_id = api.job(every="rate(5 minutes)")
    assert shown(api, job_id)["every"] == 300
    assert shown(api, job_id)["next_fire_time"] == "2026-03-01T12:05:00.000Z"
    changed = api.send("PATCH", f"/v1/jobs/{job_id}", every="rate(1 hour)")
    assert changed.body["every"] == 3_600


@pytest.mark.parametrize(("rate", "advice"), [("rate(0 minutes)", "1 or more"), ("rate(9999 days)", "or less")])
def test_a_rate_has_the_bounds_of_an_interval(api: Api, rate: str, advice: str) -> None:
    fields, message = refused(api.submit(every=rate), api)
    assert fields == {"every"}
    assert advice in message


@pytest.mark.parametrize(
    ("fields", "instant"),
    [
        (LOCAL, "2026-07-31T07:30:00.000Z"),
        ({**LOCAL, "at": "2026-07-31 09:30:00.25"}, "2026-07-31T07:30:00.250Z"),
        ({**LOCAL, "at": "2026-03-29T02:30:00"}, "2026-03-29T01:00:00.000Z"),
        ({**LOCAL, "at": "2026-03-29T03:30:00", "dst": {"gap": "skip"}}, "2026-03-29T01:30:00.000Z"),
        ({**LOCAL, "at": "2026-10-25T02:30:00"}, "2026-10-25T00:30:00.000Z"),
        ({**LOCAL, "at": "at(2026-07-31T09:30:00)"}, "2026-07-31T07:30:00.000Z"),
        ({"at": "at(2026-11-20T13:00:00)"}, "2026-11-20T13:00:00.000Z"),
    ],
)
def test_a_local_time_is_an_instant_of_its_zone(api: Api, fields: dict[str, Any], instant: str) -> None:
    assert shown(api, api.job(**fields))["fire_time"] == instant


@pytest.mark.parametrize(
    ("fields", "name", "advice"),
    [
        ({"at": LOCAL["at"]}, "at", "add Z or ±hh:mm to it, or give timezone"),
        ({**LOCAL, "timezone": "Europe/Berln"}, "timezone", "did you mean Europe/Berlin?"),
        ({**LOCAL, "at": "2026-07-31T09:30:00Z"}, "timezone", "remove it, or write at as local time"),
        ({**LOCAL, "at": 1_800_000_000}, "timezone", "remove it"),
        ({"at": "2026-07-31T09:30:00Z", "dst": {}}, "dst", "remove it"),
        ({**LOCAL, "at": "2026-03-29T02:30:00", "dst": {"gap": "skip"}}, "at", "give a time before or after"),
        ({**LOCAL, "at": "2026-10-25T02:30:00", "dst": {"overlap": "twice"}}, "at", "set dst.overlap to once"),
        ({**LOCAL, "at": "2025-07-31T09:30:00"}, "at", "more than a day in the past"),
        ({**LOCAL, "at": "2026-02-30T09:30:00"}, "at", "does not exist"),
        ({"at": "at(2026-07-31T09:30:00Z)"}, "at", "write 2026-07-31T09:30:00Z"),
        ({"at": "at()"}, "at", "is not a time"),
        ({"at": "at(tomorrow)"}, "at", "is not a time"),
        ({"at": "1969-01-01T00:00:00", "timezone": "UTC"}, "at", "in the past"),
        ({"at": "9999-12-31T23:59:59", "timezone": "America/Los_Angeles"}, "at", "10 years"),
        ({"timezone": "UTC", "delay": 3}, "timezone", "or with a local time as at"),
        ({"every": 5, "start_at": "2026-07-31T09:30:00"}, "start_at", "has no offset from UTC; add Z"),
    ],
)
def test_another_local_time_is_refused_by_name(api: Api, fields: dict[str, Any], name: str, advice: str) -> None:
    names, message = refused(api.submit(**fields), api)
    assert names == {name}
    assert advice in message


def test_a_job_that_waits_gets_a_new_local_time(api: Api) -> None:
    job_id = api.job(delay=3600)
    changed = api.send("PATCH", f"/v1/jobs/{job_id}", **LOCAL)
    assert changed.body["fire_time"] == "2026-07-31T07:30:00.000Z"
    for fields in ({"at": LOCAL["at"]}, {"timezone": "UTC"}, {"at": 1_800_000_000, "timezone": "UTC"}):
        assert api.send("PATCH", f"/v1/jobs/{job_id}", **fields).status == 422
    recurring = api.send("PATCH", f"/v1/jobs/{api.job(every=60)}", **LOCAL)
    assert (recurring.status, fields_of(recurring)) == (422, {"at"})


def test_a_workflow_has_a_local_time_and_its_jobs_have_an_offset(api: Api) -> None:
    nodes = [{"key": "a", "callback_url": URL}]
    started = api.send("POST", "/v1/workflows", jobs=nodes, **LOCAL)
    assert started.status == 202
    assert shown(api, started.body["workflow_id"])["fire_time"] == "2026-07-31T07:30:00.000Z"
    local = api.send("POST", "/v1/workflows", jobs=[{**nodes[0], "at": LOCAL["at"]}], delay=1)
    assert (local.status, fields_of(local)) == (422, {"jobs.0.at"})


@pytest.mark.parametrize(
    ("at", "instant"),
    [
        ("2026-06-30T23:59:60Z", "2026-07-01T00:00:00.000Z"),
        ("2026-06-30T23:59:60.5Z", "2026-07-01T00:00:00.500Z"),
        ("2026-07-01T01:59:60+02:00", "2026-07-01T00:00:00.000Z"),
        ("2026-06-30T18:59:60-05:00", "2026-07-01T00:00:00.000Z"),
    ],
)
def test_a_leap_second_is_the_next_second(api: Api, at: str, instant: str) -> None:
    assert shown(api, api.job(at=at))["fire_time"] == instant
    local = {"at": at[:19], "timezone": "UTC"}
    if at.endswith("Z"):
        assert api.submit(**local).status == 202
    else:
        assert api.submit(**local).status == 422


@pytest.mark.parametrize("at", ["2026-06-30T12:00:60Z", "2026-06-30T23:59:60+02:00", "2026-06-30T23:59:61Z"])
def test_a_second_60_within_a_day_is_refused(api: Api, at: str) -> None:
    fields, _ = refused(api.submit(at=at), api)
    assert fields == {"at"}


def test_an_h_is_resolved_by_the_id_and_shown_as_plain_fields(api: Api) -> None:
    first = api.submit(cron="H H(0-7) * * *", idempotency_key="k").body
    again = api.submit(cron="H H(0-7) * * *", idempotency_key="k").body
    assert (again["job_id"], again["next_fire_time"]) == (first["job_id"], first["next_fire_time"])
    minute, hour, *days = shown(api, first["job_id"])["cron"].split()
    assert 0 <= int(minute) <= 59
    assert 0 <= int(hour) <= 7
    assert days == ["*", "*", "*"]
    assert first["next_fire_time"][11:16] == f"{int(hour):02}:{int(minute):02}"


def test_an_h_spreads_the_jobs_of_a_batch_and_the_members_stay_as_they_were(api: Api) -> None:
    jobs = [{"cron": "H * * * *", "callback_url": URL, "idempotency_key": str(n)} for n in range(40)]
    answered = api.send("POST", "/v1/jobs/batch", jobs=jobs).body["jobs"]
    minutes = {shown(api, entry["job_id"])["cron"].split()[0] for entry in answered}
    assert len(minutes) > 20


def test_a_change_resolves_an_h_by_the_same_id(api: Api) -> None:
    job_id = api.job(cron="H H * * *")
    before = shown(api, job_id)["cron"]
    api.send("PATCH", f"/v1/jobs/{job_id}", cron="0 0 * * *")
    assert api.send("PATCH", f"/v1/jobs/{job_id}", cron="H H * * *").body["cron"] == before
    assert api.send("PATCH", f"/v1/jobs/{job_id}", jitter_seconds=1).body["cron"] == before
    every = api.job(every=60)
    assert api.send("PATCH", f"/v1/jobs/{every}", cron="H * * * *").body["cron"].split()[0].isdigit()


def test_a_workflow_resolves_an_h(api: Api) -> None:
    nodes = [{"key": "a", "callback_url": URL}]
    started = api.send("POST", "/v1/workflows", jobs=nodes, cron="H/15 * * * *")
    assert "H" not in shown(api, started.body["workflow_id"])["cron"]


def test_a_preview_of_an_h_shows_its_example(api: Api) -> None:
    answer = api.send("POST", "/v1/schedules/preview", cron="H 9 * * *", count=1).body
    minute = answer["example"].split()[0]
    assert answer["example"] == f"{minute} 9 * * *"
    assert answer["fire_times"][0]["time"] == f"2026-03-02T09:{int(minute):02}:00.000Z"
    assert "example" not in api.send("POST", "/v1/schedules/preview", cron="5 9 * * *").body

"""A one-off job's life from the submission to its record, in each home."""

import time
from datetime import datetime
from typing import Any

from tests.e2e.control import is_on_time
from tests.e2e.homes import Api, Home
from tests.e2e.listener import Listener

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"


def ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def test_a_near_job_fires_at_its_time_and_tells_its_story(home: Home, api: Api, listener: Listener) -> None:
    body = {"callback_url": f"{listener.url}/near", "delay": 3 * home.pace, "payload": {"hello": "dot"}, "name": "near"}
    status, job = api.call("POST", "/v1/jobs", body, traceparent=f"00-{TRACE_ID}-b7ad6b7169203331-01")
    assert status == 202
    due = ms(job["next_fire_time"])
    control = home.control(due)
    (arrival,) = listener.wait_for("/near")
    assert is_on_time(arrival.at - due, [control]), (arrival.at - due, control.late())
    assert arrival.payload == {"hello": "dot"}
    assert arrival.headers["idempotency-key"] == job["job_id"]
    assert arrival.headers["x-onthedot-attempt"] == "1"
    assert ms(arrival.headers["x-onthedot-fire-time"]) == due
    view = api.wait_for(job["job_id"], "SUCCEEDED")
    assert view["retry_count"] == 0
    assert view["next_run"] is None
    _, executions = api.call("GET", f"/v1/jobs/{job['job_id']}/executions")
    (execution,) = executions["executions"]
    assert execution["result"] == "thank you"
    assert 0 <= execution["lateness_ms"] <= arrival.at - due
    assert [attempt["outcome"] for attempt in execution["attempts"]] == ["succeeded"]
    assert execution["trace_id"] == TRACE_ID
    assert arrival.headers["traceparent"] == f"00-{TRACE_ID}-{execution['attempts'][0]['span_id']}-01"


def test_a_job_without_a_time_runs_now(api: Api, listener: Listener) -> None:
    job = api.submit(callback_url=f"{listener.url}/now")
    listener.wait_for("/now")
    api.wait_for(job["job_id"], "SUCCEEDED")


def test_a_failing_callback_is_retried_until_it_succeeds(home: Home, api: Api, listener: Listener) -> None:
    retry = {"max_retries": 3, "backoff_seconds": home.pace, "factor": 1, "jitter": False}
    job = api.submit(callback_url=f"{listener.url}/flaky?fail=2", retry=retry)
    arrivals = listener.wait_for("/flaky", count=3)
    assert [arrival.headers["x-onthedot-attempt"] for arrival in arrivals] == ["1", "2", "3"]
    assert {arrival.headers["idempotency-key"] for arrival in arrivals} == {job["job_id"]}
    assert api.wait_for(job["job_id"], "SUCCEEDED")["retry_count"] == 2


def test_exhausted_retries_end_failed_with_the_cause(api: Api, listener: Listener) -> None:
    retry = {"max_retries": 1, "backoff_seconds": 0, "jitter": False}
    job = api.submit(callback_url=f"{listener.url}/broken?fail=9", retry=retry)
    api.wait_for(job["job_id"], "FAILED")
    _, executions = api.call("GET", f"/v1/jobs/{job['job_id']}/executions")
    assert "503" in executions["executions"][0]["error"]
    assert len(listener.at_path("/broken")) == 2


def test_a_deleted_job_never_fires_and_is_gone(home: Home, api: Api, listener: Listener) -> None:
    job = api.submit(callback_url=f"{listener.url}/deleted", delay=8 * home.pace)
    assert api.call("DELETE", f"/v1/jobs/{job['job_id']}") == (200, {"deleted": True})
    assert api.call("GET", f"/v1/jobs/{job['job_id']}")[0] == 404
    assert api.call("DELETE", f"/v1/jobs/{job['job_id']}")[0] == 404
    after = api.submit(callback_url=f"{listener.url}/after-deleted", delay=9 * home.pace)
    api.wait_for(after["job_id"], "SUCCEEDED")
    assert listener.at_path("/deleted") == []


def test_the_same_key_is_the_same_job_and_another_body_is_a_conflict(api: Api, listener: Listener) -> None:
    body: dict[str, Any] = {"callback_url": f"{listener.url}/keyed", "delay": 2, "idempotency_key": "e2e-key"}
    first, second = api.submit(**body), api.submit(**body)
    assert first["job_id"] == second["job_id"]
    status, answer = api.call("POST", "/v1/jobs", {**body, "delay": 3})
    assert (status, answer["error"]["code"]) == (409, "idempotency_conflict")
    api.wait_for(first["job_id"], "SUCCEEDED")
    assert len(listener.at_path("/keyed")) == 1


def test_a_large_payload_arrives_whole(api: Api, listener: Listener) -> None:
    payload = {"rows": ["é" * 100] * 4_000}
    job = api.submit(callback_url=f"{listener.url}/large", payload=payload)
    (arrival,) = listener.wait_for("/large")
    assert arrival.payload == payload
    assert api.call("GET", f"/v1/jobs/{job['job_id']}")[1]["payload"] == payload


def test_many_jobs_of_one_instant_all_arrive_once_and_never_early(home: Home, api: Api, listener: Listener) -> None:
    at = int(time.time()) + round(8 * home.pace)
    jobs = [
        api.submit(callback_url=f"{listener.url}/burst/{n}", at=at, priority=("HIGH", "MEDIUM", "LOW")[n % 3])
        for n in range(30)
    ]
    for number, job in enumerate(jobs):
        api.wait_for(job["job_id"], "SUCCEEDED")
        (arrival,) = listener.at_path(f"/burst/{number}")
        assert arrival.at >= at * 1000

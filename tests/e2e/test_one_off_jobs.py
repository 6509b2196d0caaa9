"""A one-off job's life from the submission to its record, in each home."""

from datetime import datetime

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
    (execution,) = api.pages(f"/v1/jobs/{job['job_id']}/executions", "executions")
    assert execution["result"] == "thank you"
    assert 0 <= execution["lateness_ms"] <= arrival.at - due
    assert [attempt["outcome"] for attempt in execution["attempts"]] == ["succeeded"]
    assert execution["trace_id"] == TRACE_ID
    assert arrival.headers["traceparent"] == f"00-{TRACE_ID}-{execution['attempts'][0]['span_id']}-01"

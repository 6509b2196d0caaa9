"""Events that a caller sends over REST: they run the jobs that match, submit jobs, and cancel them."""

from typing import Any

from tests.e2e.homes import Api, Home
from tests.e2e.listener import Listener


def send(api: Api, detail_type: str, detail: Any, source: str = "rest-shop") -> None:
    event = {"source": source, "detail_type": detail_type, "detail": detail}
    status, answer = api.call("POST", "/v1/events", event)
    assert status < 300, answer


def test_an_event_runs_the_jobs_of_its_own_tenant_that_match_it(home: Home, api: Api, listener: Listener) -> None:
    pattern = {"source": ["rest-shop"], "detail-type": ["order"], "detail": {"total": [{"numeric": [">", 100]}]}}
    job = api.submit(
        callback_url=f"{listener.url}/rest-order", on_event=pattern, payload={"order": "$.detail.id", "fixed": 1}
    )
    assert job["status"] == "ACTIVE"
    send(home.api_of("rest-stranger"), "order", {"id": "theirs", "total": 500})
    send(api, "order", {"id": "o-1", "total": 50})
    send(api, "order", {"id": "o-2", "total": 500}, source="rest-other")
    send(api, "order", {"id": "o-3", "total": 500})
    assert listener.wait_for("/rest-order")[0].payload == {"order": "o-3", "fixed": 1}
    after = api.submit(callback_url=f"{listener.url}/rest-after", delay=2 * home.pace)
    api.wait_for(after["job_id"], "SUCCEEDED")
    _, page = api.call("GET", f"/v1/jobs/{job['job_id']}/executions")
    assert [run["trigger"] for run in page["executions"]] == ["event"]

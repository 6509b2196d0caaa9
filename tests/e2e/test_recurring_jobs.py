"""Recurring jobs, changed, stopped and run on demand through REST. Previews and batches."""

import time

from tests.e2e.homes import Api, Home
from tests.e2e.listener import Listener


def marker(home: Home, name: str, delay: float) -> None:
    """Let the home's own time pass: a job that is due then has run."""
    job = home.api.submit(callback_url=f"{home.listener.url}/{name}", delay=delay)
    home.api.wait_for(job["job_id"], "SUCCEEDED")


def test_a_job_is_paused_resumed_changed_run_and_cancelled(home: Home, api: Api, listener: Listener) -> None:
    job = api.submit(callback_url=f"{listener.url}/beat", every=1, payload={"v": 1}, misfire={"policy": "skip"})
    path = f"/v1/jobs/{job['job_id']}"
    listener.wait_for("/beat", count=3)

    status, paused = api.call("POST", f"{path}/pause")
    assert (status, paused["status"]) == (200, "PAUSED")
    marker(home, "beat-paused", max(2 * home.pace, 1))
    while_paused = len(listener.at_path("/beat"))
    marker(home, "beat-still-paused", max(3 * home.pace, 1.2))
    assert len(listener.at_path("/beat")) == while_paused

    status, resumed = api.call("POST", f"{path}/resume")
    assert (status, resumed["status"]) == (200, "ACTIVE")
    listener.wait_for("/beat", count=while_paused + 3)

    status, changed = api.call("PATCH", path, {"payload": {"v": 2}}, **{"If-Match": str(resumed["version"])})
    assert (status, changed["payload"]) == (200, {"v": 2})
    assert changed["version"] == resumed["version"] + 1
    assert api.call("PATCH", path, {"priority": "HIGH"}, **{"If-Match": str(resumed["version"])})[0] == 412
    count = len(listener.at_path("/beat"))
    assert listener.wait_for("/beat", count=count + 3)[-1].payload == {"v": 2}

    status, run = api.call("POST", f"{path}/run")
    assert status == 202
    listener.wait_for("/beat", count=len(listener.at_path("/beat")) + 1)

    status, cancelled = api.call("PUT", f"{path}/cancel")
    assert (status, cancelled["status"]) == (200, "CANCELLED")
    marker(home, "beat-cancelled", max(2 * home.pace, 1))
    after_cancel = len(listener.at_path("/beat"))
    marker(home, "beat-still-cancelled", max(3 * home.pace, 1.2))
    assert len(listener.at_path("/beat")) == after_cancel
    assert api.call("POST", f"{path}/resume")[0] == 409
    assert api.call("GET", f"/v1/executions/{run['execution_id']}")[0] == 200


def test_a_preview_tells_of_the_daylight_saving_gap(api: Api) -> None:
    body = {"cron": "30 2 * * *", "timezone": "Europe/Berlin", "count": 3, "after": "2027-03-26T12:00:00Z"}
    status, preview = api.call("POST", "/v1/schedules/preview", body)
    assert status == 200
    times = [fire["time"] for fire in preview["fire_times"]]
    assert times == ["2027-03-27T01:30:00.000Z", "2027-03-28T01:00:00.000Z", "2027-03-29T00:30:00.000Z"]
    assert preview["fire_times"][1]["note"]


def test_a_batch_of_one_instant_is_accepted_in_order_and_all_arrive_once_and_never_early(
    home: Home, api: Api, listener: Listener
) -> None:
    at = int(time.time()) + round(8 * home.pace)
    jobs = [
        {"callback_url": f"{listener.url}/batch/{n}", "at": at, "priority": ("HIGH", "MEDIUM", "LOW")[n % 3]}
        for n in range(30)
    ]
    status, answer = api.call("POST", "/v1/jobs/batch", {"jobs": [*jobs, {"callback_url": "nonsense"}]})
    assert status == 202
    *accepted, refused = answer["jobs"]
    assert "callback_url" in str(refused["error"]["details"])
    for number, entry in enumerate(accepted):
        api.wait_for(entry["job_id"], "SUCCEEDED")
        (arrival,) = listener.at_path(f"/batch/{number}")
        assert arrival.at >= at * 1000

"""Health of the deployed stack: late while no ticks come, and the canary runs like any job."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from onthedot.access.tokens import RESERVED_TENANT
from tests.e2e.deployment import Deployment
from tests.e2e.homes import Api, until

SIX_MINUTES_MS = 360_000


def health(api: Api) -> tuple[int, Any]:
    return Api(api.url, None).call("GET", "/v1/health")


def status_of_health(api: Api, status: int) -> Any:
    found, body = health(api)
    return body if found == status else None


@contextmanager
def without_ticks(deployment: Deployment) -> Iterator[None]:
    """Disable the schedule of the planner, and let the last ticks end."""
    scheduler = deployment.client("scheduler")
    names = [schedule["Name"] for schedule in scheduler.list_schedules()["Schedules"]]
    (name,) = [name for name in names if "plan" in name.lower() or "tick" in name.lower()]
    known = scheduler.get_schedule(Name=name)
    kept = ("ScheduleExpression", "FlexibleTimeWindow", "Target")
    schedule = {"Name": name, **{field: known[field] for field in kept}}
    scheduler.update_schedule(**schedule, State="DISABLED")
    try:
        yield
    finally:
        scheduler.update_schedule(**schedule, State="ENABLED")


def age_last_ticks(deployment: Deployment) -> None:
    """Write the time of the last ticks back, as if none had come for six minutes."""
    table = deployment.client("dynamodb")
    for item in deployment.scanned():
        if item["pk"]["S"].startswith("progress#") and "done" in item:
            done = json.loads(item["done"]["S"])
            old = {**done, "ticked_at": min(done["ticked_at"], time.time_ns() // 1_000_000 - SIX_MINUTES_MS)}
            table.update_item(
                TableName=deployment.stack.table,
                Key={"pk": item["pk"], "sk": item["sk"]},
                UpdateExpression="SET #done = :done",
                ExpressionAttributeNames={"#done": "done"},
                ExpressionAttributeValues={":done": {"S": json.dumps(old)}},
            )


def test_without_ticks_for_six_minutes_health_is_late_and_with_ticks_it_is_ok_again(
    deployment: Deployment, api: Api
) -> None:
    # A stage that had no tick yet is starting for minutes, and cannot be late.
    until(lambda: health(api)[1]["status"] == "ok", 150, every=1)
    job_id = api.submit(callback_url="https://example.com/", delay=3_600)["job_id"]

    def late() -> Any:
        age_last_ticks(deployment)
        return status_of_health(api, 503)

    def explained_late() -> Any:
        age_last_ticks(deployment)  # the last tick may still have run
        reasons = api.call("GET", f"/v1/jobs/{job_id}/explain")[1]["reasons"]
        return reasons[0]["code"] == "scheduler_late"

    with without_ticks(deployment):
        body = until(late, 90, every=1)
        assert (body["status"], body["tick_age_seconds"] >= 359) == ("late", True)
        assert set(body) == {"status", "version", "time", "last_tick", "tick_age_seconds"}
        until(explained_late, 60, every=1)
    body = until(lambda: status_of_health(api, 200), 150, every=1)
    assert body["status"] == "ok"
    assert body["tick_age_seconds"] < 180
    api.call("DELETE", f"/v1/jobs/{job_id}")


def test_the_canary_runs_each_minute(deployment: Deployment) -> None:
    def runs() -> Any:
        own = [item for item in deployment.scanned() if item.get("tenant") == {"S": RESERVED_TENANT}]
        ended = [item for item in own if item["status"] == {"S": "SUCCEEDED"}]
        late = [int(item["started_at"]["N"]) - int(item["nominal_at"]["N"]) for item in ended]
        # Other tests stop the ticks of this stack for minutes.
        return (own, late) if sum(ms < 60_000 for ms in late) >= 2 else None

    own, late = until(runs, 240, every=1)
    assert [item["sk"]["S"] for item in own if item["kind"]["S"] == "recurring"] == ["job"], "one job"
    assert min(late) >= 0, late

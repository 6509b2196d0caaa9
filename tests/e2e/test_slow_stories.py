"""Stories that take minutes on the stack, begun when it came up: here they are only waited for."""

from tests.e2e.control import is_on_time
from tests.e2e.deployment import Deployment
from tests.e2e.test_one_off_jobs import ms
from tests.e2e.test_pull_workers import dead_letters, execution
from tests.e2e.worker_process import end_of_murderer

MINUTES = 60


def test_a_purged_message_comes_back_by_the_sweep(deployment: Deployment) -> None:
    job = deployment.slow["purged"]
    deployment.listener.wait_for("/purged", seconds=5 * MINUTES)
    view = deployment.api.wait_for(job["job_id"], "SUCCEEDED")
    assert view["retry_count"] == 0
    assert len(deployment.listener.at_path("/purged")) == 1


def test_a_killed_worker_is_found_and_its_run_tried_again(deployment: Deployment) -> None:
    job = deployment.slow["killed"]
    deployment.listener.wait_for("/killed", count=2, seconds=6 * MINUTES)
    deployment.api.wait_for(job["job_id"], "SUCCEEDED")
    _, executions = deployment.api.call("GET", f"/v1/jobs/{job['job_id']}/executions")
    outcomes = [attempt["outcome"] for attempt in executions["executions"][0]["attempts"]]
    assert outcomes == ["lost", "succeeded"]


def test_a_job_that_outlasts_its_lease_keeps_it_and_runs_once(deployment: Deployment) -> None:
    job = deployment.slow["long"]
    deployment.api.wait_for(job["job_id"], "SUCCEEDED", seconds=5 * MINUTES)
    assert len(deployment.listener.at_path("/long")) == 1
    _, executions = deployment.api.call("GET", f"/v1/jobs/{job['job_id']}/executions")
    (attempt,) = executions["executions"][0]["attempts"]
    assert attempt["outcome"] == "succeeded"


def test_a_job_every_five_seconds_has_exactly_its_fire_times(deployment: Deployment) -> None:
    job = deployment.slow["ticking"]
    first = ms(job["next_fire_time"])
    arrivals = deployment.listener.wait_for("/ticking", count=35, seconds=5 * MINUTES)
    deployment.api.wait_for(job["job_id"], "COMPLETED")
    arrivals = deployment.listener.at_path("/ticking")
    nominal = sorted(ms(arrival.headers["x-onthedot-fire-time"]) for arrival in arrivals)
    # The limit is included: the last one may or may not fall on it.
    assert nominal in ([first + 5_000 * n for n in range(36)], [first + 5_000 * n for n in range(35)])
    assert all(arrival.at >= ms(arrival.headers["x-onthedot-fire-time"]) for arrival in arrivals)
    assert len({arrival.headers["idempotency-key"] for arrival in arrivals}) == len(arrivals)


def test_a_far_job_is_claimed_by_a_tick_and_fires_once_at_its_time(deployment: Deployment) -> None:
    job = deployment.slow["far"]
    assert job["status"] == "PENDING"
    (arrival,) = deployment.listener.wait_for("/far", seconds=8 * MINUTES)
    late = arrival.at - job["at"]
    assert is_on_time(late, [deployment.far_control]), (late, deployment.far_control.late())
    deployment.api.wait_for(job["job_id"], "SUCCEEDED")
    assert len(deployment.listener.at_path("/far")) == 1


def test_the_dispatcher_keeps_its_progress(deployment: Deployment) -> None:
    key = {"pk": {"S": "progress#0"}, "sk": {"S": "progress"}}
    item = deployment.client("dynamodb").get_item(TableName=deployment.stack.table, Key=key)["Item"]
    assert "fire" in item["done"]["S"]


def test_a_job_that_kills_its_worker_every_time_ends_in_the_dead_letters(deployment: Deployment) -> None:
    end_of_murderer(deployment)
    api = deployment.api
    run = execution(api, deployment.slow["murderer"]["job_id"])
    assert [attempt["outcome"] for attempt in run["attempts"]] == ["lost"] * 5
    assert run["execution_id"] in dead_letters(api)
    assert deployment.restarting.deaths >= 5
    assert execution(api, deployment.slow["survivor"]["job_id"])["status"] == "SUCCEEDED"

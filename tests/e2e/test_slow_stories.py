"""Stories that take minutes on the stack, begun when it came up: here they are only waited for."""

from tests.e2e.control import is_on_time
from tests.e2e.deployment import Deployment
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
    outcomes = [attempt["outcome"] for attempt in deployment.api.execution(job["job_id"])["attempts"]]
    assert outcomes == ["lost", "succeeded"]


def test_a_job_that_outlasts_its_lease_keeps_it_and_runs_once(deployment: Deployment) -> None:
    job = deployment.slow["long"]
    deployment.api.wait_for(job["job_id"], "SUCCEEDED", seconds=5 * MINUTES)
    assert len(deployment.listener.at_path("/long")) == 1
    (attempt,) = deployment.api.execution(job["job_id"])["attempts"]
    assert attempt["outcome"] == "succeeded"


def test_a_far_job_is_claimed_by_a_tick_and_fires_once_at_its_time(deployment: Deployment) -> None:
    job = deployment.slow["far"]
    assert job["status"] == "PENDING"
    (arrival,) = deployment.listener.wait_for("/far", seconds=8 * MINUTES)
    late = arrival.at - job["at"]
    assert is_on_time(late, [deployment.far_control]), (late, deployment.far_control.late())
    deployment.api.wait_for(job["job_id"], "SUCCEEDED")
    assert len(deployment.listener.at_path("/far")) == 1


def test_a_job_that_kills_its_worker_every_time_ends_in_the_dead_letters(deployment: Deployment) -> None:
    end_of_murderer(deployment)
    api = deployment.api
    run = api.execution(deployment.slow["murderer"]["job_id"])
    assert [attempt["outcome"] for attempt in run["attempts"]] == ["lost"] * 5
    assert run["execution_id"] in {letter["execution_id"] for letter in api.pages("/v1/dead-letters", "dead_letters")}
    assert deployment.restarting.deaths >= 5
    assert api.execution(deployment.slow["survivor"]["job_id"])["status"] == "SUCCEEDED"

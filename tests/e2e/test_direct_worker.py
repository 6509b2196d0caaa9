"""A pull worker with AWS credentials, which takes its work from the queues themselves."""

from tests.e2e.deployment import Deployment
from tests.e2e.homes import Api
from tests.e2e.worker_process import APP, a_pull_worker, only


def test_a_direct_worker_runs_jobs_and_stops_in_order(deployment: Deployment, api: Api) -> None:
    """What only it can do comes to it also while another worker of the pool finds it first."""
    with a_pull_worker(deployment, "--direct", "--app", APP, worker_id="direct") as worker:
        for n in range(3):
            echo = {"type": "python", "handler": "echo"}
            job = api.submit(target=echo, payload=n, delay=2, **only("direct"))
            api.wait_for(job["job_id"], "SUCCEEDED", seconds=60)
            assert api.call("GET", f"/v1/executions/{job['job_id']}")[1]["worker"] == "direct"
        assert worker.stop() == 0
    assert api.call("GET", "/v1/workers/direct")[1]["status"] == "STOPPED"

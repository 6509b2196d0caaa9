"""Gates at which pull workers have places: shared, taken at once, and free again when a worker dies."""

import pytest

from tests.e2e.deployment import Deployment
from tests.e2e.gate_times import attempts_of, instant, most_at_once, put_gate, submit_all
from tests.e2e.homes import Home
from tests.e2e.killed_at_gates import WAYS
from tests.e2e.worker_process import APP, a_pull_worker, only

LEASE_SECONDS, TICK_SECONDS = 30, 60
NAP = {"type": "python", "handler": "nap"}


@pytest.mark.parametrize("way", WAYS)
def test_the_place_of_a_killed_worker_is_free_within_a_lease_and_two_ticks(deployment: Deployment, way: str) -> None:
    """Begun when the stack came up."""
    story, api = deployment.killed_at_gates[way], deployment.api
    api.wait_for(story.waiting["job_id"], "SUCCEEDED", seconds=LEASE_SECONDS + 3 * TICK_SECONDS)
    started = instant(api.execution(story.waiting["job_id"])["attempts"][0]["started_at"])
    assert started - story.killed_at <= LEASE_SECONDS + 2 * TICK_SECONDS
    lost = api.execution(story.lost["job_id"])
    assert lost["attempts"][0]["outcome"] == "lost"
    assert instant(lost["attempts"][0]["ended_at"]) <= started, "its run was lost before its place was given away"
    assert api.call("PUT", f"/v1/jobs/{story.lost['job_id']}/cancel")[0] == 200


def test_a_pull_worker_over_rest_shares_a_gate_with_the_workers_of_its_home(home: Home) -> None:
    share_a_gate(home, "rest")


def test_a_worker_with_aws_credentials_shares_a_gate_with_lambda_and_stops_in_order(deployment: Deployment) -> None:
    share_a_gate(deployment, "direct")


def share_a_gate(home: Home, way: str) -> None:
    api, gate, places = home.api, f"shared-{way}", 2
    put_gate(api, gate, in_flight=places)
    with a_pull_worker(home, *WAYS[way], "--app", APP, worker_id=f"sharing-{way}") as worker:
        jobs = [
            job
            for n in range(6)
            for job in (
                {"callback_url": f"{home.listener.url}/{gate}/{n}?hang={home.pace}", "gates": [gate]},
                {"target": NAP, "payload": home.pace, "gates": [gate], **only(f"sharing-{way}")},
            )
        ]
        attempts = attempts_of(api, submit_all(api, jobs))
        assert worker.stop() == 0
    assert most_at_once(attempts) <= places
    pulled = [one for one in attempts if one.worker == f"sharing-{way}"]
    assert len(pulled) == len(attempts) / 2
    assert api.call("GET", f"/v1/workers/sharing-{way}")[1]["status"] == "STOPPED"

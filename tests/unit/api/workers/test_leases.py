"""Runs on lease: given with all that a worker needs, kept by heartbeats, completed once, recovered when lost."""

from typing import Any

import pytest

from onthedot.workers.records import MOST_ASSIGNED
from tests.builders import World
from tests.unit.api.kit import SHELL, Api, PullWorker, a_worker, fields_of


@pytest.fixture
def worker(api: Api) -> PullWorker:
    return a_worker(api, resources={"slots": 10, "cpu": 4, "memory_mb": 4096})


def test_a_lease_has_the_secrets_of_the_target_and_its_signature(api: Api, worker: PullWorker) -> None:
    target = {"type": "http", "url": "https://example.com/", "method": "PUT", "headers": {"Authorization": "Bearer x"}}
    job_id = api.job(target=target, requirements={"capabilities": ["shell"]})
    run = worker.take()
    assert (run["target"], run["signature"]["webhook-id"]) == (target, job_id)


def test_a_recurring_jobs_run_is_leased_with_the_jobs_definition(api: Api, world: World, worker: PullWorker) -> None:
    job_id = api.job(target=SHELL, every=60, payload="p")
    world.clock.advance(60)
    run = worker.take()
    assert run["execution_id"].startswith(f"{job_id}.")
    assert (run["target"], run["payload"], run["signature"]) == (SHELL, "p", {})
    assert worker.complete(run).body["status"] == "SUCCEEDED"


def test_leased_kept_and_completed_a_run_succeeds_once(api: Api, world: World, worker: PullWorker) -> None:
    job_id = api.job(target=SHELL)
    run = worker.take()
    for _ in range(6):
        world.clock.advance(10)
        kept = worker.keep(run)
        assert kept.status == 200
    assert kept.body == {
        "execution_id": job_id,
        "attempt": 1,
        "lease_until": "2026-03-01T12:01:30.000Z",
        "cancel_requested": False,
    }
    done = worker.complete(run, result={"n": [1, "ü"]})
    assert (done.status, done.body["status"], done.body["result"]) == (200, "SUCCEEDED", '{"n":[1,"ü"]}')
    assert done.body["worker"] == worker.worker_id
    assert api.outcomes(job_id) == ["succeeded"]
    world.clock.advance(120)
    assert worker.lease() == []


def test_a_run_that_lost_its_worker_is_leased_alone(api: Api, world: World, worker: PullWorker) -> None:
    job_id = api.job(target=SHELL)
    worker.take()
    worker.take_back()
    others = [api.job(target=SHELL, priority="LOW") for _ in range(2)]
    busy = worker.leased(max=5, idle=False, priorities=["MEDIUM"])
    assert (busy["runs"], busy["alone_waiting"]) == ([], True)
    world.clock.advance(2)
    idle = worker.leased(max=5, priorities=["MEDIUM", "LOW"])
    assert [(run["execution_id"], run["alone"]) for run in idle["runs"]] == [(job_id, True)]
    assert idle["alone_waiting"] is False
    worker.complete(idle["runs"][0])
    world.clock.advance(2)
    rest = worker.lease(max=5)
    assert sorted(run["execution_id"] for run in rest) == sorted(others)
    assert not any(run["alone"] for run in rest)


@pytest.mark.parametrize("how", ["silent", "told"])
def test_after_the_fifth_loss_a_run_has_failed_and_is_a_dead_letter(
    api: Api, world: World, worker: PullWorker, how: str
) -> None:
    job_id = api.job(target=SHELL, retry={"max_retries": 0})
    for attempt in range(1, 6):
        run = worker.take()
        assert (run["attempt"], run["alone"]) == (attempt, attempt > 1)
        if how == "told":
            worker.complete(run, "LOST", error="killed by signal 9")
        else:
            worker.take_back()
    run = api.execution(job_id)
    assert (run["status"], run["lost_attempts"]) == ("FAILED", 5)
    assert {attempt["error_class"] for attempt in run["attempts"]} == {"lost"}
    assert "5 attempts were lost" in run["reason"]
    assert api.get("/v1/dead-letters").body["dead_letters"] == [run]
    other = api.job(target=SHELL)
    assert worker.take()["execution_id"] == other


def test_priorities_are_looked_at_in_the_order_that_is_asked_for(api: Api, worker: PullWorker) -> None:
    jobs = {priority: api.job(target=SHELL, priority=priority) for priority in ("LOW", "MEDIUM", "HIGH")}
    assert [worker.take(priorities=["LOW", "HIGH"])["execution_id"] for _ in range(2)] == [jobs["LOW"], jobs["HIGH"]]
    assert worker.take()["execution_id"] == jobs["MEDIUM"]


def test_a_worker_gets_no_more_than_it_has_room_for(api: Api, world: World, worker: PullWorker) -> None:
    for _ in range(4):
        api.job(target=SHELL, requirements={"cpu": 1.5})
    assert len(worker.lease(max=10)) == 2
    world.clock.advance(2)
    assert worker.lease(max=10, free={"cpu": 1.4}) == []
    world.clock.advance(2)
    assert len(worker.lease(max=10, free={"cpu": -1e-17, "memory_mb": 5})) == 0
    world.clock.advance(2)
    assert len(worker.lease(max=1, free={"cpu": 3.0})) == 1


def test_a_worker_gets_only_what_it_can_do_and_only_of_its_tenant(api: Api, world: World) -> None:
    able = a_worker(api, "gpu")
    a_job = api.job(target=SHELL, requirements={"capabilities": ["gpu"]})
    assert a_worker(api).lease() == []
    stranger = a_worker(api.called_by("other"), "gpu")
    for _ in range(3):
        world.clock.advance(4)
        assert stranger.lease(max=10) == []
    world.clock.advance(4)
    assert able.take()["execution_id"] == a_job


@pytest.mark.parametrize("load", [{"stopping": True}, {"stopped": True}])
def test_a_worker_that_stops_gets_nothing_more(api: Api, worker: PullWorker, load: dict[str, Any]) -> None:
    api.job(target=SHELL)
    worker.beat(**load)
    assert worker.leased() == {"runs": [], "alone_waiting": False, "waited_ms": 0}
    worker.beat()
    assert len(worker.lease()) == 1


def test_anothers_run_answers_exactly_like_a_missing_one(api: Api, worker: PullWorker) -> None:
    api.job(target=SHELL)
    run = worker.take()
    stranger = PullWorker(api.called_by("other"), worker.worker_id)
    missing = {**run, "execution_id": "job_missing"}
    answers = [stranger.keep(run), stranger.complete(run), worker.keep(missing), worker.complete(missing)]
    assert [answer.status for answer in answers] == [404] * 4
    assert all(answer.body == answers[0].body for answer in answers)
    assert worker.complete(run).body["attempts"][0]["outcome"] == "succeeded"


def test_a_run_whose_payload_cannot_be_read_is_tried_again_and_not_given(
    api: Api, world: World, worker: PullWorker
) -> None:
    job_id = api.job(target=SHELL, payload="x" * 5000, retry={"backoff_seconds": 1, "jitter": False})
    other = api.job(target=SHELL)
    with world.database.transaction() as connection:
        kept = connection.execute("SELECT * FROM blobs").fetchone()
        connection.execute("DELETE FROM blobs")
    assert [run["execution_id"] for run in worker.lease(max=10)] == [other]
    run = api.execution(job_id)
    assert (run["status"], run["attempts"][0]["error_class"]) == ("RETRYING", "unavailable")
    world.blobs.put(kept["key"], kept["content"])
    world.clock.advance(1)
    again = worker.take()
    assert (again["attempt"], again["payload"]) == (2, "x" * 5000)


def test_an_answer_is_no_larger_than_a_gateway_lets_through(api: Api, world: World, worker: PullWorker) -> None:
    jobs = {api.job(target=SHELL, payload=f"{n}" + "x" * 900_000) for n in range(3)}
    taken: list[str] = []
    for _ in range(3):
        (run,) = worker.lease(max=10)
        taken.append(run["execution_id"])
        worker.complete(run)
        world.clock.advance(2)
    assert set(taken) == jobs
    assert all(api.execution(job_id)["lost_attempts"] == 0 for job_id in jobs)


def test_a_job_is_handed_to_one_worker_by_name(api: Api, worker: PullWorker) -> None:
    other = a_worker(api)
    job_id = api.job(target=SHELL)
    response = api.send("POST", f"/v1/jobs/{job_id}/execute", worker_id=other.worker_id)
    assert (response.status, response.body["execution_id"]) == (202, job_id)
    assert worker.lease(max=10) == []
    run = other.take()
    assert (run["execution_id"], run["receipt"]) == (job_id, None)
    assert other.keep(run).status == 200
    assert other.complete(run).body["status"] == "SUCCEEDED"


def test_a_recurring_job_is_handed_over_as_an_extra_run(api: Api, worker: PullWorker) -> None:
    job_id = api.job(every=3600)
    response = api.send("POST", f"/v1/jobs/{job_id}/execute", worker_id=worker.worker_id)
    assert (response.status, response.body["trigger"], response.body["pool"]) == (202, "manual", "pull")
    assert worker.take()["execution_id"] == response.body["execution_id"]


def test_what_cannot_be_handed_over_is_refused(api: Api, world: World, worker: PullWorker) -> None:
    def execute(job_id: str, **fields: Any) -> Any:
        return api.send("POST", f"/v1/jobs/{job_id}/execute", **fields)

    job_id = api.job(target=SHELL, delay=3600)
    unable = api.job(delay=3600, timeout_seconds=100, requirements={"capabilities": ["aws"]})
    assert fields_of(execute(unable, worker_id=worker.worker_id)) == {"worker_id"}
    assert fields_of(execute(job_id)) == {"worker_id"}
    assert fields_of(execute(job_id, worker_id="a b")) == {"worker_id"}
    assert fields_of(execute(job_id, worker_id=None)) == {"worker_id"}
    assert execute(job_id, worker_id="missing").status == 404
    assert execute("job_missing", worker_id=worker.worker_id).status == 404
    world.clock.advance(60)
    assert execute(job_id, worker_id=worker.worker_id).body["error"]["code"] == "conflict"


def test_a_worker_is_handed_no_more_by_name_than_it_may_have_waiting(api: Api, worker: PullWorker) -> None:
    job_id = api.job(every=3600)
    answers = [
        api.send("POST", f"/v1/jobs/{job_id}/execute", worker_id=worker.worker_id) for _ in range(MOST_ASSIGNED + 1)
    ]
    assert [answer.status for answer in answers] == [202] * MOST_ASSIGNED + [409]
    worker.take()
    assert api.send("POST", f"/v1/jobs/{job_id}/execute", worker_id=worker.worker_id).status == 202


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"max": 0}, "max"),
        ({"max": 11}, "max"),
        ({"max": None}, "max"),
        ({"priorities": []}, "priorities"),
        ({"priorities": ["URGENT"]}, "priorities.0"),
        ({"priorities": ["LOW"] * 4}, "priorities"),
        ({"free": {"slots": 1}}, "free.slots"),
        ({"idle": 1}, "idle"),
        ({"wait": 1}, "wait"),
    ],
)
def test_a_bad_wish_is_refused_by_name(api: Api, worker: PullWorker, fields: dict[str, Any], name: str) -> None:
    response = api.send("POST", f"/v1/workers/{worker.worker_id}/lease", **fields)
    assert (response.status, fields_of(response)) == (422, {name})


def test_a_job_that_is_not_due_is_run_beside_its_own_time(api: Api, worker: PullWorker) -> None:
    job_id = api.job(target=SHELL, delay=3600)
    response = api.send("POST", f"/v1/jobs/{job_id}/execute", worker_id=worker.worker_id)
    assert (response.status, response.body["trigger"]) == (202, "manual")
    run = worker.take()
    assert run["execution_id"] == response.body["execution_id"] != job_id
    assert api.get(f"/v1/jobs/{job_id}/status").body["status"] == "PENDING", "never early"

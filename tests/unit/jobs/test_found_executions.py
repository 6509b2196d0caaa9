"""Executions found by job, worker and status: on pages with a bounded number of reads, each tenant's its own."""

from typing import Any
from urllib.parse import parse_qsl

import pytest

from onthedot.core.ports import Answer
from onthedot.core.send import message_for
from onthedot.core.start import Started, start_run
from onthedot.jobs import find_runs, run_pages
from tests.builders import World
from tests.scenarios.kits.simulation import Simulation
from tests.unit.api.kit import SHELL, Api, PullWorker, a_worker

NO_RETRY = {"max_retries": 0}


def found(api: Api, query: str, limit: int = 100) -> list[dict[str, Any]]:
    """The executions of all pages."""
    pages = api.pages("/v1/executions", "executions", limit=limit, **dict(parse_qsl(query)))
    assert all(len(page) <= limit for page in pages)
    return [run for page in pages for run in page]


def ids(runs: list[dict[str, Any]]) -> list[str]:
    return [run["execution_id"] for run in runs]


def shell_jobs(api: Api, count: int, **fields: Any) -> list[str]:
    return [api.job(target=SHELL, **fields) for _ in range(count)]


def test_the_runs_of_a_job_are_those_of_its_own_list(api: Api, world: World) -> None:
    job_id = api.job(every=60, name="nightly", retry=NO_RETRY)
    Simulation(world, [Answer(ok=False, error="boom"), Answer(ok=True)]).let_pass(150)
    runs = found(api, f"job_id={job_id}", limit=2)
    assert runs == api.get(f"/v1/jobs/{job_id}/executions?limit=100").body["executions"]
    assert {run["name"] for run in runs} == {"nightly"}
    (failed,) = found(api, f"job_id={job_id}&status=FAILED")
    assert failed == api.get(f"/v1/executions/{failed['execution_id']}").body
    assert failed["target"] == "POST https://example.com/hook"


def test_the_own_run_of_a_one_off_job_is_found_by_its_status(api: Api) -> None:
    (job_id,) = shell_jobs(api, 1)
    assert ids(found(api, f"job_id={job_id}&status=DISPATCHED")) == [job_id]
    assert found(api, f"job_id={job_id}&status=SUCCEEDED") == []
    worker = a_worker(api)
    worker.complete(worker.take(), "FAILED")
    assert found(api, f"job_id={job_id}&status=RETRYING")[0]["status"] == "RETRYING"


def test_a_page_of_a_rare_status_reads_a_bounded_number_of_runs(
    api: Api, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_pages, "CHUNK", 4)
    monkeypatch.setattr("onthedot.jobs.find_runs.CHUNK", 4)
    job_id = api.job(every=1, max_runs=60, retry=NO_RETRY)
    Simulation(world, [Answer(ok=False, error="boom")]).let_pass(90)
    first = api.get(f"/v1/executions?job_id={job_id}&status=FAILED").body
    assert (first["executions"], first["next_cursor"] is None) == ([], False), "the failed one is the oldest"
    assert len(found(api, f"job_id={job_id}&status=FAILED")) == 1
    assert len(found(api, f"job_id={job_id}&status=SUCCEEDED", limit=3)) == 59


def test_a_missing_job_and_that_of_another_tenant_are_not_found(api: Api) -> None:
    job_id = api.job(delay=60)
    assert api.get("/v1/executions?job_id=job_none").status == 404
    assert api.called_by("other").get(f"/v1/executions?job_id={job_id}").status == 404
    assert api.get("/v1/executions?worker_id=worker_none").status == 404


def test_a_worker_has_its_running_and_its_ended_runs(api: Api, world: World) -> None:
    worker = a_worker(api, resources={"slots": 10})
    jobs = shell_jobs(api, 3)
    runs = worker.lease(max=3)
    worker.beat(running=[run["execution_id"] for run in runs])
    query = f"worker_id={worker.worker_id}"
    assert set(ids(found(api, query))) == set(jobs)
    assert set(ids(found(api, f"{query}&status=RUNNING", limit=1))) == set(jobs)
    worker.complete(runs[0])
    world.clock.advance(1)
    worker.beat(running=[run["execution_id"] for run in runs[1:]])
    listed = found(api, query, limit=1)
    assert ids(listed)[2] == runs[0]["execution_id"], "ended runs come after running ones"
    assert ids(found(api, f"{query}&status=SUCCEEDED")) == [runs[0]["execution_id"]]
    assert ids(found(api, f"{query}&job_id={jobs[1]}")) == [jobs[1]]
    assert api.get(f"/v1/workers/{worker.worker_id}").body["recent"] == 1


def test_a_worker_that_names_no_runs_has_those_that_it_runs_now(api: Api) -> None:
    worker, other = a_worker(api, resources={"slots": 10}), a_worker(api)
    shell_jobs(api, 4)
    runs = worker.lease(max=3)
    other.take()
    worker.complete(runs[0])
    running = sorted(run["execution_id"] for run in runs[1:])
    query = f"worker_id={worker.worker_id}"
    for limit in (1, 100):
        assert sorted(ids(found(api, query, limit))) == running
        assert sorted(ids(found(api, f"{query}&status=RUNNING", limit))) == running
    assert ids(found(api, f"{query}&job_id={running[0]}")) == [running[0]]
    assert found(api, f"{query}&status=SUCCEEDED") == [], "only its heartbeats name ended runs"


def test_runs_since_the_last_heartbeat_are_among_those_that_run_now(api: Api) -> None:
    worker = a_worker(api, resources={"slots": 10})
    shell_jobs(api, 2)
    first = worker.take(max=1)["execution_id"]
    worker.beat(running=[first])
    second = worker.take(max=1)["execution_id"]
    query = f"worker_id={worker.worker_id}"
    assert ids(found(api, query)) == [first]
    assert sorted(ids(found(api, f"{query}&status=RUNNING"))) == sorted([first, second])


def test_a_cursor_goes_on_in_its_own_list_when_a_heartbeat_comes(api: Api) -> None:
    worker = a_worker(api, resources={"slots": 10})
    jobs = shell_jobs(api, 3)
    worker.lease(max=3)
    path = f"/v1/executions?worker_id={worker.worker_id}&limit=2"
    first = api.get(path).body
    worker.beat(running=jobs)
    rest = api.get(f"{path}&cursor={first['next_cursor']}").body
    assert sorted(ids([*first["executions"], *rest["executions"]])) == sorted(jobs)


@pytest.mark.parametrize("worker_id", ["serve-12-0a1b2c3d", "lambda-0a1b2c3d"])
def test_a_worker_that_does_not_register_has_what_it_runs_now(api: Api, world: World, worker_id: str) -> None:
    query = f"worker_id={worker_id}"
    assert found(api, query) == []
    job_id = api.job()
    run = world.store.get(job_id)
    assert run is not None
    started = start_run(world.engine, message_for(run), worker_id)
    assert isinstance(started, Started)
    assert ids(found(api, query)) == [job_id]
    assert found(api.called_by("other"), query) == []
    assert found(api, f"{query}&status=FAILED") == []


def test_a_run_between_two_heartbeats_is_named_by_the_second(api: Api) -> None:
    worker = a_worker(api)
    (job_id,) = shell_jobs(api, 1)
    worker.complete(worker.take())
    query = f"worker_id={worker.worker_id}"
    assert found(api, query) == []
    worker.beat(ended=[job_id])
    worker.beat(ended=[job_id])
    assert ids(found(api, query)) == [job_id]
    api.send("POST", "/v1/workers/register", worker_id=worker.worker_id)
    assert ids(found(api, query)) == [job_id], "a worker that registers again keeps its runs"


def test_a_worker_cannot_claim_the_runs_of_others(api: Api) -> None:
    worker, other = a_worker(api), a_worker(api)
    shell_jobs(api, 1)
    worker.complete(worker.take())
    other.beat(ended=[job["job_id"] for job in api.get("/v1/jobs").body["jobs"]], running=["job_none"])
    assert found(api, f"worker_id={other.worker_id}") == []


def test_the_latest_hundred_of_a_worker_are_kept(api: Api, world: World) -> None:
    worker = a_worker(api, resources={"slots": 10})
    done: list[str] = []
    for _ in range(12):
        shell_jobs(api, 10)
        for run in worker.lease(max=10):
            worker.complete(run)
            done.append(run["execution_id"])
        world.clock.advance(1)
        worker.beat(ended=done[-10:][::-1])
    assert set(ids(found(api, f"worker_id={worker.worker_id}", limit=7))) == set(done[-100:])


def test_runs_that_run_now(api: Api) -> None:
    worker = a_worker(api, resources={"slots": 100})
    jobs = shell_jobs(api, 7)
    api.job(delay=5)
    shell_jobs(api.called_by("other"), 2)
    a_worker(api.called_by("other")).lease(max=2)
    running = {run["execution_id"] for run in worker.lease(max=5)}
    assert len(running) == 5
    for limit in (1, 2, 100):
        assert sorted(ids(found(api, "status=RUNNING", limit))) == sorted(running)
    assert running < set(jobs)


def test_a_long_run_is_found_while_it_runs(api: Api, world: World) -> None:
    worker = a_worker(api)
    (job_id,) = shell_jobs(api, 1, timeout_seconds=3_600)
    run = worker.take()
    simulation = Simulation(world)
    for _ in range(12):
        simulation.let_pass(20)
        worker.beat(running=[job_id])
        assert worker.keep(run).status == 200
        assert ids(found(api, "status=RUNNING")) == [job_id]
    worker.complete(run)
    assert found(api, "status=RUNNING") == []


def test_many_waiting_runs_do_not_make_a_page_of_running_runs_long(
    api: Api, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find_runs, "CHUNK", 3)
    monkeypatch.setattr(find_runs, "SLOT_PAGE", 2)
    worker: PullWorker = a_worker(api, resources={"slots": 100})
    shell_jobs(api, 40)
    world.clock.advance(1)
    running = [run["execution_id"] for _ in range(3) for run in worker.lease(max=5)]
    assert sorted(ids(found(api, "status=RUNNING", 4))) == sorted(running)


def test_failed_runs_are_the_dead_letters(api: Api, world: World) -> None:
    worker = a_worker(api)
    jobs = []
    for _ in range(3):
        jobs += shell_jobs(api, 1, retry=NO_RETRY)
        worker.complete(worker.take(), "FAILED")
        world.clock.advance(1)
    assert ids(found(api, "status=FAILED", 2)) == jobs[::-1]
    assert found(api.called_by("other"), "status=FAILED") == []

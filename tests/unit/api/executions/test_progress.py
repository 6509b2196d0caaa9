"""A heartbeat brings a report about progress, and all views of an execution show it."""

from collections.abc import Iterator
from typing import Any

import pytest

from onthedot.client.answers import Execution, Progress
from onthedot.client.values import read_answer
from tests.builders import World, a_world
from tests.unit.api.kit import SHELL, Api, PullWorker, a_worker, fields_of


@pytest.fixture
def world() -> Iterator[World]:
    with a_world() as world:
        yield world


@pytest.fixture
def api(world: World) -> Api:
    return Api(world)


@pytest.fixture
def worker(api: Api) -> PullWorker:
    return a_worker(api, resources={"concurrency": 10, "cpu": 4, "memory_mb": 4096})


def views_of(api: Api, job_id: str) -> list[dict[str, Any]]:
    listed = api.get(f"/v1/jobs/{job_id}/executions").body["executions"]
    return [api.execution(listed[0]["execution_id"]), *listed[:1]]


def test_a_running_execution_shows_progress_deadline_and_how_long_it_runs(
    api: Api, world: World, worker: PullWorker
) -> None:
    job_id = api.job(target=SHELL, timeout_seconds=90)
    assert [(view["progress"], view["deadline"], view["running_ms"]) for view in views_of(api, job_id)] == [
        (None, None, None)
    ] * 2
    run = worker.take()
    world.clock.advance(10)
    assert worker.keep(run, progress={"fraction": 0.42, "text": "rows 420 of 1,000"}).status == 200
    world.clock.advance(5)
    for view in views_of(api, job_id):
        assert view["progress"] == {"fraction": 0.42, "text": "rows 420 of 1,000", "at": "2026-03-01T12:00:10.000Z"}
        assert (view["deadline"], view["running_ms"]) == ("2026-03-01T12:01:30.000Z", 15_000)
    typed = read_answer(Execution, api.execution(job_id))
    assert typed.progress == Progress(fraction=0.42, text="rows 420 of 1,000", at=typed.progress.at)  # type: ignore[union-attr]
    assert (typed.running_ms, str(typed.deadline)) == (15_000, "2026-03-01 12:01:30+00:00")


def test_a_run_of_a_recurring_job_has_the_time_out_with_which_it_started(
    api: Api, world: World, worker: PullWorker
) -> None:
    job_id = api.job(target=SHELL, every=3600, timeout_seconds=90)
    run_id = api.send("POST", f"/v1/jobs/{job_id}/run").body["execution_id"]
    assert worker.take()["execution_id"] == run_id
    assert api.send("PATCH", f"/v1/jobs/{job_id}", timeout_seconds=30).status == 200
    view = api.execution(run_id)
    assert (view["started_at"], view["deadline"]) == ("2026-03-01T12:00:00.000Z", "2026-03-01T12:01:30.000Z")


def test_the_next_attempt_begins_without_progress_and_a_success_needs_none(
    api: Api, world: World, worker: PullWorker
) -> None:
    job_id = api.job(target=SHELL, retry={"backoff_seconds": 1, "jitter": False})
    run = worker.take()
    worker.keep(run, progress={"text": "half of it"})
    worker.complete(run, "FAILED", error="no")
    assert api.execution(job_id)["progress"]["text"] == "half of it", "how far the failed attempt came"
    world.clock.advance(1)
    run = worker.take()
    assert api.execution(job_id)["progress"] is None
    worker.keep(run, progress={"fraction": 0.9})
    assert api.execution(job_id)["progress"]["fraction"] == 0.9
    worker.complete(run)
    view = api.execution(job_id)
    assert (view["status"], view["progress"], view["deadline"], view["running_ms"]) == ("SUCCEEDED", None, None, None)


def test_a_dead_letter_shows_how_far_it_came(api: Api, worker: PullWorker) -> None:
    api.job(target=SHELL, retry={"max_retries": 0})
    run = worker.take()
    worker.keep(run, progress={"fraction": 0.5, "text": None})
    worker.complete(run, "FAILED", error="no")
    [dead] = api.get("/v1/dead-letters").body["dead_letters"]
    assert (dead["progress"]["fraction"], dead["progress"]["text"], dead["running_ms"]) == (0.5, None, None)


@pytest.mark.parametrize(
    ("progress", "field"),
    [
        ({"fraction": 1.01}, "progress.fraction"),
        ({"fraction": -0.1}, "progress.fraction"),
        ({"fraction": "half"}, "progress.fraction"),
        ({"text": "x" * 201}, "progress.text"),
        ({"text": "a\nb"}, "progress.text"),
        ({"done": 1}, "progress.done"),
        ({}, "progress"),
        ({"fraction": None, "text": ""}, "progress"),
        (0.5, "progress"),
    ],
)
def test_a_report_that_is_none_is_refused_by_name_and_extends_nothing(
    api: Api, world: World, worker: PullWorker, progress: Any, field: str
) -> None:
    job_id = api.job(target=SHELL)
    run = worker.take()
    before = world.store.get(job_id)
    world.clock.advance(10)
    response = worker.keep(run, progress=progress)
    assert (response.status, fields_of(response)) == (422, {field})
    assert world.store.get(job_id) == before


def test_null_is_no_report(api: Api, worker: PullWorker) -> None:
    job_id = api.job(target=SHELL)
    run = worker.take()
    assert worker.keep(run, progress=None).status == 200
    assert api.execution(job_id)["progress"] is None


def test_a_lease_says_when_the_attempt_started(api: Api, worker: PullWorker) -> None:
    api.job(target=SHELL)
    assert worker.take()["started_at"] == "2026-03-01T12:00:00.000Z"

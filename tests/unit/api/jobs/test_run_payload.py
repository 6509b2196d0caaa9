"""A run beside the schedule may have a payload of its own."""

from collections.abc import Iterator
from typing import Any

import pytest

from onthedot.api.http import Response
from tests.builders import World, a_world
from tests.unit.api.kit import SHELL, Api, PullWorker, a_worker, fields_of

LARGE = {"text": "é" * 3000}


@pytest.fixture
def world() -> Iterator[World]:
    with a_world() as world:
        yield world


@pytest.fixture
def api(world: World) -> Api:
    return Api(world)


@pytest.fixture
def worker(api: Api) -> PullWorker:
    return a_worker(api)


def run(api: Api, job_id: str, **fields: Any) -> Response:
    return api.send("POST", f"/v1/jobs/{job_id}/run", **fields)


def recurring(api: Api) -> str:
    return api.job(target=SHELL, every=86_400, payload={"of": "the job"})


@pytest.mark.parametrize("payload", [{"of": "this run"}, [], 0, "", False, LARGE])
def test_a_run_gets_its_payload_and_the_next_one_that_of_the_job(api: Api, worker: PullWorker, payload: Any) -> None:
    job_id = recurring(api)
    response = run(api, job_id, payload=payload)
    assert response.status == 202, response.body
    leased = worker.take()
    assert (leased["execution_id"], leased["payload"]) == (response.body["execution_id"], payload)
    worker.complete(leased)
    run(api, job_id)
    assert worker.take()["payload"] == {"of": "the job"}
    assert api.get(f"/v1/jobs/{job_id}").body["payload"] == {"of": "the job"}


def test_null_is_a_payload(api: Api, worker: PullWorker) -> None:
    run(api, recurring(api), payload=None)
    assert worker.take()["payload"] is None


def test_a_one_off_job_is_run_with_another_payload_before_its_time(api: Api, worker: PullWorker) -> None:
    run(api, api.job(target=SHELL, delay=3600, payload=1), payload=2)
    assert worker.take()["payload"] == 2


def test_a_retry_gets_the_payload_of_its_run(api: Api, world: World, worker: PullWorker) -> None:
    job_id = api.job(target=SHELL, every=86_400, retry={"backoff_seconds": 1, "jitter": False})
    run(api, job_id, payload=LARGE)
    worker.complete(worker.take(), "FAILED", error="boom")
    world.clock.advance(1)
    again = worker.take()
    assert (again["attempt"], again["payload"]) == (2, LARGE)


def test_an_unknown_field_is_refused_by_name(api: Api) -> None:
    response = run(api, recurring(api), paylod=1)
    assert (response.status, fields_of(response)) == (422, {"paylod"})


def test_a_payload_that_is_too_large_is_refused_and_nothing_runs(api: Api, worker: PullWorker) -> None:
    assert run(api, recurring(api), payload="x" * (1024 * 1024)).status == 413
    assert worker.lease() == []


def test_a_workflow_takes_no_payload(api: Api) -> None:
    body: dict[str, Any] = {"jobs": [{"key": "a", "callback_url": "https://example.com/a"}]}
    workflow_id = api.send("POST", "/v1/workflows", **body).body["workflow_id"]
    response = run(api, workflow_id, payload=1)
    assert (response.status, fields_of(response)) == (422, {"payload"})
    assert run(api, workflow_id).status == 202

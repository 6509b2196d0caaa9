"""A job's runs: newest first, page by page, with skipped times, progress and links to what is large."""

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onthedot.client.answers import Execution, Progress
from onthedot.client.values import read_answer
from tests.builders import World, a_world
from tests.scenarios.kits.simulation import Simulation
from tests.unit.api.kit import SHELL, Api, PullWorker, a_worker, fields_of


def pages(api: Api, job_id: str, limit: int) -> list[list[dict[str, Any]]]:
    return api.pages(f"/v1/jobs/{job_id}/executions", "executions", limit=limit)


@pytest.mark.parametrize("limit", [1, 3, 7, 100])
def test_all_runs_are_listed_once_newest_first(api: Api, limit: int) -> None:
    job_id = api.job(every=30, max_runs=7)
    listed = pages(api, job_id, limit)
    assert all(0 < len(page) <= limit for page in listed)
    times = [run["fire_time"] for page in listed for run in page]
    assert times == sorted(times, reverse=True)
    assert len(set(times)) == 7


def test_a_skipped_range_is_shown_as_one(api: Api, world: World) -> None:
    job_id = api.job(every=3600, misfire={"policy": "skip"})
    world.clock.advance(6 * 3600 + 120)
    simulation = Simulation(world)
    simulation.plan_ticks()
    simulation.let_pass(1)
    (skipped,) = api.get(f"/v1/jobs/{job_id}/executions").body["executions"]
    assert skipped == {
        "execution_id": f"{job_id}.001772370000000-skipped",
        "job_id": job_id,
        "name": None,
        "target": "POST https://example.com/hook",
        "status": "SKIPPED",
        "fire_time": "2026-03-01T13:00:00.000Z",
        "until": "2026-03-01T18:00:00.000Z",
        "count": 6,
        "reason": skipped["reason"],
    }
    assert "misfire" in skipped["reason"]
    assert api.get(f"/v1/executions/{skipped['execution_id']}").body == skipped


def test_a_caught_up_run_is_the_schedules(api: Api, world: World) -> None:
    job_id = api.job(every=3600, misfire={"policy": "run_all"})
    world.clock.advance(2 * 3600 + 120)
    simulation = Simulation(world)
    simulation.plan_ticks()
    simulation.let_pass(1)
    runs = api.get(f"/v1/jobs/{job_id}/executions").body["executions"]
    assert [(run["status"], run["trigger"]) for run in runs] == [("SUCCEEDED", "schedule")] * 2


def test_a_one_off_job_lists_its_own_run_and_those_on_demand(api: Api, world: World) -> None:
    job_id = api.job()
    for _ in range(3):
        world.clock.advance(10)
        api.call("POST", f"/v1/jobs/{job_id}/run")
    (whole,) = pages(api, job_id, 20)
    assert [run["trigger"] for run in whole] == ["manual", "manual", "manual", "schedule"]
    assert whole[-1]["execution_id"] == job_id
    one_by_one = [run["execution_id"] for page in pages(api, job_id, 1) for run in page]
    assert sorted(one_by_one) == sorted(run["execution_id"] for run in whole)


def test_a_recurring_job_is_no_execution(api: Api) -> None:
    assert api.get(f"/v1/executions/{api.job(every=60)}").status == 404


def test_anothers_run_answers_exactly_like_a_missing_one(api: Api) -> None:
    job_id = api.job(every=60)
    run_id = api.get(f"/v1/jobs/{job_id}/executions").body["executions"][0]["execution_id"]
    anothers = api.called_by("other").get(f"/v1/executions/{run_id}")
    missing = api.get(f"/v1/executions/{job_id}.000000000000001")
    odd = api.get(f"/v1/executions/{job_id}.")
    assert anothers.status == missing.status == odd.status == 404
    assert anothers.body == missing.body == odd.body


def test_a_cursor_is_good_for_its_job_only(api: Api) -> None:
    one, other = api.job(every=60), api.job(every=60)
    cursor = api.get(f"/v1/jobs/{one}/executions?limit=1").body["next_cursor"]
    assert api.get(f"/v1/jobs/{one}/executions?cursor={cursor}").status == 200
    response = api.get(f"/v1/jobs/{other}/executions?cursor={cursor}")
    assert (response.status, fields_of(response)) == (422, {"cursor"})


@pytest.mark.parametrize("cursor", ["", "x", "=", "%00", "ü", "A" * 5000, "zzzz", base64.b64encode(b"job_z").decode()])
def test_a_garbage_cursor_is_refused_by_name(api: Api, cursor: str) -> None:
    response = api.get(f"/v1/jobs/{api.job(every=60)}/executions?cursor={cursor}")
    assert (response.status, fields_of(response)) == (422, {"cursor"})


@given(flipped=st.integers(0, 500), bit=st.integers(1, 255))
def test_a_cursor_that_was_tampered_with_reads_nothing(flipped: int, bit: int) -> None:
    with a_world() as world:
        api = Api(world)
        job_id = api.job(every=60)
        cursor = api.get(f"/v1/jobs/{job_id}/executions?limit=1").body["next_cursor"]
        raw = bytearray(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        raw[flipped % len(raw)] ^= bit
        forged = base64.urlsafe_b64encode(raw).decode().rstrip("=")
        assert api.get(f"/v1/jobs/{job_id}/executions?cursor={forged}").status == 422


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


LONG = "x" * 5000


class LinkedBlobs:
    """Blobs that can be linked to; of them only payloads are read."""

    def __init__(self, world: World) -> None:
        self._blobs = world.blobs
        self.linked: list[str] = []

    def put(self, key: str, content: bytes) -> None:
        self._blobs.put(key, content)

    def get(self, key: str) -> bytes | None:
        assert key.startswith("payloads/"), f"{key} was read"
        return self._blobs.get(key)

    def link(self, key: str, seconds: int) -> str | None:
        self.linked.append(key)
        return f"https://blobs.example/{key}?for={seconds}"


def with_links(world: World, path: str) -> tuple[Any, LinkedBlobs]:
    blobs = LinkedBlobs(world)
    return Api(world).on(blobs=blobs).get(path).body, blobs


def a_finished_job(api: Api, result: Any, **fields: Any) -> str:
    job_id = api.job(target=SHELL, **fields)
    worker = a_worker(api)
    assert worker.complete(worker.take(), result=result).status == 200
    return job_id


def test_a_large_payload_is_shown_and_has_a_link(api: Api, world: World) -> None:
    shown, _ = with_links(world, f"/v1/jobs/{api.job(payload=LONG)}")
    assert shown["payload"] == LONG
    assert shown["payload_url"].startswith("https://blobs.example/payloads/")
    assert shown["payload_url"].endswith("for=900")


@pytest.mark.parametrize("path", ["/v1/executions/{}", "/v1/jobs/{}"])
def test_a_long_result_is_shown_by_a_link(api: Api, world: World, path: str) -> None:
    shown, _ = with_links(world, path.format(a_finished_job(api, LONG)))
    assert shown["result"] is None
    assert shown["result_url"].startswith("https://blobs.example/results/")


def test_each_of_a_jobs_executions_has_its_link(api: Api, world: World) -> None:
    job_id = a_finished_job(api, LONG)
    shown, _ = with_links(world, f"/v1/jobs/{job_id}/executions")
    assert shown["executions"][0]["result_url"] is not None


@pytest.mark.parametrize("path", ["/v1/executions/{}", "/v1/jobs/{}", "/v1/jobs/{}/executions", "/v1/dead-letters"])
def test_what_is_short_stands_in_the_answer_and_no_link_is_made(api: Api, world: World, path: str) -> None:
    _, blobs = with_links(world, path.format(a_finished_job(api, "short", payload=1)))
    assert blobs.linked == []


def test_a_result_that_is_gone_is_none(api: Api, world: World) -> None:
    job_id = a_finished_job(api, LONG)
    with world.database.transaction() as connection:
        connection.execute("DELETE FROM blobs")
    assert api.get(f"/v1/executions/{job_id}").body["result"] is None

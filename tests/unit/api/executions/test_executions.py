"""A job's runs: newest first, page by page, with what became of each; skipped times included."""

import base64
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onthedot.core.ports import Answer
from onthedot.core.traces import trace_id_of
from tests.builders import World, a_world
from tests.scenarios.kits.simulation import Simulation
from tests.unit.api.kit import Api, fields_of


@pytest.fixture
def world() -> Iterator[World]:
    with a_world() as world:
        yield world


@pytest.fixture
def api(world: World) -> Api:
    return Api(world)


def pages(api: Api, job_id: str, limit: int) -> Iterator[list[dict[str, Any]]]:
    cursor = ""
    while True:
        page = api.get(f"/v1/jobs/{job_id}/executions?limit={limit}{cursor}")
        assert page.status == 200
        yield page.body["executions"]
        if page.body["next_cursor"] is None:
            return
        cursor = f"&cursor={page.body['next_cursor']}"


@pytest.mark.parametrize("limit", [1, 3, 7, 100])
def test_all_runs_are_listed_once_newest_first(api: Api, limit: int) -> None:
    job_id = api.job(every=30, max_runs=7)
    listed = list(pages(api, job_id, limit))
    assert all(0 < len(page) <= limit for page in listed)
    times = [run["fire_time"] for page in listed for run in page]
    assert times == sorted(times, reverse=True)
    assert len(set(times)) == 7


def test_a_run_tells_its_story(api: Api, world: World) -> None:
    job_id = api.job(every=60, retry={"jitter": False}, payload=1)
    simulation = Simulation(world, [Answer(ok=False, error="boom")])
    simulation.let_pass(63)
    (run,) = [run for run in api.get(f"/v1/jobs/{job_id}/executions").body["executions"] if run["attempts"]]
    assert run == {
        "execution_id": f"{job_id}.001772366460000",
        "job_id": job_id,
        "name": None,
        "target": "POST https://example.com/hook",
        "status": "SUCCEEDED",
        "trigger": "schedule",
        "priority": "MEDIUM",
        "pool": "default",
        "fire_time": "2026-03-01T12:01:00.000Z",
        "next_fire_time": None,
        "started_at": "2026-03-01T12:01:02.000Z",
        "finished_at": "2026-03-01T12:01:02.000Z",
        "lateness_ms": 0,
        "running_ms": None,
        "deadline": None,
        "progress": None,
        "worker": "worker",
        "attempts": run["attempts"],
        "lost_attempts": 0,
        "error": None,
        "reason": None,
        "result": "fine",
        "result_url": None,
        "trace_id": trace_id_of(run["execution_id"], None),
    }
    assert [attempt["error"] for attempt in run["attempts"]] == ["boom", None]
    assert api.get(f"/v1/executions/{run['execution_id']}").body == run


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


def test_a_lone_run_is_one_page(api: Api) -> None:
    assert [len(page) for page in pages(api, api.job(), 1)] == [1]


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


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "limit=x", "limit=1.5", "limit=-1", "limit=", "limit=٣"])
def test_a_bad_limit_is_refused_by_name(api: Api, query: str) -> None:
    response = api.get(f"/v1/jobs/{api.job()}/executions?{query}")
    assert (response.status, fields_of(response)) == (422, {"limit"})


def test_an_unknown_parameter_is_refused_by_name(api: Api) -> None:
    response = api.get(f"/v1/jobs/{api.job()}/executions?colour=red")
    assert (response.status, fields_of(response)) == (422, {"colour"})


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

"""Runs that failed for good: listed with their cause, page by page, and run again; each tenant's its own."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.builders import World, a_world
from tests.unit.api.kit import SHELL, Api, a_worker, fields_of

NO_RETRY = {"max_retries": 0}


@pytest.fixture
def world() -> Iterator[World]:
    with a_world() as world:
        yield world


@pytest.fixture
def api(world: World) -> Api:
    return Api(world)


def failed_jobs(api: Api, count: int) -> list[str]:
    """Jobs that failed, one each second; the latest first."""
    worker = a_worker(api, resources={"slots": 10})
    ids: list[str] = []
    for number in range(count):
        ids.append(api.job(target=SHELL, retry=NO_RETRY))
        worker.complete(worker.take(), "FAILED", error=f"boom {number}", error_class="exit_1")
        api.world.clock.advance(1)
    return ids[::-1]


def dead(api: Api, query: str = "") -> Any:
    response = api.get(f"/v1/dead-letters{query}")
    assert response.status == 200, response.body
    return response.body


def listed(api: Api) -> list[str]:
    return [run["execution_id"] for run in dead(api)["dead_letters"]]


def redrive(api: Api, **fields: Any) -> Any:
    return api.send("POST", "/v1/dead-letters/redrive", **fields)


def redriven(count: int) -> dict[str, Any]:
    return {"redriven": count, "refused": [], "undecided": [], "left": False, "next_cursor": None}


def test_a_run_that_failed_for_good_is_listed_with_its_cause(api: Api) -> None:
    (job_id,) = failed_jobs(api, 1)
    (run,) = dead(api)["dead_letters"]
    assert (run["execution_id"], run["status"]) == (job_id, "FAILED")
    assert "boom 0" in run["reason"]
    assert [(attempt["error"], attempt["error_class"]) for attempt in run["attempts"]] == [("boom 0", "exit_1")]
    assert run == api.get(f"/v1/executions/{job_id}").body


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_all_are_listed_once_the_latest_first(api: Api, limit: int) -> None:
    expected = failed_jobs(api, 5)
    found: list[str] = []
    cursor = ""
    while True:
        page = dead(api, f"?limit={limit}{cursor}")
        assert len(page["dead_letters"]) <= limit
        found += [run["execution_id"] for run in page["dead_letters"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert found == expected


def test_a_cursor_is_good_for_its_tenant_only(api: Api) -> None:
    failed_jobs(api, 2)
    cursor = dead(api, "?limit=1")["next_cursor"]
    other = api.called_by("other").get(f"/v1/dead-letters?cursor={cursor}")
    assert (other.status, fields_of(other)) == (422, {"cursor"})


@pytest.mark.parametrize("cursor", ["", "x", "%7B%7D", "A" * 5000, "1/2"])
def test_a_garbage_cursor_is_refused_by_name(api: Api, cursor: str) -> None:
    response = api.get(f"/v1/dead-letters?cursor={cursor}")
    assert (response.status, fields_of(response)) == (422, {"cursor"})


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "colour=red"])
def test_a_bad_query_is_refused_by_name(api: Api, query: str) -> None:
    response = api.get(f"/v1/dead-letters?{query}")
    assert (response.status, fields_of(response)) == (422, {query.partition("=")[0]})


def test_one_is_run_again_and_is_no_dead_letter_any_more(api: Api) -> None:
    second, first = failed_jobs(api, 2)
    response = redrive(api, ids=[first])
    assert (response.status, response.body) == (202, redriven(1))
    assert listed(api) == [second]
    worker = a_worker(api)
    again = worker.take()
    assert (again["execution_id"], again["attempt"]) == (first, 2)
    run = worker.complete(again, result="fine").body
    assert [attempt["outcome"] for attempt in run["attempts"]] == ["failed", "succeeded"]


def test_a_redriven_run_may_fail_as_often_as_a_new_one(api: Api, world: World) -> None:
    worker = a_worker(api)
    job_id = api.job(target=SHELL, retry={"max_retries": 1, "backoff_seconds": 1, "jitter": False})
    for attempt in (1, 2):
        worker.complete(worker.take(), "FAILED", error=f"boom {attempt}")
        world.clock.advance(1)
    assert listed(api) == [job_id]
    redrive(api, ids=[job_id])
    assert worker.complete(worker.take(), "FAILED").body["status"] == "RETRYING"


def test_all_are_run_again_ten_a_second(api: Api, world: World) -> None:
    expected = failed_jobs(api, 12)
    assert redrive(api, all=True).body == redriven(12)
    assert listed(api) == []
    started: list[tuple[str, int]] = []
    begun = world.clock.now()
    worker = a_worker(api, resources={"slots": 20})
    while len(started) < 12:
        started += [(run["execution_id"], world.clock.now()) for run in worker.lease(max=10)]
        world.clock.advance(0.1)
    assert sorted(run_id for run_id, _ in started) == sorted(expected)
    assert max(at for _, at in started) - begun >= 1100


def test_unknown_and_foreign_and_living_ones_are_refused_by_id(api: Api) -> None:
    (mine,) = failed_jobs(api, 1)
    (theirs,) = failed_jobs(api.called_by("other"), 1)
    living = api.job(delay=3600)
    response = redrive(api, ids=[theirs, "job_missing", living, mine])
    assert response.status == 202
    assert response.body == {
        "redriven": 1,
        "refused": [
            {"id": theirs, "reason": "there is no such run"},
            {"id": "job_missing", "reason": "there is no such run"},
            {"id": living, "reason": "it is PENDING, not FAILED"},
        ],
        "undecided": [],
        "left": False,
        "next_cursor": None,
    }
    assert listed(api.called_by("other")) == [theirs]


def test_all_means_all_of_the_callers(api: Api) -> None:
    failed_jobs(api, 1)
    theirs = failed_jobs(api.called_by("other"), 1)
    assert redrive(api, all=True).body["redriven"] == 1
    assert listed(api.called_by("other")) == theirs


def test_nobody_sees_anothers_dead_letters(api: Api) -> None:
    failed_jobs(api, 1)
    assert dead(api.called_by("other")) == {"dead_letters": [], "next_cursor": None}


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({}, "ids"),
        ({"ids": ["a"], "all": True}, "ids"),
        ({"ids": []}, "ids"),
        ({"ids": ["x"] * 501}, "ids"),
        ({"ids": "job_x"}, "ids"),
        ({"ids": ["a b"]}, "ids.0"),
        ({"ids": None}, "ids"),
        ({"all": False}, "all"),
        ({"all": "yes"}, "all"),
        ({"every": True}, "every"),
    ],
)
def test_a_bad_redrive_is_refused_by_name(api: Api, fields: dict[str, Any], name: str) -> None:
    response = redrive(api, **fields)
    assert (response.status, fields_of(response)) == (422, {name})


def test_a_viewer_reads_dead_letters_and_runs_none_again(api: Api) -> None:
    (job_id,) = failed_jobs(api, 1)
    viewer = api.called_by(role="viewer")
    assert listed(viewer) == [job_id]
    assert redrive(viewer, all=True).status == 403

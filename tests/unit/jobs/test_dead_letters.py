"""Runs that failed for good: listed by filters, counted by cause, and exactly the chosen ones run again."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, quote

import pytest

from onthedot.api.http import Response
from onthedot.core.clock import format_instant
from onthedot.core.ports import Answer, Deadline, ReadRecords
from onthedot.jobs import dead_letters
from onthedot.jobs import redrive as redrives
from tests.builders import NOON, World
from tests.scenarios.kits.simulation import Simulation
from tests.unit.api.kit import SHELL, Api, PullWorker, a_worker, fields_of

NO_RETRY = {"max_retries": 0}


@pytest.fixture
def worker(api: Api) -> PullWorker:
    return a_worker(api, resources={"slots": 10})


def fail(worker: PullWorker, error: str = "boom", error_class: str | None = None, **fields: Any) -> str:
    """Return a job that failed now. A second passes."""
    job_id = worker.api.job(target=SHELL, retry=NO_RETRY, **fields)
    worker.complete(worker.take(), "FAILED", error=error, error_class=error_class)
    worker.api.world.clock.advance(1)
    return job_id


def dead(api: Api, query: str = "", limit: int = 100) -> list[str]:
    pages = api.pages("/v1/dead-letters", "dead_letters", limit=limit, **dict(parse_qsl(query)))
    return [run["execution_id"] for page in pages for run in page]


def causes(api: Api, query: str = "") -> Any:
    response = api.get(f"/v1/dead-letters?by=cause{query}")
    assert response.status == 200, response.body
    return response.body


def redrive(api: Api, **fields: Any) -> Any:
    response = api.send("POST", "/v1/dead-letters/redrive", **fields)
    assert response.status == 202, response.body
    return response.body


def at(seconds: int) -> str:
    return format_instant(NOON + seconds * 1000)


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_dead_letters_of_a_window(worker: PullWorker, limit: int) -> None:
    jobs = [fail(worker) for _ in range(5)]
    api = worker.api
    assert dead(api, f"from={at(1)}&to={at(3)}", limit) == [jobs[2], jobs[1]], "the end is not in it"
    assert dead(api, f"from={at(3)}", limit) == [jobs[4], jobs[3]]
    assert dead(api, f"to={NOON // 1000 + 1}", limit) == [jobs[0]], "epoch seconds"


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_dead_letters_by_name_job_and_cause(worker: PullWorker, limit: int) -> None:
    api = worker.api
    one, two = fail(worker, name="report-1"), fail(worker, "answered 503: x", "http_503", name="report-2")
    three = fail(worker)
    assert dead(api, "name=report", limit) == [two, one]
    assert dead(api, f"job_id={three}", limit) == [three]
    assert dead(api, f"cause={quote('HTTP 503')}", limit) == [two]
    assert dead(api, "name=report&cause=boom", limit) == [one]
    assert dead(api, "name=other", limit) == []


def test_a_run_of_a_recurring_job_has_the_name_of_its_job(worker: PullWorker) -> None:
    api = worker.api
    job_id = api.job(target=SHELL, every=86_400, name="nightly", retry=NO_RETRY)
    api.send("POST", f"/v1/jobs/{job_id}/run")
    worker.complete(worker.take(), "FAILED", error="boom")
    (run,) = api.get("/v1/dead-letters?name=night").body["dead_letters"]
    assert (run["name"], run["job_id"], run["target"][:6]) == ("nightly", job_id, "shell ")


def test_a_page_cut_inside_of_a_chunk_goes_on_when_its_last_run_was_redriven(worker: PullWorker) -> None:
    api = worker.api
    jobs = [fail(worker, name="a") for _ in range(4)][::-1]
    page = api.get("/v1/dead-letters?name=a&limit=2").body
    redrive(api, ids=[jobs[1]])
    rest = api.get(f"/v1/dead-letters?name=a&limit=2&cursor={page['next_cursor']}").body
    assert [run["execution_id"] for run in rest["dead_letters"]] == jobs[2:]


@pytest.mark.parametrize(
    "call",
    [
        lambda api: api.get("/v1/dead-letters?name=a"),
        lambda api: api.get("/v1/dead-letters?by=cause&name=a"),
        lambda api: api.send("POST", "/v1/dead-letters/redrive", name="a"),
    ],
)
def test_a_filter_by_name_hides_no_run_whose_job_cannot_be_read_now(
    api: Api, world: World, monkeypatch: pytest.MonkeyPatch, call: Callable[[Api], Response]
) -> None:
    job_id = api.job(every=60, name="a", retry=NO_RETRY)
    Simulation(world, [Answer(ok=False, error="boom", retryable=False)]).let_pass(100)
    get_many = world.store.get_many

    def without_the_job(run_ids: Sequence[str], deadline: Deadline) -> ReadRecords:
        read = get_many([run_id for run_id in run_ids if run_id != job_id], deadline)
        return replace(read, unread=frozenset(run_ids) & {job_id})

    monkeypatch.setattr(world.store, "get_many", without_the_job)
    assert call(api).status == 503
    assert len(api.get("/v1/dead-letters").body["dead_letters"]) == 1, "without the filter, its name is not needed"


def test_causes_are_counted_the_most_frequent_first(worker: PullWorker) -> None:
    api = worker.api
    first = fail(worker, "user 17 is unknown", name="mail")
    latest = fail(worker, "user 4711 is unknown")
    other = fail(worker, "answered 503", "http_503", name="report")
    assert causes(api) == {
        "from": at(0),
        "to": at(60),
        "causes": [
            {
                "cause": "user … is unknown",
                "count": 2,
                "latest": at(1),
                "oldest": at(0),
                "successes_since": 0,
                "job_id": latest,
                "name": None,
                "jobs": 2,
                "execution_id": latest,
                "over_time": in_parts({0: 2}),
            },
            {
                "cause": "HTTP 503",
                "count": 1,
                "latest": at(2),
                "oldest": at(2),
                "successes_since": 0,
                "job_id": other,
                "name": "report",
                "jobs": 1,
                "execution_id": other,
                "over_time": in_parts({0: 1}),
            },
        ],
        "truncated": False,
    }
    assert [one["job_id"] for one in causes(api, f"&to={at(1)}")["causes"]] == [first]
    assert causes(api, "&limit=1")["truncated"] is True
    nothing = causes(api.called_by("other"))
    assert (nothing["causes"], nothing["truncated"], nothing["from"]) == ([], False, nothing["to"])


def in_parts(counts: dict[int, int]) -> list[int]:
    return [counts.get(part, 0) for part in range(24)]


def test_failures_over_time_are_counted_in_the_window_of_the_filter(worker: PullWorker) -> None:
    for _ in range(2):
        fail(worker)
    found = causes(worker.api, f"&from={at(-180)}&to={at(120)}")
    assert (found["from"], found["to"]) == (at(-180), at(60)), "no later than this minute"
    assert found["causes"][0]["over_time"] == in_parts({18: 2})


def test_dead_letters_are_counted_by_job_with_the_cause_of_the_latest(worker: PullWorker) -> None:
    api = worker.api
    job = api.job(target=SHELL, every=86_400, retry=NO_RETRY, name="report")
    for error_class in ("http_503", "http_504"):
        api.send("POST", f"/v1/jobs/{job}/run")
        worker.complete(worker.take(), "FAILED", error="answered", error_class=error_class)
        api.world.clock.advance(1)
    once = fail(worker, "user 17 is unknown", name="mail")
    response = api.get("/v1/dead-letters?by=job")
    found = [(one["job_id"], one["name"], one["count"], one["cause"], one["jobs"]) for one in response.body["causes"]]
    assert found == [(job, "report", 2, "HTTP 504", 1), (once, "mail", 1, "user … is unknown", 1)]


def test_successes_of_the_same_jobs_since_the_failure(worker: PullWorker, world: World) -> None:
    api = worker.api
    job_id = api.job(target=SHELL, every=86_400, retry=NO_RETRY)
    for status in ("SUCCEEDED", "FAILED", "SUCCEEDED", "SUCCEEDED"):
        api.send("POST", f"/v1/jobs/{job_id}/run")
        worker.complete(worker.take(), status)
        world.clock.advance(1)
    (cause,) = causes(api)["causes"]
    assert (cause["successes_since"], cause["job_id"], cause["jobs"]) == (2, job_id, 1)


def test_runs_that_are_stamped_ahead_do_not_hide_successes(api: Api, world: World) -> None:
    job_id = api.job(every=1)
    Simulation(world, [Answer(ok=False, error="boom", retryable=False)]).let_pass(30)
    first, *ahead = world.store.runs_of(job_id, 101).items
    assert min(first.fire_time, ahead[-1].fire_time) > world.clock.now(), "the latest 100 runs are to come"
    for found in (causes(api), api.get("/v1/overview").body):
        (cause,) = found["causes"]
        assert cause["successes_since"] >= 20


def test_counts_by_cause_are_bounded_and_say_so(worker: PullWorker, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(5):
        fail(worker)
    monkeypatch.setattr(dead_letters, "PAGE", 2)
    monkeypatch.setattr(dead_letters, "MOST_COUNTED", 4)
    answer = causes(worker.api)
    assert (answer["causes"][0]["count"], answer["truncated"]) == (4, True)


@pytest.mark.parametrize(
    "chosen", [{"name": "a"}, {"cause": "boom"}, {"from": at(1), "to": at(2)}, {"name": "a", "all": True}]
)
def test_a_redrive_by_filter_runs_what_passes_and_nothing_else(worker: PullWorker, chosen: dict[str, Any]) -> None:
    other, mine = fail(worker, "no", name="b"), fail(worker, name="a")
    theirs = a_worker(worker.api.called_by("other"))
    foreign = fail(theirs, name="a")
    answer = redrive(worker.api, **chosen)
    assert (answer["redriven"], answer["left"], answer["next_cursor"]) == (1, False, None)
    assert dead(worker.api) == [other]
    assert dead(theirs.api) == [foreign]
    assert worker.take()["execution_id"] == mine


def test_a_dry_run_changes_nothing(worker: PullWorker) -> None:
    jobs = [fail(worker, "answered 503", "http_503", name="a") for _ in range(22)]
    before = worker.api.stored()
    answer = redrive(worker.api, name="a", dry_run=True)
    assert (answer["redriven"], answer["matched"], answer["left"]) == (0, 22, False)
    assert len(answer["runs"]) == 20
    fire_time = worker.api.execution(jobs[-1])["fire_time"]
    assert answer["runs"][0] == {
        "execution_id": jobs[-1],
        "job_id": jobs[-1],
        "name": "a",
        "fire_time": fire_time,
        "error": "answered 503",
        "cause": "HTTP 503",
    }
    by_ids = redrive(worker.api, ids=[jobs[0], "job_none"], dry_run=True)
    assert (by_ids["matched"], [one["id"] for one in by_ids["refused"]]) == (1, ["job_none"])
    assert worker.api.stored() == before


def test_a_dry_run_names_runs_that_their_jobs_would_skip(worker: PullWorker) -> None:
    api = worker.api
    job_id = api.job(target=SHELL, every=86_400, retry=NO_RETRY)
    api.send("POST", f"/v1/jobs/{job_id}/run")
    worker.complete(worker.take(), "FAILED")
    api.call("PUT", f"/v1/jobs/{job_id}/cancel")
    answer = redrive(api, all=True, dry_run=True)
    assert (answer["matched"], len(answer["refused"])) == (0, 1)
    assert answer["refused"][0]["reason"].startswith("it would be skipped")


def test_a_redrive_in_steps_does_not_run_again_what_failed_again(
    worker: PullWorker, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redrives, "PAGE", 2)
    monkeypatch.setattr(redrives, "MOST_AT_ONCE", 2)
    jobs = [fail(worker, name="a") for _ in range(5)]
    started: list[str] = []
    cursor: dict[str, Any] = {}
    for _ in range(10):
        answer = redrive(worker.api, name="a", **cursor)
        world.clock.advance(1)
        for run in worker.lease(max=10):
            started.append(run["execution_id"])
            worker.complete(run, "FAILED", error="again")
        world.clock.advance(1)
        if answer["next_cursor"] is None:
            break
        assert answer["left"] is True
        cursor = {"cursor": answer["next_cursor"]}
    assert (sorted(started), answer["left"]) == (sorted(jobs), False)
    assert sorted(dead(worker.api, "cause=again")) == sorted(jobs)


def test_a_redrive_past_many_that_it_refuses_goes_on_with_the_cursor(
    worker: PullWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redrives, "PAGE", 2)
    monkeypatch.setattr(redrives, "MOST_LOOKED_AT", 2)
    api = worker.api
    wanted = fail(worker, name="a")
    for _ in range(5):
        fail(worker, name="b")
    answer = redrive(api, name="a")
    calls = 1
    while answer["next_cursor"] is not None:
        answer = redrive(api, name="a", cursor=answer["next_cursor"])
        calls += 1
    assert (answer["redriven"], calls) == (1, 3)
    assert wanted not in dead(api)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "ids"),
        ({"ids": []}, "ids"),
        ({"ids": ["x"] * 501}, "ids"),
        ({"ids": ["a b"]}, "ids.0"),
        ({"ids": None}, "ids"),
        ({"ids": ["job_1"], "name": "a"}, "ids"),
        ({"ids": ["job_1"], "all": True}, "ids"),
        ({"all": False}, "all"),
        ({"all": False, "name": "a"}, "all"),
        ({"dry_run": True}, "ids"),
        ({"name": "a", "dry_run": "yes"}, "dry_run"),
        ({"name": "a", "cursor": "x"}, "cursor"),
        ({"ids": ["job_1"], "cursor": "x"}, "cursor"),
        ({"from": at(9), "to": at(1)}, "to"),
        ({"from": None}, "from"),
        ({"name": ""}, "name"),
    ],
)
def test_a_bad_redrive_is_refused_by_name(api: Api, body: dict[str, Any], field: str) -> None:
    response = api.send("POST", "/v1/dead-letters/redrive", **body)
    assert (response.status, fields_of(response)) == (422, {field})


def test_times_are_those_of_the_failure(worker: PullWorker, world: World) -> None:
    job_id = worker.api.job(target=SHELL, retry=NO_RETRY)
    run = worker.take()
    world.clock.advance(10)
    worker.complete(run, "FAILED")
    ended = datetime.fromtimestamp(NOON / 1000 + 10, UTC).isoformat().replace("+00:00", "Z")
    assert dead(worker.api, f"from={ended}") == [job_id]
    assert dead(worker.api, f"to={ended}") == []


def test_a_run_that_failed_for_good_is_listed_with_its_cause(worker: PullWorker) -> None:
    api = worker.api
    job_id = fail(worker, error_class="exit_1")
    (run,) = api.get("/v1/dead-letters").body["dead_letters"]
    assert (run["execution_id"], run["status"]) == (job_id, "FAILED")
    assert "boom" in run["reason"]
    assert [(attempt["error"], attempt["error_class"]) for attempt in run["attempts"]] == [("boom", "exit_1")]
    assert run == api.execution(job_id)


def test_one_is_run_again_and_is_no_dead_letter_any_more(worker: PullWorker) -> None:
    first, second = fail(worker), fail(worker)
    assert redrive(worker.api, ids=[first]) == redriven(1)
    assert dead(worker.api) == [second]
    again = worker.take()
    assert (again["execution_id"], again["attempt"]) == (first, 2)
    worker.complete(again, result="fine")
    assert worker.api.outcomes(first) == ["failed", "succeeded"]


def redriven(count: int) -> dict[str, Any]:
    return {"redriven": count, "refused": [], "undecided": [], "left": False, "next_cursor": None}


def test_a_redriven_run_may_fail_as_often_as_a_new_one(worker: PullWorker, world: World) -> None:
    api = worker.api
    job_id = api.job(target=SHELL, retry={"max_retries": 1, "backoff_seconds": 1, "jitter": False})
    for _ in (1, 2):
        worker.complete(worker.take(), "FAILED")
        world.clock.advance(1)
    assert dead(api) == [job_id]
    redrive(api, ids=[job_id])
    assert worker.complete(worker.take(), "FAILED").body["status"] == "RETRYING"


def test_all_of_the_tenants_are_run_again_ten_a_second(worker: PullWorker, world: World) -> None:
    expected = [fail(worker) for _ in range(12)]
    theirs = a_worker(worker.api.called_by("other"))
    foreign = fail(theirs)
    assert redrive(worker.api, all=True) == redriven(12)
    assert (dead(worker.api), dead(theirs.api)) == ([], [foreign])
    started: list[tuple[str, int]] = []
    begun = world.clock.now()
    other = a_worker(worker.api, resources={"slots": 20})
    while len(started) < 12:
        started += [(run["execution_id"], world.clock.now()) for run in other.lease(max=10)]
        world.clock.advance(0.1)
    assert sorted(run_id for run_id, _ in started) == sorted(expected)
    assert max(at for _, at in started) - begun >= 1100


def test_unknown_and_foreign_and_living_ones_are_refused_by_id(worker: PullWorker) -> None:
    api, theirs = worker.api, a_worker(worker.api.called_by("other"))
    mine, foreign, living = fail(worker), fail(theirs), api.job(delay=3600)
    answer = redrive(api, ids=[foreign, "job_missing", living, mine])
    assert (answer["redriven"], [one["id"] for one in answer["refused"]]) == (1, [foreign, "job_missing", living])
    assert answer["refused"][0]["reason"] == answer["refused"][1]["reason"]
    assert dead(theirs.api) == [foreign]

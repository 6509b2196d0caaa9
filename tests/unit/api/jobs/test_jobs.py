"""A job through the API: accepted, shown at each stage of its life, deleted."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from onthedot.core import lifecycle
from onthedot.core.finish import short_result
from onthedot.core.lifecycle import Failure
from onthedot.core.ports import Moved
from onthedot.core.records import Attempt, Definition, Record, Status
from onthedot.core.traces import span_id_of
from onthedot.jobs.answers import status_view
from onthedot.jobs.executions_views import execution_view, lateness_ms
from onthedot.jobs.list_runs import Outlook
from onthedot.jobs.shown import shown_status
from onthedot.targets.types import HttpTarget
from tests.builders import DEPLOYMENT, NOON, VirtualClock, World, a_run, a_world
from tests.unit.api.kit import URL, Api


@pytest.fixture
def world() -> Iterator[World]:
    with a_world() as world:
        yield world


@pytest.fixture
def api(world: World) -> Api:
    return Api(world)


def only_run(world: World, job_id: str) -> Record:
    run = world.store.get(job_id)
    assert run is not None
    return run


def start(world: World, job_id: str, worker: str = "w1") -> Record:
    run = only_run(world, job_id)
    move = lifecycle.start(run.run_id, run.generation, now=world.clock.now(), worker=worker, attempt_token="t")
    outcome = world.store.move(move)
    assert isinstance(outcome, Moved)
    assert outcome.run is not None
    return outcome.run


def test_a_job_without_a_time_is_accepted_for_now(api: Api, world: World) -> None:
    response = api.submit()
    assert response.status == 202
    assert response.body == {
        "job_id": response.body["job_id"],
        "status": "DISPATCHED",
        "version": 1,
        "name": None,
        "priority": "MEDIUM",
        "pool": "default",
        "created_at": "2026-03-01T12:00:00.000Z",
        "fire_time": "2026-03-01T12:00:00.000Z",
        "next_fire_time": "2026-03-01T12:00:00.000Z",
    }
    assert only_run(world, response.body["job_id"]).definition == Definition(HttpTarget(URL))


@pytest.mark.parametrize(
    ("fields", "fire_time"),
    [
        ({"delay": 3}, "2026-03-01T12:00:03.000Z"),
        ({"delay": 0.0001}, "2026-03-01T12:00:00.001Z"),
        ({"at": "2026-03-01T14:30:00.25+02:00"}, "2026-03-01T12:30:00.250Z"),
        ({"at": NOON // 1000 + 1.123}, "2026-03-01T12:00:01.123Z"),
        ({"at": "2026-02-28T12:00:00Z"}, "2026-02-28T12:00:00.000Z"),
        ({"at": "2036-03-01T12:00:00Z"}, "2036-03-01T12:00:00.000Z"),
    ],
)
def test_the_time_is_taken_as_written(api: Api, fields: dict[str, Any], fire_time: str) -> None:
    response = api.submit(**fields)
    assert (response.status, response.body["next_fire_time"]) == (202, fire_time)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8080/a?b=c#d", "https://[::1]:443", "HTTP://Example.COM.", "http://a_b-c.d:/%20"]
)
def test_an_ordinary_url_is_taken_as_it_is(api: Api, url: str) -> None:
    job_id = api.submit(callback_url=url).body["job_id"]
    assert api.get(f"/v1/jobs/{job_id}").body["target"]["url"] == url


def test_a_far_job_is_pending(api: Api) -> None:
    assert api.submit(delay=3600).body["status"] == "PENDING"


def test_the_whole_job_is_shown_with_its_secrets_hidden(api: Api) -> None:
    target = {
        "type": "http",
        "url": URL,
        "method": "PUT",
        "headers": {"Authorization": "Bearer x", "Cookie": "y", "X-Api-Key": "z", "Accept": "text/plain"},
    }
    retry = {"max_retries": 1, "backoff_seconds": 0.5, "factor": 1, "max_backoff_seconds": 9, "jitter": False}
    sent = {"name": "é", "tags": {"a": "b"}, "payload": [1, None, "ü"], "priority": "HIGH", "timeout_seconds": 840}
    job_id = api.submit(target=target, retry=retry, **sent).body["job_id"]
    shown = api.get(f"/v1/jobs/{job_id}").body
    hidden = {"Authorization": "***", "Cookie": "***", "X-Api-Key": "***", "Accept": "text/plain"}
    assert shown["target"] == {**target, "headers": hidden}
    assert shown["retry"] == retry
    assert {name: shown[name] for name in sent} == sent


def test_a_large_payload_is_shown_like_a_small_one(api: Api, world: World) -> None:
    payload = {"text": "ö" * 100_000}
    job_id = api.submit(payload=payload).body["job_id"]
    definition = only_run(world, job_id).definition
    assert definition is not None
    assert definition.payload_ref is not None
    assert api.get(f"/v1/jobs/{job_id}").body["payload"] == payload


def test_a_job_tells_its_story(api: Api, world: World) -> None:
    job_id = api.submit(delay=3).body["job_id"]
    assert api.get(f"/v1/jobs/{job_id}/status").body == {
        "job_id": job_id,
        "status": "DISPATCHED",
        "reason": None,
        "last_run": None,
        "next_run": "2026-03-01T12:00:03.000Z",
        "retry_count": 0,
    }
    world.clock.advance(3.012)
    run = start(world, job_id)
    assert api.get(f"/v1/jobs/{job_id}/status").body["status"] == "RUNNING"
    assert api.get(f"/v1/executions/{job_id}").body["attempts"][0]["outcome"] == "running"
    move = lifecycle.retry(
        run,
        world.clock.now(),
        at=NOON + 5000,
        failure=Failure("boom", "http_503"),
        generation="g2",
        deployment=DEPLOYMENT,
    )
    assert isinstance(world.store.move(move), Moved)
    retrying = api.get(f"/v1/jobs/{job_id}/status").body
    assert (retrying["status"], retrying["next_run"]) == ("RETRYING", "2026-03-01T12:00:05.000Z")
    world.clock.advance(2)
    run = start(world, job_id, "w2")
    assert isinstance(world.store.move(lifecycle.succeed(run, world.clock.now() + 7, "done", DEPLOYMENT)), Moved)
    assert api.get(f"/v1/jobs/{job_id}/executions").body == {
        "executions": [_the_whole_story(job_id, api.get(f"/v1/jobs/{job_id}").body["trace_id"])],
        "next_cursor": None,
    }
    assert api.get(f"/v1/jobs/{job_id}/status").body == {
        "job_id": job_id,
        "status": "SUCCEEDED",
        "reason": None,
        "last_run": "2026-03-01T12:00:05.012Z",
        "next_run": None,
        "retry_count": 1,
    }


def _the_whole_story(job_id: str, trace_id: str) -> dict[str, Any]:
    first = {"attempt": 1, "worker": "w1", "outcome": "failed", "error": "boom", "error_class": "http_503"}
    second = {"attempt": 2, "worker": "w2", "outcome": "succeeded", "error": None, "error_class": None}
    first["span_id"], second["span_id"] = span_id_of(job_id, 1), span_id_of(job_id, 2)
    return {
        "execution_id": job_id,
        "job_id": job_id,
        "name": None,
        "target": "POST https://example.com/hook",
        "status": "SUCCEEDED",
        "trigger": "schedule",
        "priority": "MEDIUM",
        "pool": "default",
        "fire_time": "2026-03-01T12:00:03.000Z",
        "next_fire_time": None,
        "started_at": "2026-03-01T12:00:05.012Z",
        "finished_at": "2026-03-01T12:00:05.019Z",
        "lateness_ms": 12,
        "running_ms": None,
        "deadline": None,
        "progress": None,
        "worker": "w2",
        "attempts": [
            {**first, "started_at": "2026-03-01T12:00:03.012Z", "ended_at": "2026-03-01T12:00:03.012Z"},
            {**second, "started_at": "2026-03-01T12:00:05.012Z", "ended_at": "2026-03-01T12:00:05.019Z"},
        ],
        "lost_attempts": 0,
        "error": None,
        "reason": None,
        "result": "done",
        "result_url": None,
        "trace_id": trace_id,
    }


def test_a_run_that_failed_without_an_attempt_shows_its_reason_as_error(world: World) -> None:
    run = replace(a_run(VirtualClock()).build(), status=Status.FAILED, reason="undeliverable")
    assert execution_view(run, short_result(world.blobs, run), run.fire_at)["error"] == "undeliverable"
    assert status_view(run, Outlook(None, run))["next_run"] is None


def test_lateness_is_unknown_when_the_first_attempt_is_no_longer_kept() -> None:
    kept = Attempt(2, "w", NOON + 9, NOON + 10, "failed", "x")
    run = replace(a_run(VirtualClock()).build(), attempt=2, started_at=NOON + 9, attempts=(kept,))
    assert lateness_ms(run) is None
    assert shown_status(run, run.fire_at) == "RETRYING"


@pytest.mark.parametrize("path", ["/v1/jobs/{}", "/v1/jobs/{}/status", "/v1/jobs/{}/executions", "/v1/executions/{}"])
def test_anothers_job_answers_exactly_like_a_missing_one(api: Api, path: str) -> None:
    job_id = api.submit().body["job_id"]
    assert api.get(path.format(job_id)).status == 200
    anothers = api.called_by("other").get(path.format(job_id))
    missing = api.called_by("other").get(path.format("job_" + "a" * 26))
    assert (anothers.status, anothers.body) == (missing.status, missing.body) == (404, anothers.body)

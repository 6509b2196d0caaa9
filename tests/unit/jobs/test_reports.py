"""Workers report on their runs: heartbeats and one outcome for each attempt. Stale reports are refused."""

from typing import Any

import pytest

from onthedot.core.choices import Priority
from onthedot.jobs.requests import MAX_BODY
from tests.builders import World
from tests.unit.api.kit import SHELL, Api, PullWorker, a_worker, fields_of


@pytest.fixture
def worker(api: Api) -> PullWorker:
    return a_worker(api, resources={"slots": 10, "cpu": 4, "memory_mb": 4096})


@pytest.mark.parametrize("status", ["SUCCEEDED", "FAILED", "LOST", "RELEASED"])
def test_saying_the_same_again_is_harmless(api: Api, worker: PullWorker, status: str) -> None:
    job_id = api.job(target=SHELL, retry={"max_retries": 1})
    run = worker.take()
    fields = {} if status == "SUCCEEDED" else {"error": "token=abcdef " + "x" * 9000}
    first, again = worker.complete(run, status, **fields), worker.complete(run, status, **fields)
    assert (first.status, again.status) == (200, 200)
    assert first.body == again.body
    assert len(api.execution(job_id)["attempts"]) == 1


def test_saying_something_else_afterwards_is_stale(worker: PullWorker, api: Api) -> None:
    api.job(target=SHELL)
    run = worker.take()
    worker.complete(run)
    response = worker.complete(run, "FAILED", error="no")
    assert (response.status, response.body["error"]["code"]) == (409, "stale_attempt")


def test_a_late_word_of_a_lost_attempt_is_stale_and_the_run_succeeds_once(
    api: Api, world: World, worker: PullWorker
) -> None:
    job_id = api.job(target=SHELL)
    first = worker.take()
    other = a_worker(api)
    other.take_back()
    second = other.take()
    assert second["attempt"] == 2
    for response in (worker.complete(first), worker.keep(first)):
        assert (response.status, response.body["error"]["code"]) == (409, "stale_attempt")
    assert other.complete(second).body["status"] == "SUCCEEDED"
    assert worker.complete(first).status == 409
    assert api.outcomes(job_id) == ["lost", "succeeded"]


def test_a_heartbeat_without_a_number_is_good_for_its_own_worker_only(api: Api, worker: PullWorker) -> None:
    api.job(target=SHELL)
    run = worker.take()
    path = f"/v1/executions/{run['execution_id']}/heartbeat"
    assert api.send("POST", path, worker_id=worker.worker_id).status == 200
    assert api.call("POST", path).status == 200
    assert api.send("POST", path, attempt=None, worker_id=None, receipt=None).status == 200
    assert api.send("POST", path, worker_id="other").body["error"]["code"] == "stale_attempt"
    assert worker.complete(run, worker_id="other").status == 409
    assert worker.complete(run, worker_id=worker.worker_id).status == 200


@pytest.mark.parametrize("receipt", ["", "garbage", "1/1", ".1/1", "ü.1/1", "a.b.c"])
def test_a_receipt_that_is_none_does_no_harm(api: Api, worker: PullWorker, receipt: str) -> None:
    api.job(target=SHELL)
    run = worker.take()
    assert worker.keep(run, receipt=receipt).status == 200
    assert worker.complete(run, receipt=receipt).body["status"] == "SUCCEEDED"


def test_a_receipt_touches_no_message_but_its_own_runs(api: Api, world: World, worker: PullWorker) -> None:
    theirs = api.called_by("other").job(target=SHELL)
    their_worker = a_worker(api.called_by("other"))
    their_run = their_worker.take()
    api.job(target=SHELL)
    run = worker.take()
    assert world.queues.counts("pull", Priority.MEDIUM).in_flight == 2
    (seal, _, _), (_, _, receipt) = run["receipt"].partition("."), their_run["receipt"].partition(".")
    assert worker.keep(run, receipt=f"{seal}.{receipt}").status == 200
    assert worker.complete(run, receipt=their_run["receipt"]).body["status"] == "SUCCEEDED"
    assert world.queues.counts("pull", Priority.MEDIUM).in_flight == 2
    assert their_worker.complete(their_run).body["execution_id"] == theirs
    assert world.queues.counts("pull", Priority.MEDIUM).in_flight == 1


def test_a_failure_is_recorded_with_its_class_and_tried_again(api: Api, world: World, worker: PullWorker) -> None:
    job_id = api.job(target=SHELL, retry={"max_retries": 1, "backoff_seconds": 3, "jitter": False})
    failed = worker.complete(worker.take(), "FAILED", error="password=hunter2", error_class="exit_3").body
    assert (failed["status"], failed["next_fire_time"]) == ("RETRYING", "2026-03-01T12:00:03.000Z")
    (attempt,) = failed["attempts"]
    assert (attempt["error"], attempt["error_class"]) == ("password=***", "exit_3")
    assert worker.lease() == []
    world.clock.advance(3)
    assert worker.complete(worker.take(), "FAILED").body["status"] == "FAILED"
    assert "not why" in api.execution(job_id)["error"]


def test_a_worker_may_say_that_trying_again_is_useless_or_when(api: Api, worker: PullWorker) -> None:
    api.job(target=SHELL)
    assert worker.complete(worker.take(), "FAILED", retryable=False).body["status"] == "FAILED"
    api.job(target=SHELL, retry={"jitter": False})
    later = worker.complete(worker.take(), "FAILED", retry_after_seconds=90.5).body
    assert later["next_fire_time"] == "2026-03-01T12:01:30.500Z"


def test_a_run_that_is_given_back_is_anothers_at_once_and_counts_as_nothing(api: Api, worker: PullWorker) -> None:
    job_id = api.job(target=SHELL, retry={"max_retries": 0})
    worker.complete(worker.take(), "RELEASED")
    again = a_worker(api).take()
    assert (again["execution_id"], again["attempt"], again["alone"]) == (job_id, 2, False)
    run = api.execution(job_id)
    assert (run["attempts"][0]["outcome"], run["lost_attempts"]) == ("released", 0)


def test_a_cancel_reaches_the_worker_by_its_next_heartbeat_and_ends_the_run(api: Api, worker: PullWorker) -> None:
    job_id = api.job(target=SHELL)
    run = worker.take()
    assert api.call("PUT", f"/v1/jobs/{job_id}/cancel").status == 200
    assert worker.keep(run).body["cancel_requested"] is True
    stopped = worker.complete(run, "FAILED", error="stopped")
    assert (stopped.status, stopped.body["status"]) == (200, "CANCELLED")
    assert worker.complete(run, "FAILED", error="stopped").status == 200


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"status": "DONE"}, "status"),
        ({"status": None}, "status"),
        ({"attempt": None}, "attempt"),
        ({"attempt": 0}, "attempt"),
        ({"attempt": "1"}, "attempt"),
        ({"result": 1}, "result"),
        ({"status": "SUCCEEDED", "error": "x"}, "error"),
        ({"error": "x" * 10_001}, "error"),
        ({"error_class": "x" * 256}, "error_class"),
        ({"retryable": "no"}, "retryable"),
        ({"retry_after_seconds": -1}, "retry_after_seconds"),
        ({"receipt": "x" * 4097}, "receipt"),
        ({"worker_id": "a b"}, "worker_id"),
        ({"outcome": 1}, "outcome"),
    ],
)
def test_a_bad_report_is_refused_by_name_and_the_run_goes_on(
    api: Api, worker: PullWorker, fields: dict[str, Any], name: str
) -> None:
    job_id = api.job(target=SHELL)
    run = worker.take()
    response = worker.complete(run, **{"status": "FAILED", **fields})
    assert (response.status, fields_of(response)) == (422, {name})
    assert api.execution(job_id)["status"] == "RUNNING"


@pytest.mark.parametrize("fields", [{"attempt": 0}, {"attempt": 1.5}, {"status": "x"}, {"receipt": 3}])
def test_a_bad_heartbeat_is_refused_by_name(api: Api, worker: PullWorker, fields: dict[str, Any]) -> None:
    api.job(target=SHELL)
    response = worker.keep(worker.take(), **fields)
    assert (response.status, fields_of(response)) == (422, {*fields})


@pytest.mark.parametrize(
    ("result", "kept"),
    [("plain ü", "plain ü"), ({"a": 1}, '{"a":1}'), ([], "[]"), (0, "0"), (False, "false"), ("", ""), (None, None)],
)
def test_a_text_is_kept_as_it_is_and_anything_else_as_json(
    api: Api, worker: PullWorker, result: Any, kept: Any
) -> None:
    api.job(target=SHELL)
    assert worker.complete(worker.take(), result=result).body["result"] == kept


@pytest.mark.parametrize("text", ["x" * 1024 * 1024, "ü" * (512 * 1024)])
def test_a_result_of_a_mebibyte_is_kept_apart_and_shown(api: Api, worker: PullWorker, text: str) -> None:
    job_id = api.job(target=SHELL)
    done = worker.complete(worker.take(), result=text)
    assert (done.status, done.body["result"], done.body["result_url"]) == (200, None, None)
    assert api.execution(job_id)["result"] == text


@pytest.mark.parametrize("result", ["x" * (1024 * 1024 + 1), ["x" * 1024 * 1024], "x" * MAX_BODY])
def test_a_larger_result_is_too_large_and_the_run_goes_on(api: Api, worker: PullWorker, result: Any) -> None:
    job_id = api.job(target=SHELL)
    response = worker.complete(worker.take(), result=result)
    assert (response.status, response.body["error"]["code"]) == (413, "too_large")
    assert api.execution(job_id)["status"] == "RUNNING"

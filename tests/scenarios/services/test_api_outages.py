"""The API while a service fails: a request needs only the services that its own work needs."""

from typing import Any

import pytest

from onthedot.core.choices import Priority
from onthedot.core.errors import Unavailable, Unreachable
from onthedot.core.records import Status
from tests.scenarios.kits.outages import HOUR, StormySimulation
from tests.unit.api.kit import SHELL, Api, a_worker

MINUTE = 60.0
LARGE = "x" * 5_000


@pytest.fixture
def api(storm: StormySimulation) -> Api:
    return Api(storm.world)


def status_of(storm: StormySimulation, run_id: str) -> Status:
    found = storm.calm.store.get(run_id)
    assert found is not None
    return found.status


def test_a_job_is_accepted_while_its_queue_fails_and_the_sweep_sends_it(storm: StormySimulation, api: Api) -> None:
    storm.outages.fail("queues.send", "queues.visible", seconds=30 * MINUTE)
    near, batch = api.job(delay=5), api.send("POST", "/v1/jobs/batch", jobs=[{"callback_url": "http://x/"}])

    assert batch.body["jobs"][0]["status"] == "DISPATCHED"
    storm.let_pass(HOUR)

    assert status_of(storm, near) is Status.SUCCEEDED
    assert status_of(storm, batch.body["jobs"][0]["job_id"]) is Status.SUCCEEDED


@pytest.mark.parametrize(
    "call", ["limits.read", "queues.visible", "queues.oldest_age_ms", "registry.workers", "blobs.get"]
)
def test_a_job_is_accepted_without_services_that_it_does_not_need(storm: StormySimulation, api: Api, call: str) -> None:
    storm.outages.fail(call, error=Unreachable)

    job_id = api.job(delay=5)
    storm.let_pass(MINUTE)

    assert status_of(storm, job_id) is Status.SUCCEEDED


def test_a_large_payload_needs_blobs_and_a_small_one_does_not(storm: StormySimulation, api: Api) -> None:
    storm.outages.fail("blobs.put")
    jobs = [{"callback_url": "http://x/", "payload": payload} for payload in ("x", LARGE)]

    assert api.submit(payload=LARGE).status == 503
    assert api.submit(payload="x").status == 202
    small, large = api.send("POST", "/v1/jobs/batch", jobs=jobs).body["jobs"]
    assert (small["status"], large["error"]["code"]) == ("DISPATCHED", "unavailable")


@pytest.mark.parametrize("call", ["store.get_many", "store.create_many", "store.move_many", "queues.send"])
@pytest.mark.parametrize("error", [Unavailable, Unreachable])
def test_a_recurring_job_is_accepted_when_it_cannot_be_stamped_at_once(
    storm: StormySimulation, api: Api, call: str, error: type[Unavailable]
) -> None:
    storm.outages.fail(call, seconds=30, error=error)

    job_id = api.job(every=60)

    storm.let_pass(10 * MINUTE)
    runs = storm.calm.store.runs_of(job_id, 100).items
    assert len([run for run in runs if run.status is Status.SUCCEEDED]) >= 9


def test_a_child_is_accepted_when_it_cannot_be_linked_at_once(storm: StormySimulation, api: Api) -> None:
    parent = api.job(delay=600)
    storm.outages.fail("store.move", seconds=30)

    child = api.job(dependencies=[parent])
    storm.let_pass(20 * MINUTE)

    assert status_of(storm, child) is Status.SUCCEEDED


@pytest.mark.parametrize(
    "call", ["limits.read", "queues.visible", "registry.workers", "store.runs_of", "store.get_many"]
)
@pytest.mark.parametrize("fields", [{"target": SHELL}, {"every": 60}, {"delay": 60}])
def test_explain_answers_with_the_facts_that_it_has(
    storm: StormySimulation, api: Api, call: str, fields: dict[str, Any]
) -> None:
    job_id = api.job(**fields)
    storm.clock.advance(MINUTE)
    storm.outages.fail(call)

    answer = api.get(f"/v1/jobs/{job_id}/explain")

    assert (answer.status, len(answer.body["reasons"]) > 0) == (200, True)


@pytest.mark.parametrize(
    ("call", "fields", "code", "message"),
    [
        ("registry.workers", {"target": SHELL}, "unknown", "the workers cannot be read now"),
        ("store.runs_of", {"every": 60}, "unknown", "its runs cannot be read now"),
        ("queues.visible", {"delay": 5}, "queued", "that queue does not answer now"),
    ],
)
def test_explain_names_the_facts_that_it_cannot_read(  # noqa: PLR0917
    storm: StormySimulation, api: Api, call: str, fields: dict[str, Any], code: str, message: str
) -> None:
    job_id = api.job(**fields)
    storm.clock.advance(fields.get("delay", 60))
    storm.outages.fail(call)

    reasons = api.get(f"/v1/jobs/{job_id}/explain").body["reasons"]

    assert [one["message"].endswith(message) for one in reasons if one["code"] == code] == [True]


def test_without_the_table_the_api_says_when_to_try_again_and_a_repeat_is_accepted(
    storm: StormySimulation, api: Api
) -> None:
    job_id, key = api.job(delay=600), {"Idempotency-Key": "once"}
    storm.outages.fail(*(f"store.{call}" for call in ("create", "create_many", "get", "get_many", "move")))

    answers = [
        api.submit(key, delay=60),
        api.get(f"/v1/jobs/{job_id}"),
        api.send("POST", f"/v1/jobs/{job_id}/pause"),
        api.send("PUT", f"/v1/jobs/{job_id}/cancel"),
    ]

    assert [(answer.status, "Retry-After" in answer.headers) for answer in answers] == [(503, True)] * 4
    storm.clock.advance(HOUR)
    assert [api.submit(key, delay=60).status, api.get(f"/v1/jobs/{job_id}").status] == [202, 200]


@pytest.mark.parametrize("call", ["limits.read", "queues.visible", "queues.send", "blobs.get", "registry.workers"])
def test_reading_and_changing_a_job_need_the_table_only(storm: StormySimulation, api: Api, call: str) -> None:
    job_id = api.job(delay=600)
    storm.outages.fail(call)

    answers = [
        api.get(f"/v1/jobs/{job_id}"),
        api.get("/v1/dead-letters"),
        api.send("POST", f"/v1/jobs/{job_id}/pause"),
        api.send("POST", f"/v1/jobs/{job_id}/resume"),
        api.send("PUT", f"/v1/jobs/{job_id}/cancel"),
    ]

    assert [answer.status for answer in answers] == [200] * 5


def test_a_lease_gets_the_runs_of_the_queues_that_answer(storm: StormySimulation, api: Api) -> None:
    worker = a_worker(api)
    api.job(target=SHELL, priority="HIGH")
    other = api.job(target=SHELL, priority="LOW")
    storm.outages.fail("queues.receive", concerns=lambda _, priority, *__: priority is Priority.HIGH)

    assert [run["execution_id"] for run in worker.lease(max=10)] == [other]
    assert worker.lease(max=10) == []


def test_a_lease_is_unavailable_when_no_queue_answers(storm: StormySimulation, api: Api) -> None:
    worker = a_worker(api)
    storm.outages.fail("queues.receive")

    assert api.send("POST", f"/v1/workers/{worker.worker_id}/lease").status == 503


def test_an_attempt_is_kept_and_reported_while_queues_and_blobs_fail(storm: StormySimulation, api: Api) -> None:
    worker = a_worker(api)
    job_id = api.job(target=SHELL)
    run = worker.take()
    storm.outages.fail("queues.hide", "queues.delete", "queues.send", "blobs.put", "registry.beat")

    assert worker.keep(run).status == 200
    assert worker.complete(run, result=LARGE).status == 200
    assert status_of(storm, job_id) is Status.SUCCEEDED


def test_an_event_is_taken_while_the_queues_fail(storm: StormySimulation, api: Api) -> None:
    job_id = api.job(on_event={"source": ["shop"]})
    storm.outages.fail("queues.send", "queues.visible", "limits.read", seconds=10 * MINUTE)

    answer = api.send("POST", "/v1/events", source="shop", detail_type="paid", detail={})
    assert answer.status == 202, answer.body
    storm.let_pass(30 * MINUTE)

    [run] = storm.calm.store.runs_of(job_id, 10).items
    assert run.status is Status.SUCCEEDED

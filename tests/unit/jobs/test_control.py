"""Pause, resume, cancel, run now and backfill."""

from typing import Any

import pytest

from onthedot.api.http import Response
from onthedot.core.ports import Undecided
from tests.builders import World
from tests.scenarios.kits.simulation import Simulation
from tests.unit.api.kit import SHELL, Api, PullWorker, a_worker, fields_of, message_of

VERBS = [("POST", "pause"), ("POST", "resume"), ("PUT", "cancel"), ("POST", "run")]
WINDOW = {"from": "2026-03-01T11:00:00Z", "to": "2026-03-01T11:05:00Z"}


def backfill(api: Api, job_id: str, /, **fields: Any) -> Any:
    return api.send("POST", f"/v1/jobs/{job_id}/backfill", **fields)


@pytest.mark.parametrize("fields", [{"delay": 3600}, {"every": 3600}])
def test_a_job_is_paused_resumed_and_cancelled(api: Api, fields: dict[str, Any]) -> None:
    path = f"/v1/jobs/{api.job(**fields)}"
    active = api.get(path).body
    paused = api.call("POST", f"{path}/pause")
    assert (paused.status, paused.body["status"], paused.headers["ETag"]) == (200, "PAUSED", '"2"')
    assert paused.body["next_fire_time"] is None
    resumed = api.call("POST", f"{path}/resume").body
    assert (resumed["status"], resumed["next_fire_time"]) == (active["status"], active["next_fire_time"])
    cancelled = api.call("PUT", f"{path}/cancel").body
    assert (cancelled["status"], cancelled["next_fire_time"]) == ("CANCELLED", None)


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_what_is_over_for_good_conflicts(api: Api, verb: str) -> None:
    path = f"/v1/jobs/{api.job(every=60)}"
    assert api.call("PUT", f"{path}/cancel").status == api.call("PUT", f"{path}/cancel").status == 200
    response = api.call("POST", f"{path}/{verb}")
    assert (response.status, response.body["error"]["code"]) == (409, "conflict")
    assert "CANCELLED" in response.body["error"]["message"]


def test_a_cancelled_job_never_fires_again(api: Api, world: World) -> None:
    path = f"/v1/jobs/{api.job(every=1)}"
    api.call("PUT", f"{path}/cancel")
    simulation = Simulation(world)
    simulation.let_pass(10)
    assert simulation.target.calls == []


@pytest.mark.parametrize("fields", [{"every": 3600}, {"delay": 3600}])
def test_a_run_now_is_a_run_beside_the_schedule(api: Api, world: World, fields: dict[str, Any]) -> None:
    job_id = api.job(**fields)
    before = api.get(f"/v1/jobs/{job_id}/status").body["next_run"]
    response = api.call("POST", f"/v1/jobs/{job_id}/run", b"{}")
    run = response.body
    assert (response.status, run["job_id"], run["trigger"]) == (202, job_id, "manual")
    assert run["fire_time"] == "2026-03-01T12:00:00.000Z"
    Simulation(world).let_pass(1)
    ended = api.get(f"/v1/executions/{run['execution_id']}").body
    assert (ended["status"], ended["result"], ended["trigger"]) == ("SUCCEEDED", "fine", "manual")
    assert api.get(f"/v1/jobs/{job_id}/status").body["next_run"] == before


def test_a_paused_job_is_not_run(api: Api) -> None:
    path = f"/v1/jobs/{api.job(every=3600)}"
    api.call("POST", f"{path}/pause")
    assert api.call("POST", f"{path}/run").status == 409


def test_a_backfill_makes_a_run_for_each_time_of_its_window(api: Api, world: World) -> None:
    job_id = api.job(cron="* * * * *")
    done = backfill(api, job_id, **WINDOW)
    assert (done.status, done.body["created"], done.body["existing"], done.body["left"]) == (202, 5, 0, 0)
    first = api.get(f"/v1/executions/{done.body['executions'][0]}").body
    assert (first["fire_time"], first["priority"], first["trigger"]) == ("2026-03-01T11:00:00.000Z", "LOW", "backfill")
    again = backfill(api, job_id, **WINDOW).body
    assert (again["created"], again["existing"], again["executions"]) == (0, 5, [])
    Simulation(world).let_pass(3)
    assert api.get(f"/v1/executions/{done.body['executions'][-1]}").body["status"] == "SUCCEEDED"


def test_a_backfill_goes_on_from_the_first_time_that_is_left(api: Api) -> None:
    job_id = api.job(cron="* * * * *")
    first = backfill(api, job_id, **WINDOW, limit=2, priority="HIGH").body
    assert (first["created"], first["left"], first["next_from"]) == (2, 3, "2026-03-01T11:02:00.000Z")
    assert api.execution(first["executions"][0])["priority"] == "HIGH"
    rest = backfill(api, job_id, **{**WINDOW, "from": first["next_from"]}).body
    assert (rest["created"], rest["existing"], rest["left"], rest["next_from"]) == (3, 0, 0, None)


def test_a_fire_time_that_was_not_stored_is_the_next_one(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    job_id = api.job(cron="* * * * *")
    store, create = type(api.world.store), type(api.world.store).create_many

    def all_but_the_second(self: Any, records: Any, deadline: Any) -> Any:
        kept = iter(create(self, [records[0], *records[2:]], deadline))
        return [Undecided("throttled") if number == 1 else next(kept) for number in range(len(records))]

    with monkeypatch.context() as patched:
        patched.setattr(store, "create_many", all_but_the_second)
        done = backfill(api, job_id, **WINDOW).body
    assert (done["created"], done["existing"], done["left"], done["next_from"]) == (4, 0, 1, "2026-03-01T11:01:00.000Z")
    again = backfill(api, job_id, **{**WINDOW, "from": done["next_from"]}).body
    assert (again["created"], again["existing"], again["left"]) == (1, 3, 0)


BAD_BACKFILLS: list[tuple[dict[str, Any], str, str]] = [
    ({"to": WINDOW["to"]}, "from", "missing"),
    ({"from": WINDOW["from"]}, "to", "missing"),
    ({**WINDOW, "from": None}, "from", "leave it out"),
    ({**WINDOW, "from": "x"}, "from", "RFC 3339"),
    ({**WINDOW, "to": 1e300}, "to", "9998"),
    ({**WINDOW, "to": "2026-03-01T12:00:01Z"}, "to", "in the past"),
    ({"from": WINDOW["to"], "to": WINDOW["from"]}, "to", "in the past"),
    ({**WINDOW, "limit": 1001}, "limit", "1000 or less"),
    ({**WINDOW, "limit": 0}, "limit", "1 or more"),
    ({**WINDOW, "priority": "low"}, "priority", "'LOW'"),
    ({**WINDOW, "from_": 1}, "from_", "did you mean from"),
]


@pytest.mark.parametrize(("fields", "name", "advice"), BAD_BACKFILLS)
def test_a_bad_backfill_is_refused_by_name(api: Api, fields: dict[str, Any], name: str, advice: str) -> None:
    response = backfill(api, api.job(every=3600), **fields)
    assert (response.status, fields_of(response)) == (422, {name})
    assert advice in message_of(response)


@pytest.mark.parametrize(("method", "verb"), VERBS)
def test_a_verb_takes_no_fields(api: Api, method: str, verb: str) -> None:
    path = f"/v1/jobs/{api.job(every=3600)}/{verb}"
    response = api.send(method, path, reason="why not")
    assert (response.status, fields_of(response)) == (422, {"reason"})
    assert api.call(method, path, b"[]").status == 400


LARGE = {"text": "é" * 3000}


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


def test_a_payload_that_is_too_large_is_refused_and_nothing_runs(api: Api, worker: PullWorker) -> None:
    assert run(api, recurring(api), payload="x" * (1024 * 1024)).status == 413
    assert worker.lease() == []


def test_a_workflow_takes_no_payload(api: Api) -> None:
    body: dict[str, Any] = {"jobs": [{"key": "a", "callback_url": "https://example.com/a"}]}
    workflow_id = api.send("POST", "/v1/workflows", **body).body["workflow_id"]
    response = run(api, workflow_id, payload=1)
    assert (response.status, fields_of(response)) == (422, {"payload"})
    assert run(api, workflow_id).status == 202

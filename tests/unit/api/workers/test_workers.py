"""Pull workers: they register, beat and are seen; each tenant's its own."""

import json
from dataclasses import replace
from typing import Any

import pytest

from onthedot.workers.records import Load, Resources, WorkerRecord
from tests.builders import NOON, World
from tests.unit.api.kit import SHELL, Api, a_worker, fields_of


def register(api: Api, **fields: Any) -> Any:
    return api.send("POST", "/v1/workers/register", **fields)


def ids(response: Any) -> list[str]:
    return [worker["worker_id"] for worker in response.body["workers"]]


def the_operators_worker(world: World) -> str:
    shared = WorkerRecord(
        "ours", None, "pull", frozenset({"http"}), Resources(4), NOON, NOON, Load(("job_of_somebody",)), host="inside"
    )
    world.registry.register(shared)
    return shared.worker_id


def test_slots_is_still_read_as_the_former_name_of_concurrency(api: Api) -> None:
    assert register(api, resources={"slots": 7}).body["resources"]["concurrency"] == 7


def test_the_resources_that_the_api_shows_can_be_sent_back(api: Api) -> None:
    shown = register(api, resources={"concurrency": 7}).body["resources"]
    assert register(api, resources=shown).body["resources"] == shown
    refused = register(api, resources={**shown, "slots": 8})
    assert (refused.status, fields_of(refused)) == (422, {"resources.slots"})


def test_a_heartbeat_tells_what_the_worker_does(api: Api, world: World) -> None:
    worker = a_worker(api)
    world.clock.advance(10)
    used = {"concurrency": 1, "cpu": 0.5, "memory_mb": 100, "storage_mb": 7}
    shown = worker.beat(running=["job_a"], used=used).body
    assert (shown["running"], shown["used"]) == (["job_a"], {**used, "slots": 1})
    assert shown["heartbeat_at"] == "2026-03-01T12:00:10.000Z"
    assert worker.beat().body["running"] == []


def test_a_worker_is_lost_when_its_heartbeats_stop_and_back_with_the_next(api: Api, world: World) -> None:
    worker = a_worker(api)
    world.clock.advance(36)
    assert api.get(f"/v1/workers/{worker.worker_id}").body["status"] == "LOST"
    assert worker.beat().body["status"] == "ACTIVE"
    assert worker.beat(stopping=True).body["status"] == "DRAINING"
    assert worker.beat(stopped=True).body["status"] == "STOPPED"


def test_a_worker_that_is_forgotten_must_register_again(api: Api, world: World) -> None:
    worker = a_worker(api)
    world.clock.advance(25 * 3600)
    response = worker.beat()
    assert (response.status, response.body["error"]["code"]) == (404, "not_found")
    assert "register" in response.body["error"]["message"]


def test_workers_are_listed_by_status_and_by_what_they_can_do(api: Api, world: World) -> None:
    lost = a_worker(api, "gpu", worker_id="lost")
    world.clock.advance(36)
    a_worker(api, "gpu", "big", worker_id="both")
    a_worker(api, worker_id="plain").beat(stopping=True)
    assert set(ids(api.get("/v1/workers"))) == {"lost", "both", "plain"}
    assert ids(api.get("/v1/workers?status=LOST")) == [lost.worker_id]
    assert set(ids(api.get("/v1/workers?capabilities=gpu"))) == {"lost", "both"}
    assert ids(api.get("/v1/workers?capabilities=gpu,big")) == ["both"]
    assert ids(api.get("/v1/workers?capabilities=gpu,big&status=DRAINING")) == []
    assert len(ids(api.get("/v1/workers?capabilities="))) == 3


@pytest.mark.parametrize("query", ["status=active", "status=", "colour=red"])
def test_a_bad_query_is_refused_by_name(api: Api, query: str) -> None:
    response = api.get(f"/v1/workers?{query}")
    assert (response.status, fields_of(response)) == (422, {query.partition("=")[0]})


def test_the_default_pool_of_workers_is_the_pull_pool(api: Api) -> None:
    response = api.call("POST", "/v1/workers/register", b'{"pool": "default"}')
    assert (response.status, response.body["pool"]) == (201, "pull")


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"pool": "swimming"}, "pool"),
        ({"pool": "long"}, "pool"),
        ({"capabilities": "shell"}, "capabilities"),
        ({"capabilities": ["x"] * 201}, "capabilities"),
        ({"capabilities": ["x" * 81]}, "capabilities.0"),
        ({"capabilities": ["a,b"]}, "capabilities.0"),
        ({"resources": {"slots": 0}}, "resources.slots"),
        ({"resources": {"cpu": -1}}, "resources.cpu"),
        ({"resources": {"disk": 1}}, "resources.disk"),
        ({"worker_id": "a b"}, "worker_id"),
        ({"worker_id": "x" * 81}, "worker_id"),
        ({"host": "x" * 256}, "host"),
        ({"host": "a\nb"}, "host"),
    ],
)
def test_a_bad_offer_is_refused_by_name(api: Api, fields: dict[str, Any], name: str) -> None:
    response = register(api, **fields)
    assert (response.status, fields_of(response)) == (422, {name})
    assert ids(api.get("/v1/workers")) == []


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"running": ["a b"]}, "running.0"),
        ({"running": ["x"] * 1001}, "running"),
        ({"used": {"slots": -1}}, "used.slots"),
        ({"stopping": "yes"}, "stopping"),
        ({"load": 1}, "load"),
    ],
)
def test_a_bad_heartbeat_is_refused_by_name(api: Api, fields: dict[str, Any], name: str) -> None:
    response = a_worker(api).beat(**fields)
    assert (response.status, fields_of(response)) == (422, {name})


def test_an_id_that_is_anothers_is_not_taken_from_it(api: Api) -> None:
    a_worker(api, worker_id="mine")
    response = register(api.called_by("other"), worker_id="mine")
    assert (response.status, fields_of(response)) == (422, {"worker_id"})
    assert register(api, worker_id="mine").status == 201


def test_anothers_worker_answers_exactly_like_a_missing_one(api: Api) -> None:
    mine = a_worker(api)
    job_id = api.called_by("other").job(target=SHELL)
    for worker_id in (mine.worker_id, "missing"):
        stranger = replace(mine, api=api.called_by("other"), worker_id=worker_id)
        answers = [
            stranger.beat(),
            stranger.api.get(f"/v1/workers/{worker_id}"),
            stranger.api.send("POST", f"/v1/workers/{worker_id}/lease"),
            stranger.api.send("POST", f"/v1/jobs/{job_id}/execute", worker_id=worker_id),
        ]
        assert [answer.status for answer in answers] == [404] * 4
        assert len({json.dumps(answer.body) for answer in answers}) == 1
    assert ids(api.called_by("other").get("/v1/workers")) == []


def test_the_operators_workers_are_seen_without_whose_runs_they_have(api: Api, world: World) -> None:
    worker_id = the_operators_worker(world)
    shown = api.get(f"/v1/workers/{worker_id}").body
    assert (shown["status"], shown["running"], shown["host"]) == ("ACTIVE", [], "")
    assert api.get("/v1/workers").body["workers"] == [shown]


def test_the_operators_workers_are_nobodys_to_command(api: Api, world: World) -> None:
    worker_id = the_operators_worker(world)
    for path in ("heartbeat", "lease"):
        assert api.send("POST", f"/v1/workers/{worker_id}/{path}").status == 404
    assert register(api, worker_id=worker_id).status == 422


def test_a_worker_with_its_own_token_runs_a_job(api: Api) -> None:
    job_id = api.job(target=SHELL)
    worker = a_worker(api.called_by(role="worker"))
    run = worker.take()
    assert worker.keep(run).status == 200
    assert worker.complete(run).body["status"] == "SUCCEEDED"
    assert api.get(f"/v1/executions/{job_id}").body["worker"] == worker.worker_id

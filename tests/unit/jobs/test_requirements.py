"""The requirements of a job choose its pool. Requirements that no worker meets are refused by name."""

from typing import Any

import pytest

from onthedot.api.http import Response
from onthedot.core import lifecycle
from onthedot.core.errors import Unavailable
from onthedot.core.ports import Moved
from tests.builders import World, the_start_of
from tests.unit.api.kit import SHELL, URL, Api, Instead, a_worker, fields_of, message_of


class CountingRegistry(Instead):
    """A registry that counts its readings, and may fail all of them."""

    def __init__(self, world: World, error: Unavailable | None = None) -> None:
        super().__init__(world.registry)
        self.error = error
        self.read = 0

    def workers(self) -> Any:
        self.read += 1
        if self.error is not None:
            raise self.error
        return self.part.workers()


def batch(world: World, registry: CountingRegistry, jobs: list[dict[str, Any]]) -> Response:
    return Api(world).on(registry=registry).send("POST", "/v1/jobs/batch", jobs=jobs)


@pytest.mark.parametrize(
    ("fields", "pool"),
    [
        ({}, "default"),
        ({"requirements": {}}, "default"),
        ({"timeout_seconds": 60}, "default"),
        ({"timeout_seconds": 61}, "long"),
        ({"timeout_seconds": 841}, "pull"),
        ({"timeout_seconds": 39_600}, "pull"),
        ({"requirements": {"cpu": 0.25}}, "long"),
        ({"requirements": {"cpu": 4, "memory_mb": 8192}}, "pull"),
        ({"requirements": {"memory_mb": 256}}, "long"),
        ({"requirements": {"storage_mb": 1}}, "pull"),
        ({"requirements": {"capabilities": ["shell"]}}, "pull"),
        ({"requirements": {"capabilities": ["lambda", "aws"]}}, "default"),
    ],
)
def test_the_smallest_pool_that_fits_is_chosen(api: Api, fields: dict[str, Any], pool: str) -> None:
    assert api.submit(**fields).body["pool"] == pool


@pytest.mark.parametrize(
    ("fields", "name", "advice"),
    [
        ({"requirements": {"capabilities": ["gpu"]}}, "requirements.capabilities", "'gpu'"),
        ({"requirements": {"cpu": 5}}, "requirements.cpu", "pull has at most 4"),
        ({"requirements": {"cpu": 1e300}}, "requirements.cpu", "ask for less"),
        ({"requirements": {"memory_mb": 8193}}, "requirements.memory_mb", "at most 8192"),
        (
            {"timeout_seconds": 841, "requirements": {"capabilities": ["lambda"]}},
            "timeout_seconds",
            "pool long allows 840 s",
        ),
        ({"requirements": {"storage_mb": 1_000_001}}, "requirements.storage_mb", "at most 1000000"),
        ({"requirements": {"capabilities": ["x" * 81]}}, "requirements.capabilities.0", "at most 80"),
        ({"requirements": {"capabilities": [""]}}, "requirements.capabilities.0", "empty"),
        ({"requirements": {"capabilities": ["a,b"]}}, "requirements.capabilities.0", "comma"),
    ],
)
def test_what_nobody_has_is_refused_by_name_and_nothing_is_stored(
    api: Api, fields: dict[str, Any], name: str, advice: str
) -> None:
    response = api.submit(payload="x" * 5000, **fields)
    assert (response.status, fields_of(response)) == (422, {name})
    assert advice in message_of(response)
    assert api.stored() == []


def test_what_a_live_worker_offers_is_enough(api: Api, world: World) -> None:
    gpu = {"requirements": {"capabilities": ["gpu"]}}
    a_worker(api, "gpu")
    assert api.submit(**gpu).body["pool"] == "pull"
    assert api.called_by("other").submit(**gpu).status == 422
    world.clock.advance(60)
    assert api.submit(**gpu).status == 422


def test_a_retry_of_a_create_is_answered_though_its_worker_is_gone(api: Api, world: World) -> None:
    gpu = {"requirements": {"capabilities": ["gpu"]}, "idempotency_key": "k"}
    a_worker(api, "gpu")
    first = api.submit(**gpu)
    world.clock.advance(60)
    again = api.submit(**gpu)
    assert (again.status, again.body["job_id"]) == (202, first.body["job_id"])


def test_a_batch_looks_at_the_workers_once_and_only_when_it_must(api: Api, world: World) -> None:
    a_worker(api, "gpu")
    registry = CountingRegistry(world)
    plain = {"callback_url": URL}
    assert batch(world, registry, [plain] * 9).status == 202
    assert registry.read == 0
    asking = [{**plain, "requirements": {"capabilities": [name]}} for name in ("gpu", "tpu") * 20]
    entries = batch(world, registry, [plain, *asking]).body["jobs"]
    assert registry.read == 1
    assert [entry.get("pool") for entry in entries] == ["default", *["pull", None] * 20]
    assert entries[2]["error"]["details"][0]["field"] == "requirements.capabilities"


def test_a_registry_that_is_away_fails_only_the_entries_that_need_it_and_is_asked_once(world: World) -> None:
    registry = CountingRegistry(world, Unavailable("throttled"))
    plain = {"callback_url": URL}
    asking = {**plain, "requirements": {"capabilities": ["gpu"]}}
    good, bad, worse = batch(world, registry, [plain, asking, asking]).body["jobs"]
    assert good["status"] == "DISPATCHED"
    assert bad["error"]["code"] == worse["error"]["code"] == "unavailable"
    assert registry.read == 1


@pytest.mark.parametrize(
    ("change", "pool"),
    [
        ({"timeout_seconds": 100}, "long"),
        ({"timeout_seconds": 1000}, "pull"),
        ({"requirements": {"memory_mb": 2000}}, "pull"),
        ({"target": SHELL}, "pull"),
        ({"target": SHELL, "timeout_seconds": 1000}, "pull"),
        ({"name": "x"}, "default"),
    ],
)
@pytest.mark.parametrize("when", [{"delay": 3600}, {"every": 3600}, {}])
def test_a_change_of_what_a_job_needs_changes_its_pool(
    api: Api, when: dict[str, Any], change: dict[str, Any], pool: str
) -> None:
    job_id = api.job(**when)
    assert api.send("PATCH", f"/v1/jobs/{job_id}", **change).body["pool"] == pool


def test_the_pool_is_chosen_from_the_whole_changed_job(api: Api) -> None:
    job_id = api.job(delay=3600, timeout_seconds=1000, requirements={"cpu": 2})
    assert api.send("PATCH", f"/v1/jobs/{job_id}", timeout_seconds=1).body["pool"] == "pull"
    assert api.send("PATCH", f"/v1/jobs/{job_id}", requirements={}).body["pool"] == "default"
    response = api.send("PATCH", f"/v1/jobs/{job_id}", requirements={"cpu": 99})
    assert (response.status, fields_of(response)) == (422, {"requirements.cpu"})
    assert api.get(f"/v1/jobs/{job_id}").body["requirements"]["cpu"] == 0


def test_a_job_that_lost_a_worker_stays_alone_when_it_is_changed(api: Api, world: World) -> None:
    run = world.store.get(api.job())
    assert run is not None
    started = world.store.move(the_start_of(run, world.clock.now()))
    assert isinstance(started, Moved)
    assert started.run is not None
    lost = lifecycle.lose(started.run, world.clock.now(), generation="g2", deployment=world.deployment)
    assert isinstance(world.store.move(lost), Moved)
    assert api.get(f"/v1/jobs/{run.job_id}").body["pool"] == "long"
    assert api.send("PATCH", f"/v1/jobs/{run.job_id}", timeout_seconds=30).body["pool"] == "long"


def test_a_change_that_is_refused_puts_no_payload_away(api: Api) -> None:
    job_id = api.job(delay=3600)
    before = api.stored()
    response = api.send("PATCH", f"/v1/jobs/{job_id}", payload="x" * 5000, requirements={"cpu": 99})
    assert response.status == 422
    assert api.stored() == before

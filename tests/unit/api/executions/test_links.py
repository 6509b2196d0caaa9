"""A large payload or result is shown by a link where the engine has links, and whole where it has none."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from onthedot.api.http import Request
from onthedot.api.router import handle
from tests.builders import World, a_world
from tests.unit.api.kit import ACME, SHELL, Api, a_worker

LONG = "x" * 5000


@pytest.fixture
def world() -> Iterator[World]:
    with a_world() as world:
        yield world


@pytest.fixture
def api(world: World) -> Api:
    return Api(world)


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
    return handle(replace(world.engine, blobs=blobs), Request("GET", path, principal=ACME)).body, blobs


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


def test_without_links_a_large_payload_is_shown_itself(api: Api) -> None:
    shown = api.get(f"/v1/jobs/{api.job(payload=LONG)}").body
    assert (shown["payload"], shown["payload_url"]) == (LONG, None)


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

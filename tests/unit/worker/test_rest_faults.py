"""A worker that has only a URL and a token, and an API that refuses, fails, or is not there."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from onthedot.domain.errors import Unavailable
from onthedot.domain.runs.records import Status
from onthedot.domain.workers.records import Load, Resources
from onthedot.ports import RESULT_BYTES, Answer
from onthedot.schema import PRIORITIES
from onthedot.worker.rest_client import RestClient
from onthedot.worker.rest_source import RestWorkSource
from onthedot.worker.work_source import NotAllowed, Task
from tests.builders import World
from tests.unit.api.kit import Api
from tests.unit.worker.kit import FINE, an_offer
from tests.unit.worker.world import TOKEN, ApiServer, a_passing_world, serving

ROOM = Resources(4, 4, 1024)
SHELL = {"type": "shell", "argv": ["true"]}


@pytest.fixture
def world() -> Iterator[World]:
    with a_passing_world() as world:
        yield world


@pytest.fixture
def server(world: World) -> Iterator[ApiServer]:
    with serving(world) as server:
        yield server


def a_desk(server: ApiServer, token: str = TOKEN) -> RestWorkSource:
    return RestWorkSource(RestClient(server.url, token, sleep=lambda _: None))


@pytest.fixture
def source(server: ApiServer) -> RestWorkSource:
    source = a_desk(server)
    source.register(an_offer())
    return source


@pytest.fixture
def api(world: World) -> Api:
    return Api(world)


def take(source: RestWorkSource, most: int = 1, free: Resources = ROOM) -> list[Task]:
    return list(source.take(most, PRIORITIES, free, idle=True).tasks)


def status(world: World, run_id: str) -> Status:
    run = world.store.get(run_id)
    assert run is not None
    return run.status


@pytest.mark.parametrize("refusal", [401, 403])
def test_a_refused_token_is_told_with_what_to_do_and_never_shown(server: ApiServer, refusal: int) -> None:
    server.answers = {"register": [refusal]}
    with pytest.raises(NotAllowed, match="ONTHEDOT_TOKEN") as refused:
        a_desk(server).register(an_offer())
    assert TOKEN not in str(refused.value)


def test_a_wrong_token_is_refused_by_the_api_itself(server: ApiServer) -> None:
    with pytest.raises(NotAllowed, match="token is not valid"):
        a_desk(server, "wrong").register(an_offer())


def test_a_pool_that_does_not_exist_is_refused_by_name(server: ApiServer) -> None:
    with pytest.raises(NotAllowed, match="nowhere"):
        a_desk(server).register(replace(an_offer(), pool="nowhere"))


@pytest.mark.parametrize("passing", [500, 502, 503, 504, 429])
def test_a_report_outlasts_an_api_that_fails_for_a_moment(
    world: World, server: ApiServer, source: RestWorkSource, api: Api, passing: int
) -> None:
    job = api.job(target=SHELL)
    [task] = take(source)
    server.answers = {"complete": [passing, passing]}
    assert source.report(task, FINE) is None
    assert status(world, job) is Status.SUCCEEDED


def test_an_api_that_goes_on_failing_is_unavailable(server: ApiServer, source: RestWorkSource) -> None:
    server.answers = {"heartbeat": [503] * 3}
    with pytest.raises(Unavailable, match="503"):
        source.beat(Load())


def test_a_lease_is_asked_for_once_since_its_lost_answer_loses_runs(server: ApiServer, source: RestWorkSource) -> None:
    server.answers = {"lease": [503]}
    server.calls.clear()
    with pytest.raises(Unavailable):
        take(source)
    assert len(server.calls) == 1


def test_an_api_that_is_not_there_is_unavailable(server: ApiServer) -> None:
    source = RestWorkSource(RestClient("http://127.0.0.1:1", TOKEN, sleep=lambda _: None))
    with pytest.raises(Unavailable, match=r"http://127\.0\.0\.1:1 cannot be reached"):
        source.register(an_offer())


def test_a_result_that_the_api_refuses_is_cut_rather_than_the_work_done_again(
    world: World, source: RestWorkSource, api: Api
) -> None:
    job = api.job(target=SHELL)
    [task] = take(source)
    assert source.report(task, Answer(ok=True, result="x" * (RESULT_BYTES + 1))) is None
    run = world.store.get(job)
    assert run is not None
    assert run.status is Status.SUCCEEDED
    assert run.result is not None
    assert run.result.startswith("xxx")
    assert "cut" in run.result


class NewerApi(RestClient):
    """Hands out a run with a target that this worker has never heard of, beside one that it knows."""

    def post(self, path: str, body: Mapping[str, Any], **how: Any) -> Any:
        given = super().post(path, body, **how)
        for run in given.get("runs", ())[:1]:
            run["target"] = {"type": "teleport", "where": "mars"}
        return given


def test_a_lease_that_cannot_be_read_costs_the_others_nothing(
    server: ApiServer, api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    source = RestWorkSource(NewerApi(server.url, TOKEN))
    source.register(an_offer())
    jobs = {api.job(target=SHELL), api.job(target=SHELL)}
    with caplog.at_level(logging.ERROR):
        [task] = take(source, most=2)
    assert task.run_id in jobs
    assert "unreadable_lease" in caplog.text

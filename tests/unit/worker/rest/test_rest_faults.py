"""A worker that has only a URL and a token, and an API that refuses, fails, or is not there."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from onthedot.core.errors import Unavailable
from onthedot.core.ports import RESULT_BYTES, Answer
from onthedot.core.records import Status
from onthedot.worker import rest_source
from onthedot.worker.rest_source import RestClient, RestWorkSource
from onthedot.worker.work_source import NotAllowed
from onthedot.workers.records import Load
from tests.builders import World
from tests.unit.api.kit import Api
from tests.unit.client.scripted import ScriptedTransport, a_refusal
from tests.unit.worker.kit import FINE, an_offer
from tests.unit.worker.rest.kit import SHELL, a_source, lease, status
from tests.unit.worker.world import TOKEN, ApiServer


@pytest.mark.parametrize("refusal", [401, 403])
def test_the_error_for_a_refused_token_says_what_to_do_and_hides_the_token(server: ApiServer, refusal: int) -> None:
    server.answers = {"register": [refusal]}
    with pytest.raises(NotAllowed, match="ONTHEDOT_TOKEN") as refused:
        a_source(server).register(an_offer())
    assert TOKEN not in str(refused.value)


def test_a_wrong_token_is_refused_by_the_api_itself(server: ApiServer) -> None:
    with pytest.raises(NotAllowed):
        a_source(server, "wrong").register(an_offer())


def test_a_pool_that_does_not_exist_is_refused_by_name(server: ApiServer) -> None:
    with pytest.raises(NotAllowed, match="nowhere"):
        a_source(server).register(replace(an_offer(), pool="nowhere"))


@pytest.mark.parametrize("passing", [500, 429])
def test_a_report_outlasts_an_api_that_fails_for_a_moment(
    world: World, server: ApiServer, source: RestWorkSource, api: Api, passing: int
) -> None:
    job = api.job(target=SHELL)
    [task] = lease(source)
    server.answers = {"complete": [passing, passing]}
    assert source.report(task, FINE) is None
    assert status(world, job) is Status.SUCCEEDED


def test_an_api_that_goes_on_failing_is_unavailable(server: ApiServer, source: RestWorkSource) -> None:
    server.answers = {"heartbeat": [503] * 3}
    with pytest.raises(Unavailable, match="503"):
        source.send_heartbeat(Load())


def test_pauses_between_tries_grow_and_stay_short(server: ApiServer) -> None:
    pauses: list[float] = []
    server.answers = {"register": [503] * 3}
    with pytest.raises(Unavailable):
        RestWorkSource(RestClient(server.url, TOKEN, sleep=pauses.append)).register(an_offer())
    first, second = pauses
    assert 0.15 <= first <= 0.3 <= second <= 0.6


def test_a_lease_is_asked_for_once_since_its_lost_answer_loses_runs(server: ApiServer, source: RestWorkSource) -> None:
    server.answers = {"lease": [503]}
    server.calls.clear()
    with pytest.raises(Unavailable):
        lease(source)
    assert len(server.calls) == 1


@pytest.mark.parametrize(("asked", "pauses"), [("1", [1.0, 1.0]), ("30", [])])
def test_a_worker_waits_as_long_as_the_api_asks_for_but_not_so_long_that_leases_end(
    asked: str, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = ScriptedTransport([a_refusal(503, "unavailable", retry_after=asked)] * 3)
    monkeypatch.setattr(rest_source, "HttpTransport", lambda *_, **__: busy)
    paused: list[float] = []
    with pytest.raises(Unavailable):
        RestClient("http://api.test", TOKEN, sleep=paused.append).post("/v1/workers/w/heartbeat", {})
    assert paused == pauses


def test_a_result_that_no_utf_8_has_is_reported_all_the_same(world: World, source: RestWorkSource, api: Api) -> None:
    job = api.job(target=SHELL)
    [task] = lease(source)
    assert source.report(task, Answer(ok=True, result="half a pair: \ud800")) is None
    assert status(world, job) is Status.SUCCEEDED


def test_an_api_that_is_not_there_is_unavailable(server: ApiServer) -> None:
    source = RestWorkSource(RestClient("http://127.0.0.1:1", TOKEN, sleep=lambda _: None))
    with pytest.raises(Unavailable, match=r"http://127\.0\.0\.1:1"):
        source.register(an_offer())


def test_a_result_that_the_api_refuses_is_cut_rather_than_the_work_done_again(
    world: World, source: RestWorkSource, api: Api
) -> None:
    job = api.job(target=SHELL)
    [task] = lease(source)
    assert source.report(task, Answer(ok=True, result="x" * (RESULT_BYTES + 1))) is None
    run = world.store.get(job)
    assert run is not None
    assert run.status is Status.SUCCEEDED
    assert run.result is not None
    assert run.result.startswith("xxx")
    assert "cut" in run.result


class NewerApi(RestClient):
    """An API that leases a run whose target type this worker does not know, beside one that it knows."""

    def post(self, path: str, body: Mapping[str, Any], **how: Any) -> Any:
        reply = super().post(path, body, **how)
        for run in reply.get("runs", ())[:1]:
            run["target"] = {"type": "teleport", "where": "mars"}
        return reply


def test_a_lease_that_cannot_be_read_costs_the_others_nothing(
    server: ApiServer, api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    source = RestWorkSource(NewerApi(server.url, TOKEN))
    source.register(an_offer())
    jobs = {api.job(target=SHELL), api.job(target=SHELL)}
    with caplog.at_level(logging.ERROR):
        [task] = lease(source, most=2)
    assert task.run_id in jobs
    assert "unreadable_lease" in caplog.text

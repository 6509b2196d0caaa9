"""A worker that has only a URL and a token, and an API that waits, refuses, fails, or is not there."""

import logging
import time
from collections.abc import Mapping
from typing import Any

import pytest

from onthedot.core.errors import Unavailable, WorkerNotFound
from onthedot.core.ports import RESULT_BYTES, Answer
from onthedot.core.records import Status
from onthedot.worker import rest_source as rest
from onthedot.worker.rest_source import LEASE_SECONDS, RestClient, RestWorkSource
from onthedot.worker.work_source import NotAllowed
from tests.builders import World
from tests.unit.api.kit import SHELL, Api
from tests.unit.client.scripted import ScriptedTransport, a_refusal
from tests.unit.worker.kit import FINE, an_offer, lease, rest_source, stored
from tests.unit.worker.world import TOKEN, ApiServer


@pytest.fixture
def source(server: ApiServer) -> RestWorkSource:
    source = rest_source(server)
    source.register(an_offer())
    return source


def test_the_worker_asks_at_once_after_a_report_since_it_may_have_woken_a_run(source: RestWorkSource, api: Api) -> None:
    api.job(target=SHELL)
    [task] = lease(source)
    source.report(task, FINE)
    began = time.monotonic()
    assert source.wait(30)
    assert time.monotonic() - began < 25
    assert source.wait(0.01), "once for each report"


def test_a_forgotten_worker_that_wants_work_must_register_first(world: World, source: RestWorkSource) -> None:
    with world.database.transaction() as connection:
        connection.execute("DELETE FROM items WHERE partition = 'workers'")
    with pytest.raises(WorkerNotFound):
        lease(source)


@pytest.mark.parametrize("refusal", [401, 403])
def test_the_error_for_a_refused_token_says_what_to_do_and_hides_the_token(server: ApiServer, refusal: int) -> None:
    server.answers = {"register": [refusal]}
    with pytest.raises(NotAllowed, match="ONTHEDOT_TOKEN") as refused:
        rest_source(server).register(an_offer())
    assert TOKEN not in str(refused.value)


@pytest.mark.parametrize("passing", [500, 429])
def test_a_report_outlasts_an_api_that_fails_for_a_moment(
    world: World, server: ApiServer, source: RestWorkSource, api: Api, passing: int
) -> None:
    job = api.job(target=SHELL)
    [task] = lease(source)
    server.answers = {"complete": [passing, passing]}
    assert source.report(task, FINE) is None
    assert stored(world, job).status is Status.SUCCEEDED


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
    monkeypatch.setattr(rest, "HttpTransport", lambda *_, **__: busy)
    paused: list[float] = []
    with pytest.raises(Unavailable):
        RestClient("http://api.test", TOKEN, sleep=paused.append).post("/v1/workers/w/heartbeat", {})
    assert paused == pauses


def test_a_result_that_no_utf_8_has_is_reported_all_the_same(world: World, source: RestWorkSource, api: Api) -> None:
    job = api.job(target=SHELL)
    [task] = lease(source)
    assert source.report(task, Answer(ok=True, result="half a pair: \ud800")) is None
    assert stored(world, job).status is Status.SUCCEEDED


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


RUN: dict[str, Any] = {
    "execution_id": "job_1",
    "job_id": "job_1",
    "attempt": 1,
    "priority": "HIGH",
    "fire_time": "2030-01-01T00:00:00.000Z",
    "lease_seconds": 30,
    "alone": False,
    "target": {"type": "shell", "argv": ["true"]},
    "payload": None,
    "timeout_seconds": 60,
    "requirements": {"capabilities": [], "cpu": 0, "memory_mb": 0, "storage_mb": 0},
    "started_at": "2030-01-01T00:00:00.000Z",
    "traceparent": "",
    "signature": {},
    "receipt": None,
}


class ScriptedApi(RestClient):
    """An API whose lease takes some time and then has this reply."""

    def __init__(self, longest_wait: int = 20) -> None:
        super().__init__("http://127.0.0.1:9", "token")
        self.now = 1_000.0
        self.takes = 0.0
        self.reply: dict[str, Any] = {"runs": [], "alone_waiting": False, "waited_ms": 0}
        self.asked: list[tuple[Mapping[str, Any], float]] = []
        self._longest_wait = longest_wait

    def post(self, path: str, body: Mapping[str, Any], *, seconds: float = 5, tries: int = 3) -> Any:
        if path.endswith("/register"):
            return {"worker_id": "patient", "longest_wait_seconds": self._longest_wait}
        self.asked.append((body, seconds))
        self.now += self.takes
        return self.reply

    def source(self) -> RestWorkSource:
        source = RestWorkSource(self, monotonic=lambda: self.now)
        source.register(an_offer())
        return source


@pytest.mark.parametrize(
    ("longest", "asked", "seconds"),
    [(20, 20, 20 + LEASE_SECONDS), (0, None, LEASE_SECONDS)],
)
def test_the_api_may_wait_for_as_long_as_it_said_and_has_time_to_reply_after_that(
    longest: int, asked: int | None, seconds: float
) -> None:
    """The API on AWS says 0."""
    api = ScriptedApi(longest)
    lease(api.source())
    [(body, time_out)] = api.asked
    assert (body.get("wait_seconds"), time_out) == (asked, seconds)


@pytest.mark.parametrize(("takes", "waited_ms", "begun"), [(19.0, 18_900, 18.9), (2.0, 20_000, 2)])
def test_a_lease_counts_from_the_end_of_the_wait_which_is_no_longer_than_the_call(
    takes: float, waited_ms: int, begun: float
) -> None:
    """The clock of the API may have been set ahead meanwhile."""
    api = ScriptedApi()
    api.takes, api.reply = takes, {"runs": [RUN], "alone_waiting": False, "waited_ms": waited_ms}
    [task] = lease(api.source())
    assert task.lease_end == pytest.approx(1_000 + begun + 30)


def test_runs_of_a_reply_that_comes_too_late_are_not_begun() -> None:
    """A heartbeat that did not name them may have said meanwhile that they never began."""
    api = ScriptedApi()
    api.takes, api.reply = LEASE_SECONDS + 5, {"runs": [RUN], "alone_waiting": False, "waited_ms": 1_000}
    with pytest.raises(Unavailable):
        lease(api.source())


def test_after_a_long_wait_the_worker_asks_again_at_once_and_after_a_short_one_it_pauses() -> None:
    api = ScriptedApi()
    source = api.source()
    pauses: list[float] = []
    source._ask_now.wait = pauses.append  # type: ignore[method-assign,assignment]
    for takes, pauses_after in ((20.0, []), (0.01, [2.0]), (20.0, [2.0])):
        api.takes = takes
        lease(source)
        assert source.wait(2.0)
        assert pauses == pauses_after

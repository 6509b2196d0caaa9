"""The trace of an API call reaches the runs of its jobs, their messages and their targets."""

from collections.abc import Iterator
from typing import Any

import pytest

from onthedot.core.ports import Answer, Call
from onthedot.core.traces import span_id_of
from onthedot.targets.router import TargetRouter
from onthedot.workflows.start import WorkflowStarter
from tests.builders import World, a_world
from tests.scenarios.kits.simulation import Simulation
from tests.unit.api.kit import SHELL, URL, Api, a_worker

TRACE = "0af7651916cd43dd8448eb211c80319c"
HEADERS = {"TraceParent": f"00-{TRACE}-b7ad6b7169203331-01"}


@pytest.fixture
def world() -> Iterator[World]:
    with a_world() as world:
        yield world


@pytest.fixture
def api(world: World) -> Api:
    return Api(world)


class Remembering:
    """A target that remembers its calls, and fails as often as it is told."""

    def __init__(self, failures: int = 0) -> None:
        self.calls: list[Call] = []
        self._failures = failures

    def perform(self, call: Call) -> Answer:
        self.calls.append(call)
        return Answer(ok=len(self.calls) > self._failures)


def performed(world: World, seconds: float, failures: int = 0) -> list[Call]:
    target = Remembering(failures)
    simulation = Simulation(world)
    factories: Any = {"http": lambda: target, "workflow": lambda: WorkflowStarter(world.engine)}
    simulation.target = TargetRouter(factories)  # type: ignore[assignment]
    simulation.let_pass(seconds)
    return target.calls


@pytest.mark.parametrize("delay", [0, 600])
def test_each_attempt_of_a_job_has_the_trace_of_its_call_and_a_span_of_its_own(
    api: Api, world: World, delay: int
) -> None:
    job_id = api.submit(HEADERS, delay=delay, retry={"jitter": False}).body["job_id"]
    calls = performed(world, delay + 30, failures=1)
    assert [call.traceparent for call in calls] == [f"00-{TRACE}-{span_id_of(job_id, n)}-01" for n in (1, 2)]
    shown = api.execution(job_id)
    assert shown["trace_id"] == TRACE
    assert [attempt["span_id"] for attempt in shown["attempts"]] == [span_id_of(job_id, n) for n in (1, 2)]
    assert api.get(f"/v1/jobs/{job_id}").body["trace_id"] == TRACE


def test_a_near_jobs_message_has_the_trace(api: Api, world: World) -> None:
    api.submit(HEADERS)
    (received,) = world.received()
    assert received.message.trace == f"{TRACE}-b7ad6b7169203331-01"


def test_a_call_without_a_trace_begins_one(api: Api) -> None:
    first, second = (api.get(f"/v1/jobs/{api.job()}").body["trace_id"] for _ in range(2))
    assert first != second
    assert api.submit({"traceparent": "junk"}).status == 202


def test_all_jobs_of_a_batch_have_the_trace_of_the_call(api: Api) -> None:
    jobs = [{"callback_url": URL}, {"callback_url": URL, "every": 60}]
    answer = api.send("POST", "/v1/jobs/batch", HEADERS, jobs=jobs)
    assert [api.get(f"/v1/jobs/{job['job_id']}").body["trace_id"] for job in answer.body["jobs"]] == [TRACE] * 2


def test_the_runs_of_a_recurring_job_have_traces_of_their_own(api: Api, world: World) -> None:
    job_id = api.submit(HEADERS, every=60).body["job_id"]
    calls = performed(world, 130)
    traces = {call.traceparent.split("-")[1] for call in calls}
    assert len(traces) == len(calls) == 2
    assert TRACE not in traces
    shown = [run["trace_id"] for run in api.get(f"/v1/jobs/{job_id}/executions").body["executions"] if run["attempts"]]
    assert set(shown) == traces


def test_a_run_on_demand_has_the_trace_of_its_call(api: Api) -> None:
    job_id = api.job(every=3600)
    assert api.call("POST", f"/v1/jobs/{job_id}/run", headers=HEADERS).body["trace_id"] == TRACE


def test_the_jobs_of_a_workflow_have_its_trace(api: Api, world: World) -> None:
    jobs = [{"key": "a", "callback_url": URL}, {"key": "b", "callback_url": URL, "depends_on": ["a"]}]
    assert api.send("POST", "/v1/workflows", HEADERS, jobs=jobs).status == 202
    assert [call.traceparent.split("-")[1] for call in performed(world, 30)] == [TRACE] * 2


def test_a_pull_worker_gets_the_header_with_its_lease(api: Api) -> None:
    job_id = api.submit(HEADERS, target=SHELL).body["job_id"]
    assert a_worker(api).take()["traceparent"] == f"00-{TRACE}-{span_id_of(job_id, 1)}-01"

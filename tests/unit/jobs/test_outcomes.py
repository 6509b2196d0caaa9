"""The counts, the end, the outcomes and the traces of jobs as GET shows them."""

from typing import Any

import pytest

from onthedot.core.ports import Answer, Call
from onthedot.core.traces import span_id_of
from onthedot.jobs.shown import runs_so_far
from onthedot.targets.router import TargetRouter
from onthedot.workflows.start import WorkflowStarter
from tests.builders import World
from tests.scenarios.kits.simulation import Simulation
from tests.unit.api.kit import SHELL, URL, Api, a_worker

BROKEN = Answer(ok=False, error="HTTP 400: no such order", retryable=False)


def test_runs_counts_the_runs_whose_time_has_come(api: Api, world: World) -> None:
    job_id = api.job(every=1)
    assert api.get(f"/v1/jobs/{job_id}").body["runs"] == 0
    Simulation(world).let_pass(3)
    assert api.get(f"/v1/jobs/{job_id}").body["runs"] == 3


def test_a_run_that_jitter_moves_counts_when_it_fires(api: Api, world: World) -> None:
    job_id = api.job(every=1, jitter_seconds=100)
    simulation = Simulation(world)
    for seconds in (1, 30, 61, 120):
        simulation.let_pass(seconds)
        due = len(simulation.target.calls)
        assert api.get(f"/v1/jobs/{job_id}").body["runs"] == due
    assert due > 50


def test_a_paused_job_counts_none_of_the_runs_that_were_stamped_ahead(api: Api, world: World) -> None:
    job_id = api.job(every=10)
    Simulation(world).let_pass(25)
    assert api.send("POST", f"/v1/jobs/{job_id}/pause").body["runs"] == 2
    job = world.store.get(job_id)
    assert job is not None
    assert runs_so_far(job, world.clock.now() + 600_000) == 2


def test_a_schedule_with_an_end_has_not_finished_before_its_last_run(api: Api, world: World) -> None:
    job_id = api.job(every=60, max_runs=2)
    path = f"/v1/jobs/{job_id}"
    simulation = Simulation(world)
    for runs in (0, 1):
        simulation.let_pass(runs * 61)
        shown = api.get(path).body
        assert (shown["runs"], shown["finished_at"], shown["status"]) == (runs, None, "ACTIVE")
        assert shown["next_fire_time"] == f"2026-03-01T12:0{runs + 1}:00.000Z"
    simulation.let_pass(61)
    shown = api.get(path).body
    assert (shown["runs"], shown["finished_at"], shown["status"]) == (2, "2026-03-01T12:02:00.000Z", "COMPLETED")


def test_a_job_whose_last_run_is_tried_again_has_not_finished(api: Api, world: World) -> None:
    job_id = api.job(every=60, max_runs=1, retry={"backoff_seconds": 300, "jitter": False})
    simulation = Simulation(world, [Answer(ok=False, error="HTTP 503")])
    simulation.let_pass(200)
    assert api.get(f"/v1/jobs/{job_id}").body["finished_at"] is None
    simulation.let_pass(300)
    assert api.get(f"/v1/jobs/{job_id}").body["finished_at"] == "2026-03-01T12:06:00.000Z"


def test_a_recurring_job_shows_its_last_outcome_and_the_ones_before(api: Api, world: World) -> None:
    job_id = api.job(every=1, name="report")
    assert api.get(f"/v1/jobs/{job_id}").body["last_outcome"] is None
    Simulation(world, [Answer(ok=True), BROKEN]).let_pass(2)
    shown = api.get(f"/v1/jobs/{job_id}").body
    [listed] = api.get("/v1/jobs").body["jobs"]
    assert shown["outcomes"] == listed["outcomes"] == ["FAILED", "SUCCEEDED"]
    assert listed["every"] == 1
    last = shown["last_outcome"]
    assert last == listed["last_outcome"]
    assert last["execution_id"].startswith(f"{job_id}.")
    assert (last["status"], last["fire_time"]) == ("FAILED", "2026-03-01T12:00:02.000Z")
    assert "no such order" in last["reason"]
    assert last["finished_at"] == "2026-03-01T12:00:02.000Z"


def test_the_last_outcome_has_its_own_lateness(api: Api, world: World) -> None:
    job_id = api.job(every=10)
    simulation = Simulation(world)
    simulation.let_pass(10)
    assert api.get(f"/v1/jobs/{job_id}").body["last_outcome"]["lateness_ms"] == 0
    assert api.send("PATCH", f"/v1/jobs/{job_id}", every=3600).status == 200
    simulation.let_pass(15)
    last = api.get(f"/v1/jobs/{job_id}").body["last_outcome"]
    assert (last["status"], last["reason"], last["lateness_ms"]) == ("SKIPPED", "schedule changed", None)


def test_a_one_off_job_is_its_own_last_outcome(api: Api, world: World) -> None:
    job_id = api.job(delay=5)
    path = f"/v1/jobs/{job_id}"
    assert api.get(path).body["last_outcome"] is None
    Simulation(world, [BROKEN]).let_pass(6)
    [listed] = api.get("/v1/jobs").body["jobs"]
    shown = api.get(path).body
    assert shown["last_outcome"] == listed["last_outcome"]
    assert (shown["last_outcome"]["execution_id"], shown["last_outcome"]["status"]) == (job_id, "FAILED")
    assert "outcomes" not in shown


def test_the_status_says_why_the_latest_run_failed(api: Api, world: World) -> None:
    job_id = api.job(every=60)
    Simulation(world, [BROKEN]).let_pass(61)
    status = api.get(f"/v1/jobs/{job_id}/status").body
    assert status["status"] == "ACTIVE"
    assert "no such order" in status["reason"]


def test_a_job_that_fires_each_second_reads_one_page_for_its_outcomes(api: Api, world: World) -> None:
    job_id = api.job(every=1)
    Simulation(world).let_pass(30)
    counted = CountingReads(world)
    shown = Api(counted.world).get(f"/v1/jobs/{job_id}").body
    assert (shown["outcomes"], shown["runs"]) == (["SUCCEEDED"] * 12, 30)
    assert counted.pages == [20]


class CountingReads:
    """A world whose reads of runs are counted by their sizes."""

    def __init__(self, world: World) -> None:
        self.pages: list[int] = []
        self.world = world
        runs_of = world.store.runs_of

        def counted(job_id: str, limit: int, cursor: str | None = None, *, until: int | None = None) -> object:
            self.pages.append(limit)
            return runs_of(job_id, limit, cursor, until=until)

        world.store.runs_of = counted  # type: ignore[method-assign, assignment]


TRACE = "0af7651916cd43dd8448eb211c80319c"
HEADERS = {"TraceParent": f"00-{TRACE}-b7ad6b7169203331-01"}


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

"""The counts, the end and the outcomes of jobs as GET shows them: those of runs whose time has come."""

from collections.abc import Iterator

import pytest

from onthedot.core.ports import Answer
from onthedot.jobs.shown import runs_so_far
from tests.builders import World, a_world
from tests.scenarios.kits.simulation import Simulation
from tests.unit.api.kit import Api

BROKEN = Answer(ok=False, error="HTTP 400: no such order", retryable=False)


@pytest.fixture
def world() -> Iterator[World]:
    with a_world() as world:
        yield world


@pytest.fixture
def api(world: World) -> Api:
    return Api(world)


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

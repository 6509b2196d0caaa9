"""Health tells whether ticks come: to monitors, in `explain` and in the audit."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from onthedot.api.http import Request, Response
from onthedot.api.router import handle
from onthedot.core.errors import Unavailable, Unreachable
from onthedot.core.ports import Deadline, Tick
from onthedot.core.shards import ShardHistory
from onthedot.core.slots import Deployment
from onthedot.core.tick import dispatch_due
from onthedot.engine import Engine
from onthedot.jobs.audit import audit_due_jobs
from onthedot.statistics.health import read_ticks
from tests.builders import DEPLOYMENT, World, a_world
from tests.scenarios.kits.simulation import Simulation
from tests.unit.api.kit import Api

FIELDS = {"status", "version", "time", "last_tick", "tick_age_seconds"}
"""Of every answer, also of 503."""
FOUR_SHARDS = Deployment(shards=4, lookahead=3, history_days=7)


def health(world: World, engine: Engine | None = None) -> Response:
    return handle(engine or world.engine, Request("GET", "/v1/health"))


def test_while_ticks_come_health_is_ok_and_tells_the_age_of_the_last_one(world: World, simulation: Simulation) -> None:
    simulation.let_pass(60)
    simulation.let_pass(20, ticking=False)

    answer = health(world)

    assert answer.status == 200
    assert answer.body == {
        "status": "ok",
        "version": answer.body["version"],
        "time": "2026-03-01T12:01:20.000Z",
        "last_tick": "2026-03-01T12:01:00.000Z",
        "tick_age_seconds": 20,
    }


def test_ticks_that_stop_for_six_minutes_make_health_late_and_it_recovers(world: World, simulation: Simulation) -> None:
    simulation.let_pass(60)
    simulation.let_pass(180, ticking=False)
    assert health(world).status == 200
    simulation.let_pass(180, ticking=False)

    answer = health(world)

    assert (answer.status, answer.body["status"], answer.body["tick_age_seconds"]) == (503, "late", 360)
    assert answer.body["last_tick"] == "2026-03-01T12:01:00.000Z"
    assert set(answer.body) == FIELDS
    simulation.let_pass(60)
    assert (health(world).status, health(world).body["status"]) == (200, "ok")


def test_a_stage_that_never_had_a_tick_is_starting_for_three_minutes_and_then_late(world: World) -> None:
    first = health(world)
    assert (first.status, first.body["status"], first.body["last_tick"]) == (200, "starting", None)
    world.clock.advance(170)
    assert health(world).body["status"] == "starting"
    world.clock.advance(80)
    answer = health(world)
    assert (answer.status, answer.body["status"], answer.body["tick_age_seconds"]) == (503, "late", None)
    assert set(answer.body) == set(first.body) == FIELDS


def test_one_shard_group_without_ticks_is_not_hidden_by_the_others() -> None:
    with a_world(FOUR_SHARDS) as world:
        simulation = Simulation(world)
        simulation.shards_per_group = 2
        simulation.submit(3600)
        simulation.let_pass(60)
        for minute in range(4):
            world.clock.advance(60)
            tick = Tick(0, (0, 1), world.clock.now(), f"t{minute}")
            dispatch_due(world.engine, world.progress, tick, Deadline.after(world.clock.now(), 60_000))

        answer = health(world)

        assert (answer.status, answer.body["status"], answer.body["tick_age_seconds"]) == (503, "late", 240)


def test_new_shards_that_had_no_tick_yet_are_late_after_three_minutes(world: World, simulation: Simulation) -> None:
    simulation.let_pass(60)
    more = replace(world.engine, deployment=FOUR_SHARDS)
    assert health(world, more).body["status"] == "ok"
    history = world.shards.read()
    world.shards.replace(history, history.announced(4, world.clock.now() // 60_000))
    assert health(world, more).body["status"] == "ok"
    for minute in range(5):
        world.clock.advance(60)
        tick = Tick(0, (0, 1), world.clock.now(), f"t{minute}")
        dispatch_due(world.engine, world.progress, tick, Deadline.after(world.clock.now(), 60_000))

    answer = health(world, replace(world.engine, deployment=FOUR_SHARDS))

    assert (answer.status, answer.body["status"]) == (503, "late")
    assert read_ticks(more).sentence.endswith("; 2 shards had none")


def test_a_tick_that_runs_out_of_time_is_not_a_completed_one(world: World, simulation: Simulation) -> None:
    simulation.let_pass(60)
    for _ in range(5):
        world.clock.advance(60)
        simulation.plan_ticks()
        simulation.dispatch(no_time=True)
    assert (health(world).status, health(world).body["tick_age_seconds"]) == (503, 300)


class CountingTicks:
    """Tick times that count their reads, and fail if asked to."""

    def __init__(self, world: World, error: Exception | None = None) -> None:
        self._world = world
        self.error = error
        self.reads = 0

    def last_ticks(self, shards: Sequence[int]) -> Mapping[int, int]:
        self.reads += 1
        if self.error is not None:
            raise self.error
        return self._world.progress.last_ticks(shards)


@pytest.mark.parametrize("error", [None, Unavailable("throttled")])
def test_a_flood_of_calls_reads_the_ticks_once_in_ten_seconds(
    world: World, simulation: Simulation, error: Exception | None
) -> None:
    simulation.let_pass(60)
    ticks = CountingTicks(world, error)
    engine = replace(world.engine, tick_times=ticks)
    for _ in range(100):
        health(world, engine)
        world.clock.advance(0.19)
    assert ticks.reads == 2
    # A remembered tick gets older too.
    if error is None:
        assert health(world, engine).body["tick_age_seconds"] == 19


@pytest.mark.parametrize("error", [Unavailable("gone"), Unreachable("no table"), KeyError("done")])
def test_health_is_late_without_a_tick_while_the_table_is_away(
    world: World, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    answer = health(world, replace(world.engine, tick_times=CountingTicks(world, error)))
    assert (answer.status, answer.body["status"], answer.body["last_tick"]) == (503, "late", None)
    assert set(answer.body) == FIELDS
    assert "ticks_unread" in caplog.text


def test_the_first_call_to_a_new_stage_notes_the_start_once(world: World) -> None:
    assert world.shards.read() == ShardHistory()
    health(world)
    noted = world.shards.read()
    assert noted.used == DEPLOYMENT.shards
    world.clock.advance(100)
    health(world)
    assert world.shards.read() == noted


def codes(api: Api, job_id: str) -> list[str]:
    return [reason["code"] for reason in api.get(f"/v1/jobs/{job_id}/explain").body["reasons"]]


@pytest.mark.parametrize("fields", [{"delay": 600}, {"every": 3600}])
def test_explain_says_that_the_scheduler_is_late(world: World, simulation: Simulation, fields: Any) -> None:
    api = Api(world)
    job_id = api.job(**fields)
    simulation.let_pass(60)
    assert codes(api, job_id) == ["not_due"]
    world.clock.advance(360)
    assert codes(api, job_id) == ["scheduler_late", "not_due"]
    first = api.get(f"/v1/jobs/{job_id}/explain").body["reasons"][0]
    assert first["message"] == "the scheduler itself is late: the last tick ended 6 min ago"


def test_explain_does_not_speak_of_ticks_where_none_is_needed(world: World, simulation: Simulation) -> None:
    api = Api(world)
    job_id = api.job(delay=600)
    api.call("POST", f"/v1/jobs/{job_id}/pause")
    simulation.let_pass(60)
    world.clock.advance(360)
    assert codes(api, job_id) == ["paused"]


def test_the_auditor_counts_late_ticks(world: World, simulation: Simulation, caplog: pytest.LogCaptureFixture) -> None:
    simulation.let_pass(60)

    def audit() -> int:
        deadline = Deadline.after(world.clock.now(), 60_000)
        return audit_due_jobs(world.engine, range(DEPLOYMENT.shards), deadline)["ticks_late"]

    assert audit() == 0
    world.clock.advance(360)
    assert audit() == 1
    assert "ticks_late" in caplog.text

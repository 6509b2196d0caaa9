"""The job of the stage itself: one for the stage, once a minute, made again when it is gone, invisible to users."""

from dataclasses import replace
from typing import Any

import pytest

from onthedot.core.ids import job_id_for_key
from onthedot.core.ports import Answer, Deadline, ReadRecords
from onthedot.core.records import Kind, Record, Status
from onthedot.jobs.change import delete_job
from onthedot.statistics.canary import MOST_MADE, CanaryKeeper, ensure_canary, remove_canary
from onthedot.targets.router import Canary, TargetRouter
from tests.builders import World
from tests.scenarios.kits.simulation import Simulation
from tests.unit.api.kit import Api, fields_of, message_of


def canaries(world: World) -> list[Record]:
    ids = [job_id_for_key("onthedot", f"canary-{number}") for number in range(MOST_MADE)]
    return list(world.store.get_many(ids, Deadline.after(world.clock.now(), 1_000)).found.values())


def test_it_runs_once_a_minute_and_is_measured_like_any_run(world: World) -> None:
    simulation = Simulation(world)
    simulation.target = TargetRouter({"canary": Canary})  # type: ignore[assignment]
    assert ensure_canary(world.engine)
    simulation.let_pass(600)
    (job,) = canaries(world)
    assert (job.tenant, job.kind, job.status, job.pool) == ("onthedot", Kind.RECURRING, Status.ACTIVE, "default")
    runs = [run for run in world.store.runs_of(job.job_id, 100).items if run.status is Status.SUCCEEDED]
    assert len(runs) == 10
    assert [run.started_at for run in runs] == [run.fire_time for run in runs], "all started on time"


def test_many_dispatchers_make_one(world: World) -> None:
    for _ in range(5):
        keeper = CanaryKeeper(wanted=True)
        keeper.keep(world.engine)
        keeper.keep(world.engine)
    assert len(canaries(world)) == 1


def test_a_process_looks_once(world: World) -> None:
    keeper = CanaryKeeper(wanted=True)
    keeper.keep(world.engine)
    broken: Any = None
    keeper.keep(replace(world.engine, store=broken))


def test_a_deleted_one_is_made_again_by_the_next_process(world: World) -> None:
    ensure_canary(world.engine)
    delete_job(world.engine, "onthedot", job_id_for_key("onthedot", "canary-0"))
    CanaryKeeper(wanted=True).keep(world.engine)
    assert sorted(job.status for job in canaries(world)) == [Status.ACTIVE, Status.DELETED]


def test_one_that_cannot_be_read_is_made_again(world: World) -> None:
    ensure_canary(world.engine)
    with world.database.transaction() as connection:
        connection.execute("UPDATE runs SET definition = '{' WHERE tenant = 'onthedot' AND kind = 'recurring'")
    assert ensure_canary(world.engine)
    assert [job.status for job in canaries(world)] == [Status.ACTIVE], "the other one cannot be read"


def test_a_stage_that_wants_none_deletes_it_and_may_want_it_again(world: World) -> None:
    CanaryKeeper(wanted=False).keep(world.engine)
    assert canaries(world) == []
    ensure_canary(world.engine)
    CanaryKeeper(wanted=False).keep(world.engine)
    assert [job.status for job in canaries(world)] == [Status.DELETED]
    assert remove_canary(world.engine)
    ensure_canary(world.engine)
    assert sorted(job.status for job in canaries(world)) == [Status.ACTIVE, Status.DELETED]


def test_while_the_table_fails_ticks_go_on_and_the_next_one_tries_again(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    keeper = CanaryKeeper(wanted=True)

    class Unread:
        def get_many(self, run_ids: list[str], deadline: Deadline) -> ReadRecords:
            return ReadRecords({}, unread=frozenset(run_ids))

    store: Any = Unread()
    keeper.keep(replace(world.engine, store=store))
    assert "canary_not_kept" in caplog.text
    assert canaries(world) == []
    keeper.keep(world.engine)
    assert len(canaries(world)) == 1


def test_users_can_neither_make_nor_see_one(world: World) -> None:
    ensure_canary(world.engine)
    api = Api(world)
    refused = api.submit(target={"type": "canary"})
    assert refused.status == 422
    assert "canary" not in message_of(refused).replace("'canary'", "")
    (job,) = canaries(world)
    assert api.get(f"/v1/jobs/{job.job_id}").status == 404
    assert sum(minute["runs"] for minute in api.get("/v1/forecast?minutes=10").body["minutes"]) == 0


def test_its_runs_are_in_no_answer_either(world: World) -> None:
    simulation = Simulation(world, [Answer(ok=False, error="boom", retryable=False)])
    ensure_canary(world.engine)
    simulation.let_pass(180)
    (job,) = canaries(world)
    runs = [run.run_id for run in world.store.runs_of(job.job_id, 100).items]
    assert runs
    api = Api(world)
    paths = [f"/v1/jobs/{job.job_id}{part}" for part in ("/status", "/executions", "/explain")]
    assert {api.get(path).status for path in [*paths, *(f"/v1/executions/{run}" for run in runs)]} == {404}
    assert {api.call("POST", f"/v1/jobs/{job.job_id}/{word}").status for word in ("pause", "run")} == {404}
    assert api.call("DELETE", f"/v1/jobs/{job.job_id}").status == 404
    assert api.submit(dependencies=[job.job_id]).status in {404, 422}
    assert api.get("/v1/dead-letters").body["dead_letters"] == []
    assert api.get("/v1/limits").body["limits"] == []


def test_no_limit_can_stop_it(world: World) -> None:
    api = Api(world)
    refused = api.send("PUT", "/v1/limits/onthedot", in_flight=0)
    assert (refused.status, fields_of(refused)) == (422, {"tenant"})
    assert world.engine.limits.find("onthedot") is None

"""A frozen stage starts nothing and accepts nothing; attempts that run already may end."""

import random

import pytest

from onthedot.core.errors import StageClosed
from onthedot.core.finish import finish_run
from onthedot.core.ports import Answer, Moved
from onthedot.core.records import Record, Status
from onthedot.statistics.canary import CanaryKeeper
from onthedot.transfer.change_stage import begin_import, freeze, release, thaw
from tests.builders import a_run, the_start_of
from tests.scenarios.kits.two_stages import TwoStages


def running(stages: TwoStages, job_id: str) -> Record:
    """The run of a job, started just now by a worker outside of the simulation."""
    world = stages.source.world
    run = world.store.get(job_id)
    assert run is not None
    outcome = world.store.move(the_start_of(run, stages.clock.now()))
    assert isinstance(outcome, Moved)
    assert outcome.run is not None
    return outcome.run


def finish(stages: TwoStages, run: Record) -> str:
    return finish_run(stages.source.world.engine, run, run.definition, Answer(ok=True), chance=random.Random(1))


def test_clients_get_a_reason_and_can_still_read(stages: TwoStages) -> None:
    job = stages.api().job(delay=600)
    assert stages.api().send("POST", "/v1/stage/freeze").status == 200
    refused = stages.api().submit(delay=1)
    assert (refused.status, refused.body["error"]["code"]) == (503, "frozen")
    assert "the stage has been frozen since 2026-03-01T12:00:00.000Z" in refused.body["error"]["message"]
    assert refused.headers["Retry-After"] == "30"
    for method, path in (("DELETE", f"/v1/jobs/{job}"), ("POST", f"/v1/jobs/{job}/run"), ("PUT", "/v1/gates/g")):
        assert stages.api().call(method, path, b"{}").status == 503, path
    assert stages.api().get(f"/v1/jobs/{job}").status == 200
    assert stages.api().send("POST", "/v1/schedules/preview", cron="* * * * *").status == 200


@pytest.mark.parametrize("role", ["operator", "viewer", "worker"])
def test_only_an_admin_may_freeze_export_and_import(stages: TwoStages, role: str) -> None:
    api = stages.api().called_by(role=role)
    assert api.get("/v1/export").status == 403
    assert api.get("/v1/stage").status == 403
    for path in ("stage/freeze", "stage/thaw", "export/finish", "import/begin", "import", "import/release"):
        assert api.send("POST", f"/v1/{path}").status == 403


def test_nothing_starts_and_a_thaw_lets_all_go_on(stages: TwoStages) -> None:
    near, far = stages.source.submit(3), stages.source.submit(300)
    freeze(stages.source.world.engine)
    stages.let_pass(400)
    assert stages.source.target.calls == []
    assert stages.source.status(far) is Status.PENDING, "ticks claim nothing"
    stages.command("thaw")
    stages.let_pass(400)
    assert stages.called() == {near.run_id: 1, far.run_id: 1}


def test_ticks_of_a_frozen_stage_come_in_time(stages: TwoStages) -> None:
    stages.source.submit(300)
    freeze(stages.source.world.engine)
    stages.let_pass(600)
    assert stages.api().get("/v1/health").body["status"] == "ok"


def test_a_stage_that_imports_makes_its_canary_after_the_release(
    stages: TwoStages, caplog: pytest.LogCaptureFixture
) -> None:
    engine, keeper = stages.destination.world.engine, CanaryKeeper(wanted=True)
    begin_import(engine, "f")
    keeper.keep(engine)
    assert "canary_not_kept" not in caplog.text
    release(engine, "f")
    keeper.keep(engine)
    stages.let_pass(120)
    assert len(stages.called()) >= 1


def test_every_writer_is_refused_but_a_running_attempt(stages: TwoStages) -> None:
    world = stages.source.world
    run = running(stages, stages.source.submit(0).run_id)
    pending = a_run(stages.clock).pending().stored_in(world.store)
    freeze(world.engine)
    with pytest.raises(StageClosed):
        world.engine.store.create(a_run(stages.clock).build())
    with pytest.raises(StageClosed):
        world.engine.store.move(the_start_of(pending, stages.clock.now()))
    with pytest.raises(StageClosed):
        world.engine.store.set_aside(pending.run_id, pending.slot or "", "why", stages.clock.now())
    assert finish(stages, run) == "succeeded"


def test_other_processes_follow_within_a_second(stages: TwoStages) -> None:
    first = stages.source.world
    second = type(first).on(first.database, first.clock, first.deployment)
    assert second.stage.read().is_open
    freeze(first.engine)
    stages.clock.advance(1)
    assert not second.stage.read().is_open
    thaw(first.engine, force=False)
    stages.clock.advance(1)
    assert second.stage.read().is_open


def test_an_export_waits_for_a_running_attempt_and_its_child_runs_elsewhere(stages: TwoStages) -> None:
    parent = stages.source.submit(0)
    child = stages.api().job(dependencies=[parent.job_id])
    run = running(stages, parent.job_id)
    result = stages.try_command("export", "--freeze", "--wait", "4s", str(stages.file))
    assert result.exit_code == 1
    assert run.run_id in result.stderr
    assert "`onthedot thaw`" in result.stderr
    assert not stages.file.exists()
    with pytest.raises(StageClosed):
        finish(stages, run)  # the attempt is stored, and its child cannot be notified here
    assert stages.source.status(run) is Status.SUCCEEDED
    stages.move()
    stages.let_pass(300)
    assert stages.called() == {child: 1}
    assert stages.destination.status(run) is Status.SUCCEEDED


def test_an_attempt_whose_worker_died_is_tried_again_elsewhere_under_the_same_id(stages: TwoStages) -> None:
    run = running(stages, stages.source.submit(0).run_id)
    stages.move()
    stages.let_pass(120)
    found = stages.destination.stored(run)
    assert (found.status, found.attempt, found.losses) == (Status.SUCCEEDED, 2, 1)
    assert [attempt.outcome for attempt in found.attempts] == ["lost", "succeeded"]

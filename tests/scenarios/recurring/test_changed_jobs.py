"""Recurring jobs that are paused, resumed, changed, cancelled, run on demand and backfilled."""

from dataclasses import replace

import pytest

from onthedot.core.choices import Priority
from onthedot.core.errors import JobConflict, JobNotFound
from onthedot.core.ids import stamped_run_id
from onthedot.core.records import Record, Status
from onthedot.core.schema import DEFAULT_POOL
from onthedot.core.stamping import new_run
from onthedot.jobs.change import cancel_job, change_job, delete_job, pause_job
from onthedot.jobs.changes import JobChange
from onthedot.jobs.run_extra import backfill, run_now
from onthedot.schedules.choices import OverlapPolicy
from onthedot.schedules.schedule import Recurrence, fires_between
from tests.builders import NOON
from tests.scenarios.kits.faults import Fault, Faults
from tests.scenarios.kits.recurring import (
    changed_to,
    cron,
    every,
    expected,
    fired,
    pause,
    resume,
    run_all,
    runs_of,
    skip_missed,
    submit,
)
from tests.scenarios.kits.simulation import Simulation


def test_a_paused_job_fires_nothing_and_goes_on_when_resumed(simulation: Simulation) -> None:
    schedule = every(30, simulation)
    job = submit(simulation, schedule, skip_missed(grace=1))
    simulation.let_pass(120)
    pause(simulation, job)
    count = len(fired(simulation, job))
    simulation.let_pass(600)
    assert len(fired(simulation, job)) == count
    resume(simulation, job)
    simulation.let_pass(300)
    records = runs_of(simulation, job)
    ran = {r.fire_time for r in records if r.status is Status.SUCCEEDED}
    assert len(ran) >= count + 9
    for nominal in expected(simulation, schedule):
        covered = [r for r in records if r.fire_time <= nominal <= (r.skipped_until or r.fire_time)]
        assert covered, f"{nominal} has no outcome"
    assert len(fired(simulation, job)) == len(ran)


def test_a_pause_and_resume_before_a_stamped_time_changes_nothing(simulation: Simulation) -> None:
    schedule = every(60, simulation)
    job = submit(simulation, schedule)
    simulation.let_pass(10)
    pause(simulation, job)
    simulation.let_pass(10)
    resume(simulation, job)
    simulation.let_pass(600)
    assert fired(simulation, job) == expected(simulation, schedule)


def test_a_changed_schedule_fires_its_own_times_only(simulation: Simulation) -> None:
    job = submit(simulation, cron("* * * * *"))
    simulation.let_pass(130)  # three more minutes are stamped and in SQS by now
    changed_at = simulation.clock.now()
    changed_to(simulation, job, cron("*/5 * * * *"))
    simulation.let_pass(900)
    before = [at for at in fired(simulation, job) if at <= changed_at]
    after = [at for at in fired(simulation, job) if at > changed_at]
    assert len(before) == 2
    assert after == fires_between(cron("*/5 * * * *"), changed_at, simulation.clock.now() + 1, 100)
    skipped = [r for r in runs_of(simulation, job) if r.status is Status.SKIPPED]
    assert {r.reason for r in skipped} == {"schedule changed"}


def test_a_time_that_was_changed_away_and_back_runs_once(simulation: Simulation) -> None:
    job = submit(simulation, cron("3 12 * * *"))  # stamped at once: three minutes ahead
    assert len(runs_of(simulation, job)) == 1
    changed_to(simulation, job, cron("0 0 * * *"))
    simulation.let_pass(30)
    changed_to(simulation, job, cron("3 12 * * *"))
    simulation.let_pass(300)
    assert fired(simulation, job) == [NOON + 180_000]


def test_a_time_skipped_by_a_pause_is_revived_when_the_policy_wants_it(simulation: Simulation) -> None:
    job = submit(simulation, cron("3 12 * * *"), run_all())
    simulation.let_pass(150)
    pause(simulation, job)
    simulation.let_pass(120)
    assert [r.reason for r in runs_of(simulation, job)] == ["paused"]
    resume(simulation, job)
    simulation.let_pass(60)
    (run,) = runs_of(simulation, job)
    assert run.status is Status.SUCCEEDED
    assert len(fired(simulation, job)) == 1


def test_a_time_that_was_skipped_for_good_is_not_revived(simulation: Simulation) -> None:
    """A dispatcher died after it had stamped the time, and the run was skipped before the job went on."""
    job, world = submit(simulation, cron("10,20 12 * * *")), simulation.world
    at, now = job.due_at, simulation.clock.now()
    stamp = new_run(job, stamped_run_id(job.job_id, at), at, at, now=now, deployment=world.deployment)
    world.store.create(replace(stamp, status=Status.SKIPPED, slot=None, reason="overlap: run x has not ended"))
    simulation.let_pass(1_500)
    assert fired(simulation, job) == [at + 600_000]
    assert [run.status for run in runs_of(simulation, job)] == [Status.SKIPPED, Status.SUCCEEDED]


@pytest.mark.parametrize("stop", [cancel_job, delete_job])
def test_a_stopped_job_never_fires_again(simulation: Simulation, stop: object) -> None:
    job = submit(simulation, every(20, simulation))
    simulation.let_pass(65)
    stop(simulation.world.engine, "acme", job.job_id)  # type: ignore[operator]
    simulation.let_pass(600)
    assert len(fired(simulation, job)) == 3
    unfinished = [r for r in runs_of(simulation, job) if r.status not in (Status.SUCCEEDED, Status.SKIPPED)]
    assert unfinished == []


def test_a_run_on_demand_leaves_the_schedule_alone(simulation: Simulation) -> None:
    schedule = every(60, simulation)
    job = submit(simulation, schedule)
    run = run_now(simulation.world.engine, "acme", job.job_id)
    simulation.let_pass(300)
    assert simulation.target.times_of(run.run_id) == [run.fire_time]
    assert len(fired(simulation, job)) == 1 + len(expected(simulation, schedule))


def test_a_backfill_runs_each_time_of_its_window_once_and_paced(simulation: Simulation) -> None:
    schedule = cron("* * * * *", start_at=NOON + 10 * 60_000)
    job = submit(simulation, schedule)
    simulation.let_pass(60)
    open_schedule = Recurrence(cron("* * * * *"))

    def opened(_: Record, __: int) -> JobChange:
        return JobChange(recurrence=open_schedule)

    change_job(simulation.world.engine, "acme", job.job_id, opened, None)
    engine = simulation.world.engine
    window = {"after": NOON - 3_600_000, "until": NOON}
    done = backfill(engine, "acme", job.job_id, **window, limit=40, priority=job.priority)
    assert (len(done.created), done.existing, done.left) == (40, 0, 20)
    again = backfill(engine, "acme", job.job_id, **window, limit=40, priority=job.priority)
    assert (len(again.created), again.existing) == (0, 40)
    simulation.let_pass(30)
    backfilled = [r for r in runs_of(simulation, job) if r.fire_time < NOON]
    assert {r.status for r in backfilled} == {Status.SUCCEEDED}
    starts = sorted(r.started_at or 0 for r in backfilled)
    assert starts[-1] - starts[0] >= 39 * 200


def with_overlap(simulation: Simulation, job: Record, overlap: OverlapPolicy) -> None:
    def wanted(present: Record, _: int) -> JobChange:
        assert present.recurrence is not None
        return JobChange(recurrence=replace(present.recurrence, overlap=overlap))

    change_job(simulation.world.engine, "acme", job.job_id, wanted, None)


@pytest.mark.parametrize("disturb", ["nothing", "pauses", "changes", "reschedules"])
def test_max_runs_counts_each_time_once_however_often_the_job_is_changed(simulation: Simulation, disturb: str) -> None:
    job = submit(simulation, every(60, simulation), max_runs=10)
    for _ in range(3):
        simulation.let_pass(20)
        if disturb == "pauses":
            pause(simulation, job)
            resume(simulation, job)
        if disturb == "changes":
            with_overlap(simulation, job, OverlapPolicy.SKIP)
        if disturb == "reschedules":
            present = simulation.stored(job).recurrence
            assert present is not None
            changed_to(simulation, job, replace(present.schedule, end_at=simulation.clock.now() + 10**9))
    simulation.let_pass(1_200)
    assert len(fired(simulation, job)) == 10
    assert simulation.status(job) is Status.COMPLETED


def test_a_completed_job_whose_last_runs_lie_ahead_can_still_be_paused(simulation: Simulation) -> None:
    job = submit(simulation, every(60, simulation), run_all(), max_runs=3)
    assert simulation.status(job) is Status.COMPLETED
    simulation.let_pass(90)
    pause(simulation, job)
    simulation.let_pass(300)
    assert len(fired(simulation, job)) == 1
    resume(simulation, job)
    simulation.let_pass(300)
    assert len(fired(simulation, job)) == 3
    with pytest.raises(JobConflict):
        pause(simulation, job)


def test_a_change_whose_reply_was_lost_happens_once(simulation: Simulation) -> None:
    job = submit(simulation, cron("0 0 * * *"))
    engine = simulation.engine(Faults(0, Fault.LOST_REPLY))
    changed = change_job(engine, "acme", job.job_id, lambda *_: JobChange(priority=Priority.HIGH), 1)
    assert (changed.version, changed.priority) == (2, Priority.HIGH)
    assert simulation.stored(job).version == 2


def test_a_changed_name_sends_no_second_message(simulation: Simulation) -> None:
    run = simulation.submit(30)
    assert run.definition is not None
    renamed = replace(run.definition, name="renamed")
    change_job(simulation.world.engine, "acme", run.job_id, lambda *_: JobChange(definition=renamed), None)
    assert simulation.world.queues.counts(DEFAULT_POOL, run.priority).delayed == 1


def test_a_stamped_run_is_not_a_job(simulation: Simulation) -> None:
    job = submit(simulation, every(60, simulation))
    run = runs_of(simulation, job)[0]
    for change in (pause_job, cancel_job, delete_job):
        with pytest.raises(JobNotFound):
            change(simulation.world.engine, "acme", run.run_id)

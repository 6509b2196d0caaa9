"""The auditor on the whole scheduler: it finds no hole in its work, and finds each run that a test removes."""

from datetime import UTC, datetime
from typing import Any

import pytest

from onthedot.core.ports import Deadline
from onthedot.core.records import Kind, Record
from onthedot.jobs import audit
from onthedot.jobs.audit import audit_due_jobs, audit_job, audit_recent
from onthedot.jobs.run_extra import backfill, run_now
from onthedot.schedules.choices import DstPolicy, Gap, Misfire
from onthedot.schedules.schedule import CronSchedule, Schedule
from tests.builders import NOON
from tests.scenarios.kits.recurring import changed_to, cron, every, pause, resume, run_all, runs_of, skip_missed, submit
from tests.scenarios.kits.simulation import Simulation

ALL_POLICIES = pytest.mark.parametrize("misfire", [Misfire(), run_all(), skip_missed()], ids=lambda m: m.policy)


def audit_all(simulation: Simulation, seconds: float = 600, on_report: Any = lambda *_: None) -> dict[str, int]:
    deadline = Deadline.after(simulation.clock.now(), round(seconds * 1000))
    return dict(audit_due_jobs(simulation.world.engine, range(simulation.world.deployment.shards), deadline, on_report))


def holes(simulation: Simulation, job: Record) -> list[int]:
    """Of the whole life of a job."""
    stored = simulation.stored(job)
    report = audit_job(simulation.world.engine, stored, NOON, simulation.clock.now())
    assert report.expected == report.accounted + len(report.holes) + len(report.late)
    return [hole.time for hole in report.holes]


def forget(simulation: Simulation, record: Record) -> None:
    """Behind the scheduler's back."""
    with simulation.world.database.transaction() as connection:
        assert connection.execute("DELETE FROM runs WHERE run_id = ?", (record.run_id,)).rowcount == 1


@pytest.mark.slow
@ALL_POLICIES
@pytest.mark.parametrize("seconds", [10, 60])
def test_an_outage_leaves_no_hole_whatever_the_policy(simulation: Simulation, misfire: Misfire, seconds: int) -> None:
    job = submit(simulation, every(seconds, simulation), misfire)
    simulation.let_pass(600)
    simulation.clock.advance(3 * 3600)
    for _ in range(30):  # audited at each minute of catching up
        simulation.let_pass(60)
        assert holes(simulation, job) == []
        assert audit_all(simulation)["holes"] == 0
    assert audit_all(simulation)["expected"] == 200


@ALL_POLICIES
def test_a_pause_leaves_no_hole_whatever_the_policy(simulation: Simulation, misfire: Misfire) -> None:
    job = submit(simulation, every(30, simulation), misfire)
    simulation.let_pass(615)
    pause(simulation, job)
    simulation.let_pass(1800)
    assert audit_all(simulation) == {"jobs": 0, "expected": 0, "holes": 0, "late": 0}
    resume(simulation, job)
    simulation.let_pass(900)
    assert holes(simulation, job) == []
    counts = audit_all(simulation)
    assert (counts["expected"], counts["holes"], counts["late"]) == (90, 0, 0)


def test_a_changed_schedule_is_audited_from_its_first_time_on(simulation: Simulation) -> None:
    job = submit(simulation, cron("*/7 * * * *"))
    simulation.let_pass(1800)
    changed_to(simulation, job, cron("* * * * *"))
    simulation.let_pass(1800)
    assert holes(simulation, job) == []
    assert audit_all(simulation)["expected"] == 19


def test_a_record_that_was_taken_away_is_a_hole(simulation: Simulation, caplog: pytest.LogCaptureFixture) -> None:
    job = submit(simulation, every(60, simulation))
    simulation.let_pass(3600)
    forgotten = runs_of(simulation, job)[20]
    forget(simulation, forgotten)
    assert holes(simulation, job) == [forgotten.fire_time]
    assert audit_all(simulation, on_report=audit.log_report)["holes"] == 1
    (logged,) = [vars(record) for record in caplog.records if record.message == "hole"]
    assert (logged["job"], logged["times"]) == (job.job_id, [forgotten.fire_time])


def test_a_hole_of_a_job_with_a_long_history_is_found(simulation: Simulation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "RECORDS_AT_ONCE", 100)  # many pages, of which not all are read
    job = submit(simulation, every(1, simulation))
    simulation.let_pass(1500)
    forgotten = next(r for r in runs_of(simulation, job) if r.fire_time == simulation.clock.now() - 700_000)
    forget(simulation, forgotten)
    report = audit_recent(simulation.world.engine, simulation.stored(job))
    assert [hole.time for hole in report.holes] == [forgotten.fire_time]
    assert report.expected == 200


def test_a_long_skipped_range_is_found_behind_what_was_backfilled_into_it(simulation: Simulation) -> None:
    job = submit(simulation, every(1, simulation), skip_missed())
    simulation.clock.advance(3600)
    simulation.let_pass(120)
    (skipped,) = [r for r in runs_of(simulation, job) if r.kind is Kind.SKIPPED_RANGE]
    last = skipped.skipped_until or 0
    engine = simulation.world.engine
    done = backfill(
        engine, "acme", job.job_id, after=last - 700_000, until=last - 50_000, limit=1000, priority=job.priority
    )
    assert len(done.created) == 650
    report = audit_job(engine, simulation.stored(job), last - 150_000, last + 1)
    assert (report.expected, report.holes, report.unread) == (150, (), 0)


def test_what_is_hidden_behind_too_many_records_is_unread_and_no_hole(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "MOST_PAGES", 1)
    job = submit(simulation, every(300, simulation))
    simulation.let_pass(1200)
    for _ in range(40):
        run_now(simulation.world.engine, "acme", job.job_id)
        simulation.let_pass(1)
    report = audit_recent(simulation.world.engine, simulation.stored(job))
    assert (report.expected, report.holes, report.unread) == (2, (), 2)


def test_runs_that_nobody_works_on_are_late_and_no_holes(simulation: Simulation) -> None:
    job = submit(simulation, cron("30 12 * * *"))
    simulation.let_pass(27 * 60)
    assert len(runs_of(simulation, job)) == 1
    simulation.clock.advance(20 * 60)  # its worker never comes
    report = audit_recent(simulation.world.engine, simulation.stored(job))
    assert [finding.why for finding in report.late] == ["DISPATCHED for 17 min after it was due to move"]
    assert report.holes == ()


def test_a_job_that_was_left_behind_is_met_in_the_past_hour(simulation: Simulation) -> None:
    submit(simulation, cron("30 12 * * *"))
    simulation.clock.advance(50 * 60)  # no tick ever looked
    counts = audit_all(simulation)
    assert (counts["jobs"], counts["late"], counts["holes"]) == (1, 1, 0)


def at(year: int, month: int, day: int, hour: int) -> int:
    return int(datetime(year, month, day, hour, tzinfo=UTC).timestamp() * 1000)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("expression", "created", "hours_between"),
    [
        ("30 1-3 * * *", at(2026, 3, 29, 0), 0),  # 01:30, the gap, 03:30
        ("15,45 2 * * *", at(2026, 3, 28, 1), 46),  # the day before, the gap, the day after
    ],
)
def test_a_time_that_clocks_jump_over_is_accounted_for(
    simulation: Simulation, expression: str, created: int, hours_between: int
) -> None:
    simulation.clock.sleep_until(created)
    job = submit(simulation, Schedule(CronSchedule(expression, "Europe/Berlin", DstPolicy(gap=Gap.SKIP))))
    simulation.let_pass(3600)
    simulation.clock.advance(hours_between * 3600)
    assert audit_all(simulation)["holes"] == 0  # not yet recorded, and no hole
    simulation.let_pass(3600)
    report = audit_job(simulation.world.engine, simulation.stored(job), NOON, simulation.clock.now())
    assert at(2026, 3, 29, 1) in [r.fire_time for r in runs_of(simulation, job) if r.kind is Kind.SKIPPED_RANGE]
    assert report.expected == len(runs_of(simulation, job))
    assert (report.accounted, report.holes) == (report.expected, ())

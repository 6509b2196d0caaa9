"""Plans beside the records of a pass that died: no time gets two outcomes, none runs against the policy."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onthedot.core import stamping
from onthedot.core.ids import stamped_run_id
from onthedot.core.moves import applied
from onthedot.core.records import Record, Status
from onthedot.core.slots import horizon
from onthedot.core.stamping import Stamping, plan_stamps, repair, skipped_range
from onthedot.jobs.given_up import expected_times
from onthedot.schedules import counting, misfires, schedule
from onthedot.schedules.choices import Misfire, MisfirePolicy
from onthedot.schedules.misfires import Recorded, settle_missed
from onthedot.schedules.schedule import CronSchedule, EverySchedule, Recurrence, Schedule, fires_between, next_fire
from tests.builders import NOON
from tests.unit.domain.runs.test_stamping import DAY, DEPLOYMENT, a_job, rules
from tests.unit.domain.runs.test_stamping import misfires as policies

AFTER_THE_CRASH = [Status.DISPATCHED, Status.PENDING, Status.RUNNING, Status.SUCCEEDED, Status.SKIPPED]


def planned(job: Record, now: int, existing: list[Record]) -> Stamping:
    plan = plan_stamps(job, now=now, claim_token="t", deployment=DEPLOYMENT, existing=existing)
    assert plan is not None
    return plan


def carried_out(plan: Stamping, stored: dict[str, Record]) -> None:
    """Put the records if absent, and apply the ends."""
    for record in (*plan.skipped, *plan.runs):
        stored.setdefault(record.run_id, record)
    for end in plan.ends:
        assert stored[end.run_id].status in end.expect.status
        stored[end.run_id] = applied(stored[end.run_id], end)


@settings(max_examples=200, deadline=None)
@given(rules, policies, st.lists(st.integers(1, 4 * 3_600), min_size=1, max_size=4), st.data())
def test_passes_that_die_before_the_advance_settle_every_time_once(
    rule: CronSchedule | EverySchedule, misfire: Misfire, gaps: list[int], data: st.DataObject
) -> None:
    job, now, stored = a_job(rule, misfire), NOON, dict[str, Record]()
    for gap in gaps:
        now = max(now, job.due_at - 60_000) + gap * 1000
        plan = planned(job, now, list(stored.values()))
        writes = [*plan.skipped, *plan.runs]
        for record in data.draw(st.lists(st.sampled_from(writes), unique=True, max_size=40)) if writes else []:
            status = data.draw(st.sampled_from(AFTER_THE_CRASH))
            run = record if record.status is Status.SKIPPED else replace(record, status=status)
            stored.setdefault(run.run_id, run)
    now += data.draw(st.integers(0, DAY))
    for _ in range(3_000):
        if job.status is not Status.ACTIVE or job.due_at >= horizon(now, DEPLOYMENT.lookahead):
            break
        plan = planned(job, now, list(stored.values()))
        carried_out(plan, stored)
        job = applied(job, plan.advance)
    assert job.recurrence is not None
    first = next_fire(job.recurrence.schedule, NOON)
    expected = expected_times(job.recurrence.schedule, (first or 0) - 1, horizon(now, DEPLOYMENT.lookahead), 10**6)
    runs = [record.fire_time for record in stored.values() if record.skipped_until is None]
    ranges = [(r.fire_time, r.skipped_until) for r in stored.values() if r.skipped_until is not None]
    covered = [at for begin, end in ranges for at in fires_between(job.recurrence.schedule, begin - 1, end + 1, 10**6)]
    assert sorted([*runs, *covered]) == expected
    waiting = {Status.DISPATCHED, Status.PENDING}
    missed_before = now - misfire.grace_seconds * 1000
    waits = [r.fire_time for r in stored.values() if r.status in waiting and r.fire_time < missed_before]
    if misfire.policy is MisfirePolicy.SKIP:
        assert waits == []
    if misfire.policy is MisfirePolicy.RUN_LATEST:
        assert len(waits) <= 1


def test_a_record_that_cannot_be_read_is_not_part_of_a_skipped_range() -> None:
    job = a_job(CronSchedule("* * * * *"), Misfire(MisfirePolicy.SKIP, 60))
    at = NOON + 300_000
    plan = plan_stamps(
        job,
        now=NOON + 900_000,
        claim_token="t",
        deployment=DEPLOYMENT,
        unreadable=[stamped_run_id(job.job_id, at), "job_x.000000000000001-skipped"],
    )
    assert plan is not None
    ranges = [(record.fire_time, record.skipped_until) for record in plan.skipped]
    assert ranges == [(NOON + 60_000, at - 60_000), (at + 60_000, NOON + 780_000)]


def test_runs_that_stay_beside_the_plan_count_for_max_runs() -> None:
    job = a_job(CronSchedule("* * * * *"), Misfire(MisfirePolicy.SKIP, 60), max_runs=3)
    done = replace(planned(job, NOON, []).runs[0], status=Status.SUCCEEDED)
    plan = planned(job, NOON + 3_600_000, [done])
    assert len(plan.runs) == 2
    moved = applied(job, plan.advance)
    assert (moved.stamped, moved.status) == (3, Status.COMPLETED)


@pytest.mark.parametrize("attempt", [0, 1])
def test_a_run_that_another_plan_skips_is_ended_unless_it_has_started(attempt: int) -> None:
    job = a_job(CronSchedule("* * * * *"), Misfire(MisfirePolicy.RUN_ALL, 60))
    now = NOON + 600_000
    plan = planned(job, now, [])
    run = replace(plan.runs[0], attempt=attempt, status=Status.DISPATCHED)
    others = skipped_range(job, [run.fire_time, run.fire_time], "misfire", now, DEPLOYMENT)
    ended = [move.run_id for move in repair(job, plan, [run, others], now, DEPLOYMENT).moves]
    assert ended == ([] if attempt else [run.run_id])


@pytest.mark.parametrize("policy", MisfirePolicy)
@pytest.mark.parametrize(
    ("rule", "missed_days"),
    [
        (CronSchedule("* * * * *"), 365),
        (CronSchedule("*/2 1-4 * * *", "Europe/Berlin"), 365),
        (EverySchedule(1, NOON), 7),
    ],
)
def test_the_times_that_one_plan_computes_are_bounded(
    monkeypatch: pytest.MonkeyPatch, policy: MisfirePolicy, rule: CronSchedule | EverySchedule, missed_days: int
) -> None:
    computed = []

    def counted(schedule_: Schedule, after: int) -> int | None:
        computed.append(after)
        return next_fire(schedule_, after)

    for module in (counting, misfires, schedule, stamping):
        monkeypatch.setattr(module, "next_fire", counted)
    job = a_job(rule, Misfire(policy, 60))
    plan = planned(job, NOON + missed_days * DAY, [])
    assert len(computed) < 1_500
    skipped = sum(record.skipped_count or 0 for record in plan.skipped)
    assert (skipped > 40_000) == (policy is not MisfirePolicy.RUN_ALL)


def test_a_missed_window_with_nothing_in_it_is_settled() -> None:
    recurrence = Recurrence(Schedule(CronSchedule("0 0 1 1 *")))
    assert settle_missed(recurrence, NOON, NOON + DAY, Recorded()).last is None

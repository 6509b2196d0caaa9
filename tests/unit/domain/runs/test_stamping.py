"""Stamping and misfires as pure plans: pass by pass, every fire time is run or skipped, exactly once."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onthedot.core import stamping
from onthedot.core.moves import applied
from onthedot.core.records import Kind, Record, Status
from onthedot.core.slots import BUCKET_MS, Deployment, horizon
from onthedot.core.stamping import plan_stamps
from onthedot.jobs.given_up import expected_times
from onthedot.schedules.choices import DstPolicy, Gap, Misfire, MisfirePolicy
from onthedot.schedules.misfires import CATCH_UP_PER_PASS
from onthedot.schedules.schedule import CronSchedule, EverySchedule, Recurrence, Schedule, fires_between, next_fire
from tests.builders import NOON, VirtualClock, a_run

DEPLOYMENT = Deployment(shards=1, lookahead=3, history_days=30)
DAY = 86_400_000
rules = st.one_of(
    st.builds(EverySchedule, st.integers(1, 7_200), st.just(NOON)),
    st.sampled_from(["* * * * *", "*/7 * * * *", "0 * * * *", "30 2 * * *", "0 0 * * 0"]).map(CronSchedule),
    st.just(CronSchedule("30 2 * * *", "Europe/Berlin")),
)
misfires = st.builds(Misfire, st.sampled_from(list(MisfirePolicy)), st.integers(0, 600))


def a_job(rule: CronSchedule | EverySchedule, misfire: Misfire, max_runs: int | None = None) -> Record:
    schedule = Schedule(rule)
    first = next_fire(schedule, NOON)
    assert first is not None
    recurrence = Recurrence(schedule, misfire, max_runs=max_runs)
    built = a_run(VirtualClock()).having(kind=Kind.RECURRING, recurrence=recurrence, schedule_version=1, stamped=0)
    return replace(built.build(), status=Status.ACTIVE, due_at=first, fire_time=first)


class Passes:
    """Ticks at these times, one after another."""

    def __init__(self, job: Record) -> None:
        self.job = job
        self.ran: list[int] = []
        self.skipped: list[tuple[int, int, int]] = []

    def tick(self, now: int) -> bool:
        """False when there was nothing to do."""
        planned = (
            plan_stamps(self.job, now=now, claim_token="t", deployment=DEPLOYMENT)
            if self.job.status is Status.ACTIVE
            else None
        )
        if planned is None:
            return False
        self.ran += [run.fire_time for run in planned.runs]
        self.skipped += [(r.fire_time, r.skipped_until or 0, r.skipped_count or 0) for r in planned.skipped]
        moved = applied(self.job, planned.advance)
        assert moved.status is Status.COMPLETED or moved.due_at > self.job.due_at
        self.job = moved
        return True


@settings(max_examples=150, deadline=None)
@given(rules, misfires, st.lists(st.integers(1, 6 * 3_600), min_size=1, max_size=8))
def test_after_any_outages_every_time_is_run_or_skipped_exactly_once(
    rule: CronSchedule | EverySchedule, misfire: Misfire, gaps: list[int]
) -> None:
    passes = Passes(a_job(rule, misfire))
    now = NOON
    for gap in gaps:
        now += gap * 1000
        passes.tick(now)
    while passes.tick(now):  # catching up takes as many passes as it takes
        pass
    recurrence = passes.job.recurrence
    assert recurrence is not None
    expected = expected_times(recurrence.schedule, NOON, horizon(now, DEPLOYMENT.lookahead), 1_000_000)
    assert passes.ran == sorted(set(passes.ran))
    covered = {t for first, last, _ in passes.skipped for t in expected if first <= t <= last}
    assert not covered & set(passes.ran)
    assert sorted(covered | set(passes.ran)) == expected
    assert sum(count for _, _, count in passes.skipped) == len(covered)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(rules, misfires, st.integers(0, 3 * DAY))
def test_each_policy_does_what_it_says_with_one_outage(
    rule: CronSchedule | EverySchedule, misfire: Misfire, outage: int
) -> None:
    job = a_job(rule, misfire)
    now = NOON + outage
    recurrence = job.recurrence
    assert recurrence is not None
    missed = fires_between(recurrence.schedule, NOON, now - misfire.grace_seconds * 1000, 1_000_000)
    passes = Passes(job)
    while passes.tick(now):
        pass
    late = [at for at in passes.ran if at < now - misfire.grace_seconds * 1000]
    wanted = {MisfirePolicy.SKIP: [], MisfirePolicy.RUN_LATEST: missed[-1:], MisfirePolicy.RUN_ALL: missed}
    assert late == wanted[misfire.policy]


@given(st.integers(1, 40), st.integers(1, 30))
def test_never_more_than_max_runs(limit: int, ticks: int) -> None:
    passes = Passes(a_job(EverySchedule(10, NOON), Misfire(), limit))
    for number in range(ticks):
        passes.tick(NOON + number * BUCKET_MS)
    assert len(passes.ran) <= limit
    if passes.job.status is Status.COMPLETED:
        assert len(passes.ran) == limit


def test_catching_up_is_paced() -> None:
    job = a_job(EverySchedule(1, NOON), Misfire(MisfirePolicy.RUN_ALL, 0))
    planned = plan_stamps(job, now=NOON + DAY, claim_token="t", deployment=DEPLOYMENT)
    assert planned is not None
    assert len(planned.runs) == CATCH_UP_PER_PASS


def test_nothing_is_stamped_beyond_the_horizon() -> None:
    job = a_job(EverySchedule(1, NOON), Misfire())
    planned = plan_stamps(job, now=NOON + 500, claim_token="t", deployment=DEPLOYMENT)
    assert planned is not None
    assert max(run.fire_time for run in planned.runs) < horizon(NOON + 500, DEPLOYMENT.lookahead)
    assert len(planned.runs) <= stamping.STAMPS_PER_PASS


@pytest.mark.parametrize("policy", MisfirePolicy)
def test_a_job_whose_fire_time_was_moved_by_new_data_of_its_zone_goes_on(policy: MisfirePolicy) -> None:
    """Its position was computed with older data of the zone, and is no fire time any more."""
    job = a_job(CronSchedule("0 18 * * *", "Europe/Berlin"), Misfire(policy, 60))
    passes = Passes(replace(job, due_at=job.due_at - 3_600_000))
    assert passes.tick(job.due_at - 3_600_000 - BUCKET_MS)
    assert (passes.job.status, passes.job.due_at, passes.ran) == (Status.ACTIVE, job.due_at, [])


@pytest.mark.parametrize("seconds", [5, 65, 600])
@pytest.mark.parametrize("policy", MisfirePolicy)
def test_a_job_that_may_make_no_more_runs_settles_only_the_times_that_it_skips(
    policy: MisfirePolicy, seconds: int
) -> None:
    job = replace(a_job(EverySchedule(10, NOON), Misfire(policy, 60), 1), stamped=1, accounted_until=NOON)
    passes = Passes(job)
    assert passes.tick(NOON + seconds * 1000)
    settled = max([NOON, *(last for _, last, _ in passes.skipped)])
    assert (passes.job.status, passes.job.accounted_until, passes.ran) == (Status.COMPLETED, settled, [])


def test_a_time_that_clocks_jump_over_after_many_missed_times_is_recorded() -> None:
    """Clocks jump behind more missed times than one pass stamps, and the run of the latest time begins a new day."""
    job = a_job(CronSchedule("*/5 0-2 * * *", "Europe/Berlin", DstPolicy(Gap.SKIP)), Misfire())
    now = NOON + 28 * DAY + 10 * 3_600_000 + 3 * BUCKET_MS  # 2026-03-30T00:03 in Berlin
    passes = Passes(job)
    assert passes.tick(now)
    assert job.recurrence is not None
    expected = expected_times(job.recurrence.schedule, NOON, now, 10_000)
    covered = [at for at in expected if any(first <= at <= last for first, last, _ in passes.skipped)]
    assert sorted({*covered, *passes.ran} & {*expected}) == expected
    assert sum(count for _, _, count in passes.skipped) == len(covered)

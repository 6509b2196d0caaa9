"""Count the coming runs of recurring jobs from their schedules. Jobs that fire alike are counted together."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import Final

from onthedot.domain.runs.records import Record, Status
from onthedot.domain.runs.slots import BUCKET_MS, bucket_of
from onthedot.domain.schedules.counting import count_fires
from onthedot.domain.schedules.per_minute import fires_per_minute, minute_pattern
from onthedot.domain.schedules.recurrence import MisfirePolicy, Recurrence
from onthedot.domain.schedules.schedule import Schedule, fires_between, jittered
from onthedot.use_cases.forecast.survey import Survey
from onthedot.use_cases.forecast.tally import NEAREST

MOST_RECURRING: Final = 5_000
MOST_FIRES: Final = 1_000_000
"""Minutes with fire times of a job, or fire times with jitter. Jobs that fire alike count once."""


def count_recurring(survey: Survey, job_ids: Sequence[str]) -> None:
    """Count the coming runs of these jobs, as far as the call has time."""
    survey.note(complete=len(job_ids) <= MOST_RECURRING)
    chosen = job_ids[:MOST_RECURRING]
    jobs = dict(survey.engine.store.get_many(chosen, survey.deadline).found) if chosen else {}
    survey.note(complete=len(jobs) == len(chosen))
    survey.name_jobs(jobs)
    budget = MOST_FIRES
    for alike in _groups(jobs.values()):
        if budget <= 0 or not survey.has_time:
            survey.note(complete=False)
            return
        budget -= _count(survey, alike, budget)


@dataclass(frozen=True, slots=True)
class _Expected:
    """A job whose coming runs are computed from its schedule."""

    job_id: str
    schedule: Schedule
    position: int
    """The first fire time that is not stamped."""
    left: int | None
    """Runs that it may still have. None: no limit."""
    policy: MisfirePolicy

    @property
    def jitter(self) -> int:
        return self.schedule.jitter_seconds

    @property
    def pattern(self) -> Hashable:
        """A value that is equal for jobs that fire equally often in each minute."""
        if self.jitter:
            return self.job_id
        return minute_pattern(self.schedule, self.position), self.left, self.policy


def _groups(jobs: Iterable[Record]) -> Iterator[list[_Expected]]:
    """Yield the active jobs in groups that fire alike. Jitter moves the runs of each job differently."""
    groups: defaultdict[Hashable, list[_Expected]] = defaultdict(list)
    for job in jobs:
        if job.recurrence is None or job.status is not Status.ACTIVE:
            continue
        one = _Expected(
            job.job_id, job.recurrence.schedule, job.fire_at, _left(job, job.recurrence), job.recurrence.misfire.policy
        )
        groups[one.pattern].append(one)
    yield from groups.values()


def _left(job: Record, recurrence: Recurrence) -> int | None:
    return None if recurrence.max_runs is None else max(0, recurrence.max_runs - (job.stamped or 0))


def _count(survey: Survey, alike: Sequence[_Expected], budget: int) -> int:
    """Count the coming runs of a group. Return what that takes of the budget."""
    first = alike[0]
    times: Sequence[int] = ()
    present = bucket_of(survey.now) * BUCKET_MS
    overdue = _overdue(first, present)
    left = None if first.left is None else max(0, first.left - overdue)
    if first.jitter:
        times = _jittered_times(survey, first, present, left, budget)
        minutes, used = _by_minute(times), len(times)
    else:
        minutes = fires_per_minute(first.schedule, _after(first, present), survey.until, left)
        used = len(minutes)
    if overdue:
        minutes[present] = minutes.get(present, 0) + overdue
    survey.tally.add_expected([job.job_id for job in alike], minutes)
    # Jobs of one group differ within a minute only, so the earliest runs are those of the earliest positions.
    for job in nsmallest(NEAREST, alike, key=lambda one: one.position):
        coming = nsmallest(NEAREST, times) if first.jitter else _first_fires(survey, job, present, left)
        survey.tally.add_nearest([*[survey.now] * min(overdue, NEAREST), *coming], job.job_id)
    return used


def _after(job: _Expected, present: int) -> int:
    """Return the time after which the fire times of a job are to come, or are of the present minute."""
    return max(job.position, present) - 1


def _first_fires(survey: Survey, job: _Expected, present: int, left: int | None) -> Sequence[int]:
    """Return the times of the first coming runs of a job without jitter."""
    most = NEAREST if left is None else min(NEAREST, left)
    return fires_between(job.schedule, _after(job, present), survey.until, most)


def _overdue(job: _Expected, present: int) -> int:
    """Return how many runs the fire times before the present minute give. A policy runs all of them or the latest."""
    if job.position >= present:
        return 0
    missed = count_fires(job.schedule, job.position - 1, present)
    return min(
        missed if job.policy is MisfirePolicy.RUN_ALL else 1, missed, MOST_FIRES if job.left is None else job.left
    )


def _jittered_times(survey: Survey, job: _Expected, present: int, left: int | None, budget: int) -> Sequence[int]:
    """Return the times of the coming runs of a job with jitter. The order of its fire times is not that of its runs."""
    most = budget if left is None else min(budget, left)
    fires = fires_between(job.schedule, _after(job, present), survey.until, most)
    survey.note(complete=len(fires) < most or most == left)
    times = (max(jittered(job.job_id, nominal, job.jitter), survey.now) for nominal in fires)
    return [at for at in times if at < survey.until]


def _by_minute(times: Iterable[int]) -> dict[int, int]:
    minutes: dict[int, int] = {}
    for at in times:
        start = bucket_of(at) * BUCKET_MS
        minutes[start] = minutes.get(start, 0) + 1
    return minutes

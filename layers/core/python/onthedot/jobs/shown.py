"""How far a job is, in the terms that users know: status, next fire time and number of runs."""

from typing import Final

from onthedot.core.records import SCHEDULED, Record, Status
from onthedot.schedules.counting import count_fires
from onthedot.schedules.schedule import fires_between, jittered, next_fire

RETRYING: Final = "RETRYING"


def shown_run_status(run: Record) -> str:
    """Return RETRYING while the run waits after a failed or lost attempt, else its status."""
    return RETRYING if run.status in SCHEDULED and run.attempt else run.status.value


def shown_status(job: Record, next_at: int | None) -> str:
    """Return the status as users see it.

    A job that waits after a failed or lost attempt is RETRYING. A recurring job whose last run is stamped and has not
    fired yet is ACTIVE.
    """
    if job.status in SCHEDULED and job.attempt:
        return RETRYING
    has_run_to_come = job.status is Status.COMPLETED and next_at is not None
    return Status.ACTIVE.value if has_run_to_come else job.status.value


def coming_fire(record: Record, now: int) -> int | None:
    """Return the time when the record fires next, or None when it does not wait for a time.

    The position of a recurring job is later than the fire times that are stamped already, so this also computes the
    next time of the schedule. When the job is overdue because no dispatcher has stamped it yet, its position is the
    earlier of the two.
    """
    if record.status in SCHEDULED:
        return record.due_at
    if record.status is not Status.ACTIVE or record.recurrence is None:
        return None
    following = next_fire(record.recurrence.schedule, now)
    return record.due_at if following is None else min(record.due_at, following)


_MOST_JITTERED: Final = 1_000
"""A job that fires every second and has the longest jitter has 900 fire times within it."""


def runs_so_far(job: Record, now: int) -> int:
    return max(0, (job.stamped or 0) - runs_ahead(job, now))


def runs_ahead(job: Record, now: int) -> int:
    if job.recurrence is None or job.status not in (Status.ACTIVE, Status.COMPLETED):
        return 0
    return count_fires(job.recurrence.schedule, now, job.due_at) + len(_held_by_jitter(job, now))


def next_stamped(job: Record, now: int) -> int | None:
    if job.recurrence is None or job.status is not Status.COMPLETED:
        return None
    schedule = job.recurrence.schedule
    following = next_fire(schedule, now)
    ahead = [] if following is None or following >= job.due_at else [following]
    times = [jittered(job.job_id, nominal, schedule.jitter_seconds) for nominal in ahead]
    return min((*times, *_held_by_jitter(job, now)), default=None)


def _held_by_jitter(job: Record, now: int) -> list[int]:
    """Return the times of runs whose fire time has come, and which jitter moves behind now."""
    schedule = None if job.recurrence is None else job.recurrence.schedule
    if schedule is None or not schedule.jitter_seconds:
        return []
    jitter_ms = schedule.jitter_seconds * 1000
    # Fire times from before the job do not count.
    after = max(now - jitter_ms - 1, (job.scheduled_since or 0) - 1)
    nominals = fires_between(schedule, after, min(now + 1, job.due_at), _MOST_JITTERED)
    moved = (jittered(job.job_id, nominal, schedule.jitter_seconds) for nominal in nominals)
    return [at for at in moved if at > now]

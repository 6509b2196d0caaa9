"""The runs of a recurring job that are to come though they are stamped, and the number of those whose time has come.

The dispatcher stamps runs some minutes ahead. So the number of stamped runs is no number that users understand.
"""

from typing import Final

from onthedot.domain.runs.records import Record, Status
from onthedot.domain.schedules.counting import count_fires
from onthedot.domain.schedules.schedule import fires_between, jittered, next_fire

_MOST_JITTERED: Final = 1_000
"""A job that fires every second and has the longest jitter has 900 fire times within it."""


def runs_so_far(job: Record, now: int) -> int:
    """Return the number of runs of the schedule whose time has come."""
    return max(0, (job.stamped or 0) - runs_ahead(job, now))


def runs_ahead(job: Record, now: int) -> int:
    """Return the number of runs that are stamped and whose time is to come."""
    if job.recurrence is None or job.status not in (Status.ACTIVE, Status.COMPLETED):
        return 0
    return count_fires(job.recurrence.schedule, now, job.fire_at) + len(_held_by_jitter(job, now))


def next_stamped(job: Record, now: int) -> int | None:
    """Return the earliest time of the stamped runs that are to come, or None when there are none."""
    if job.recurrence is None or job.status is not Status.COMPLETED:
        return None
    schedule = job.recurrence.schedule
    following = next_fire(schedule, now)
    ahead = [] if following is None or following >= job.fire_at else [following]
    times = [jittered(job.job_id, nominal, schedule.jitter_seconds) for nominal in ahead]
    return min((*times, *_held_by_jitter(job, now)), default=None)


def _held_by_jitter(job: Record, now: int) -> list[int]:
    """Return the times of runs whose fire time has come, and which jitter moves behind now."""
    schedule = None if job.recurrence is None else job.recurrence.schedule
    if schedule is None or not schedule.jitter_seconds:
        return []
    jitter_ms = schedule.jitter_seconds * 1000
    # Fire times before the job are no fire times of it.
    after = max(now - jitter_ms - 1, (job.scheduled_since or 0) - 1)
    nominals = fires_between(schedule, after, min(now + 1, job.fire_at), _MOST_JITTERED)
    moved = (jittered(job.job_id, nominal, schedule.jitter_seconds) for nominal in nominals)
    return [at for at in moved if at > now]

"""The time when a job or run fires next."""

from onthedot.domain.runs.records import SCHEDULED, Record, Status
from onthedot.domain.schedules.schedule import next_fire


def coming_fire(record: Record, now: int) -> int | None:
    """Return the time when the record fires next, or None when it does not wait for a time.

    The position of a recurring job is later than the fire times that are stamped already, so this also computes the
    next time of the schedule. When the job is overdue because no dispatcher has stamped it yet, its position is the
    earlier of the two.
    """
    if record.status in SCHEDULED:
        return record.fire_at
    if record.status is not Status.ACTIVE or record.recurrence is None:
        return None
    following = next_fire(record.recurrence.schedule, now)
    return record.fire_at if following is None else min(record.fire_at, following)

"""Decide whether a stamped run is still scheduled when its time has come, by the job as it is now."""

from onthedot.domain.ids import is_scheduled, nominal_of
from onthedot.domain.runs.lifecycle import CHANGED_WHY, PAUSED_WHY
from onthedot.domain.runs.records import Record, Status
from onthedot.domain.schedules.schedule import contains

GONE_WHY = "its job is gone: deleted, or expired"
_STOPPED = {
    Status.PAUSED: PAUSED_WHY,
    Status.DELETED: "job deleted",
    Status.CANCELLED: "job cancelled",
}


def why_not_scheduled(job: Record | None, run_id: str) -> str | None:
    """Return the reason for skipping the run, or None if it is still scheduled.

    Workers ask just before the start, so cancel, pause and change have an effect until the last moment.
    """
    if job is None:
        return GONE_WHY
    if job.status in _STOPPED:
        return _STOPPED[job.status]
    if job.recurrence is None or not is_scheduled(run_id):
        return None
    return None if contains(job.recurrence.schedule, nominal_of(run_id)) else CHANGED_WHY

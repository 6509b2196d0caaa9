"""The status of a job or a run as users see it."""

from typing import Final

from onthedot.domain.runs.records import SCHEDULED, Record, Status

RETRYING: Final = "RETRYING"


def shown_run_status(run: Record) -> str:
    """Return the status of a run as users see it: RETRYING while it waits after a failed or lost attempt."""
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

"""The progress and the status of a workflow, from the statuses of its jobs."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from onthedot.domain.runs.records import TERMINAL, Status

_UNSTARTED: Final = frozenset({Status.WAITING, Status.PENDING, Status.DISPATCHED, Status.PAUSED})


@dataclass(frozen=True, slots=True)
class WorkflowProgress:
    """The number of a workflow's jobs by status, and the status of the workflow itself."""

    total: int
    """Number of its jobs."""
    ended: int
    """Number of jobs that have ended."""
    by_status: Mapping[str, int]
    """Number of jobs in each status, by its name. Statuses without a job are left out."""
    status: Status
    """The status of the workflow itself."""


def progress(statuses: Mapping[str, str]) -> WorkflowProgress:
    """Return the progress of a workflow whose jobs, by key, are in these statuses.

    A status is the text of a `Status`, or RETRYING. A job in an unknown status counts as begun and not ended.
    """
    counts = Counter(str(status) for status in statuses.values())
    ended = sum(counts[status] for status in TERMINAL)
    return WorkflowProgress(counts.total(), ended, dict(sorted(counts.items())), _status(set(counts)))


def _status(present: set[str]) -> Status:
    """Return the status of the workflow. A workflow without jobs has not begun."""
    if present <= _UNSTARTED:
        return Status.PENDING
    if not present <= TERMINAL:
        return Status.RUNNING
    if Status.FAILED in present:
        return Status.FAILED
    if present & {Status.CANCELLED, Status.DELETED}:
        return Status.CANCELLED
    # A job that was skipped by its own rules does not keep the workflow from succeeding.
    return Status.SKIPPED if present == {Status.SKIPPED} else Status.SUCCEEDED

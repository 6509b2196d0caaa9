"""How far a workflow has come, told from the states of its jobs."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from onthedot.domain.runs.records import TERMINAL, Status

_UNSTARTED: Final = frozenset({"WAITING", Status.PENDING, Status.DISPATCHED, Status.PAUSED})


@dataclass(frozen=True, slots=True)
class WorkflowProgress:
    """How many jobs there are, how many have ended, how many stand in each state, and the workflow's own state."""

    total: int
    ended: int
    by_status: Mapping[str, int]
    """Only states in which there is a job, by name."""
    status: Status


def progress(statuses: Mapping[str, str]) -> WorkflowProgress:
    """The progress of a workflow whose jobs, by key, stand in these states.

    They are the texts of `Status`, WAITING (for parents) and RETRYING; a state not known here has begun and not ended.
    """
    counts = Counter(str(status) for status in statuses.values())
    ended = sum(counts[status] for status in TERMINAL)
    return WorkflowProgress(counts.total(), ended, dict(sorted(counts.items())), _status(set(counts)))


def _status(present: set[str]) -> Status:
    """The workflow's state, when these are the states of its jobs. One without jobs has not begun."""
    if present <= _UNSTARTED:
        return Status.PENDING
    if not present <= TERMINAL:
        return Status.RUNNING
    if Status.FAILED in present:
        return Status.FAILED
    if present & {Status.CANCELLED, Status.DELETED}:
        return Status.CANCELLED
    # A job that was skipped as it should be takes nothing from the success of the others.
    return Status.SKIPPED if present == {Status.SKIPPED} else Status.SUCCEEDED

"""Decide what a look does with a holder of a gate: an attempt may have died before it gave its place back."""

from enum import Enum
from typing import Final

from onthedot.domain.gates.state import Holder
from onthedot.domain.runs.lifecycle import CLOCK_MARGIN_MS, lease_is_over
from onthedot.domain.runs.records import Record, Status
from onthedot.domain.runs.slots import DECISION_MS

STARTED_AFTER_MS: Final = DECISION_MS + CLOCK_MARGIN_MS
"""An attempt starts at most so long after it has got its place."""


class Repair(Enum):
    """The step that a holder needs. A place is freed only after a write has made sure that the attempt cannot start."""

    KEEP = "keep"
    """The attempt runs, or is about to start."""
    LOSE = "lose"
    """The attempt is lost: end it, then free the place."""
    FENCE = "fence"
    """The attempt has not started in time: give the run a new generation, then free the place."""
    FREE = "free"
    """The attempt has ended, or can never start: free the place."""


def decide(holder: Holder, run: Record | None, now: int) -> Repair:
    """Decide by the run of the holder, as it is now. None: the run is gone."""
    if run is None or run.generation != holder.generation:
        return Repair.FREE
    if run.status is Status.RUNNING and run.attempt_token == holder.token:
        return Repair.LOSE if lease_is_over(run, now) else Repair.KEEP
    if run.status is Status.DISPATCHED:
        return Repair.FENCE if holder.at + STARTED_AFTER_MS < now else Repair.KEEP
    return Repair.FREE

"""The time until which a run must start for the first time, if its job limits it by `start_within_seconds`.

The time counts from the first fire time of the run. A run that has not started by then is skipped with that reason. A
run that has started once, or that a client redrives, may start at any time.
"""

from onthedot.core.gate_names import GateId, where
from onthedot.core.records import Record


def last_start(due_at: int, seconds: int | None) -> int | None:
    """Return the latest instant at which a run that is due at `due_at` may start. None if there is none."""
    return None if seconds is None else due_at + seconds * 1000


def is_over(start_by: int | None, now: int) -> bool:
    """Return whether the time for the first start is over. At `start_by` itself the run still starts."""
    return start_by is not None and now > start_by


def has_expired(run: Record, now: int) -> bool:
    return run.attempt == 0 and is_over(run.start_by, now)


def why_expired(run: Record) -> str:
    waited = "" if run.waited_at is None else f"; it waited {where(GateId.of(run.tenant, run.waited_at))}"
    waited += "" if run.waited_at is None or run.waited_why is None else f", because {run.waited_why}"
    return f"not started within {run.start_within_seconds} s of its fire time (start_within_seconds){waited}"

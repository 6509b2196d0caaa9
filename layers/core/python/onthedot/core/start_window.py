"""The time until which a run must start for the first time, if its job limits it by `start_within_seconds`.

The time counts from the first fire time of the run. A run that has not started by then is skipped with that reason. A
run that has started once, or that a client redrives, may start at any time.
"""

from typing import Any

from onthedot.core.gate_names import GateId, where
from onthedot.core.records import Record


def last_start(due_at: int, seconds: int | None) -> int | None:
    """Return the latest instant at which a run that is due at `due_at` may start. None: there is none."""
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


def counted_from_now(run: Record, now: int) -> dict[str, Any]:
    """Return the changes of a run that a client resumes or assigns: its time counts from now, if it has one."""
    if run.start_by is None:
        return {}
    return {"start_by": max(run.start_by, last_start(now, run.start_within_seconds) or 0)}


def changed(run: Record, at: int | None, seconds: int | None) -> dict[str, Any]:
    """Return the changes of a run that gets this limit, from its new time `at` or the same instant as before."""
    before = run.start_within_seconds
    if at is None:
        at = run.fire_time if run.start_by is None or before is None else run.start_by - before * 1000
    return {"start_by": last_start(at, seconds)}

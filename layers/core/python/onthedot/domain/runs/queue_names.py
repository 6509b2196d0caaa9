"""The short name of a run queue."""

from onthedot.domain.runs.records import Priority


def queue_key(pool: str, priority: Priority) -> str:
    """Return the name of a pool's priority queue, as settings, `local.json` and messages to users have it."""
    return f"{pool}-{priority.value.lower()}"

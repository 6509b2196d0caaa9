"""The short name of a run queue."""

from onthedot.domain.runs.records import Priority


def queue_key(pool: str, priority: Priority) -> str:
    """Return the name of a pool's priority queue, as settings, `local.json` and messages to users have it."""
    return f"{pool}-{priority.value.lower()}"


def read_queue_key(key: str) -> tuple[str, Priority]:
    """Return the pool and the priority of a queue from its name."""
    pool, _, priority = key.rpartition("-")
    return pool, Priority(priority.upper())

"""The names of queues. A queue of a stage is `<base><name>`, so its URL needs no lookup."""

from collections.abc import Iterable

from onthedot.domain.runs.records import Priority
from onthedot.domain.workers.pools import Pool


def queue_key(pool: str, priority: Priority) -> str:
    """Return the name of a pool's priority queue, as messages to users have it."""
    return f"{pool}-{priority.value.lower()}"


def read_queue_key(key: str) -> tuple[str, Priority]:
    """Return the pool and the priority of a queue from its name."""
    pool, _, priority = key.rpartition("-")
    return pool, Priority(priority.upper())


def queue_name(pool: Pool, priority: Priority) -> str:
    """Return the name of the queue of a pool's runs of this priority. One queue may serve all priorities."""
    return pool.name if pool.queues == 1 else queue_key(pool.name, priority)


def queue_urls(base: str, pools: Iterable[Pool]) -> dict[str, str]:
    """Return the URL of each queue of runs, by `queue_key(pool, priority)`."""
    return {
        queue_key(pool.name, priority): base + queue_name(pool, priority) for pool in pools for priority in Priority
    }


def dead_letters_url(url: str) -> str:
    """Return the URL of the queue that gets the messages which this queue could not deliver."""
    return f"{url}-dlq"

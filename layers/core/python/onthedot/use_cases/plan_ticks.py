"""Once a minute: one tick message for each group of shards."""

from onthedot.domain.errors import Unavailable
from onthedot.ports import Clock, Tick, TickQueue


def plan_ticks(queue: TickQueue, clock: Clock, *, shards: int, shards_per_group: int) -> int:
    """Returns how many ticks were sent. Raises Unavailable if any was not: the schedule tries again."""
    now = clock.now()
    firsts = range(0, shards, shards_per_group)
    ticks = [
        Tick(group, tuple(range(first, min(first + shards_per_group, shards))), now)
        for group, first in enumerate(firsts)
    ]
    unsent = queue.send_ticks(ticks)
    if unsent:
        raise Unavailable(f"{len(unsent)} of {len(ticks)} ticks could not be sent")
    return len(ticks)

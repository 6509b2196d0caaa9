"""Once a minute: one tick message for each group of shards."""

from collections.abc import Sequence

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
    return _send(queue, ticks)


def continue_tick(queue: TickQueue, clock: Clock, tick: Tick) -> int:
    """Another tick for the same shards, at once: what one invocation had no time for is not left for a minute.

    What was claimed has left its slot, so the next one goes on where this one stopped.
    """
    return _send(queue, [Tick(tick.group, tick.shards, clock.now())])


def _send(queue: TickQueue, ticks: Sequence[Tick]) -> int:
    unsent = queue.send_ticks(ticks)
    if unsent:
        raise Unavailable(f"{len(unsent)} of {len(ticks)} ticks could not be sent")
    return len(ticks)

"""Plan the ticks: once a minute, one message for each group of shards."""

from collections.abc import Sequence

from onthedot.domain.errors import Unavailable
from onthedot.ports import Clock, Tick, TickQueue


def plan_ticks(queue: TickQueue, clock: Clock, *, shards: int, shards_per_group: int) -> int:
    """Send the ticks of this minute. Return their number.

    Raise Unavailable if any was not sent: then the schedule that called the planner tries again.
    """
    now = clock.now()
    firsts = range(0, shards, shards_per_group)
    ticks = [
        Tick(group, tuple(range(first, min(first + shards_per_group, shards))), now)
        for group, first in enumerate(firsts)
    ]
    return _send(queue, ticks)


def continue_tick(queue: TickQueue, clock: Clock, tick: Tick) -> int:
    """Send another tick for the same shards at once, when the dispatcher ran out of time. Raise Unavailable.

    Claimed runs have left their slots, so the next tick continues where this tick stopped.
    """
    return _send(queue, [Tick(tick.group, tick.shards, clock.now())])


def _send(queue: TickQueue, ticks: Sequence[Tick]) -> int:
    unsent = queue.send_ticks(ticks)
    if unsent:
        raise Unavailable(f"{len(unsent)} of {len(ticks)} ticks could not be sent")
    return len(ticks)

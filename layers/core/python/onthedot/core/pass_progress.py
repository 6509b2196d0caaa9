"""The progress of the passes over the slots of one shard. It decides where the next tick begins to read.

Progress never moves back. A pass that left a record in a slot does not move past that slot. So the next tick reads the
slot again. Progress that is after the present says nothing, since the clock of a dispatcher was wrong: it counts as the
present.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from onthedot.core.slots import BUCKET_MS, DEEP_BUCKETS, DEEP_REREAD, REREAD

LONGEST_TICK_MS: Final = 15 * 60_000
"""No tick takes longer. A lease that ends later was written by a dispatcher whose clock was wrong."""


@dataclass(frozen=True, slots=True)
class ShardProgress:
    fire: int
    """The claim pass is complete up to this bucket."""
    watch: int
    """The sweep pass is complete up to this bucket."""
    deep: int
    """The deep re-read has read all buckets before this one again."""
    deep_until: int
    """The bucket at which the deep re-read under way ends. None is under way when it is not after `deep`."""
    early: int
    """Slots up to this bucket were checked for an early claim."""
    ticked_at: int = 0
    """The time at which the last tick that had enough time ended, in epoch milliseconds. 0: not known."""
    text: str | None = field(default=None, compare=False, repr=False, kw_only=True)
    """The stored text from which it was read. Another version may write the same progress as another text."""


def first_progress(shard: int, born: int | None, present: int) -> ShardProgress:
    """Return the progress of a shard that no tick has visited.

    It begins at the bucket of its first writer. Each shard has its deep re-read at another time of the day.
    """
    begin = present if born is None else min(born, present)
    deep = min(begin, present - shard * 89 % DEEP_REREAD)
    return ShardProgress(fire=begin, watch=begin, deep=deep, deep_until=deep, early=begin)


def last_tick(progress: ShardProgress) -> int:
    """Return the time of the last completed tick of a shard. An earlier version stored only the minute of a pass."""
    return progress.ticked_at or max(progress.fire, progress.watch) * BUCKET_MS


def first_bucket(done: int, present: int) -> int:
    """Return the bucket at which a pass begins: a little before the last pass."""
    return min(done, present) - REREAD


def completed(done: int, present: int, left_in: Iterable[int]) -> int:
    """Return the progress after a pass that left records in these buckets.

    It is never later than the earliest of them, and never earlier than before, unless that was after the present.
    """
    return max(min(done, present), min([present, *left_in]))


def deep_range(progress: ShardProgress, present: int) -> range:
    """Return the buckets that this tick reads again for the deep re-read: none, or the next ones.

    Once a day it begins where the last one ended, and ends where the passes begin. A tick reads a bounded number.
    """
    return range(progress.deep, min(deep_end(progress, present), progress.deep + DEEP_BUCKETS))


def deep_end(progress: ShardProgress, present: int) -> int:
    """Return the bucket at which the deep re-read under way ends, or the one that begins now."""
    if progress.deep_until <= progress.deep and present - progress.deep >= DEEP_REREAD:
        return min(progress.fire, progress.watch, present) - REREAD
    return progress.deep_until

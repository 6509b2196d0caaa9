"""Retire shards that no writer uses any more, when no record is left in them.

A retired shard gets no more ticks, so no writer may put a record there unnoticed:

- A number of shards is retired only a day after it was last seen. Each writer announces its number again after an hour,
  which refreshes the time at which it was seen. If it cannot, it stops to write after six hours. So a writer with a
  larger number announces it before its next write.
- An announcement changes the stored history. If it comes before the retirement, the retirement is refused. If it comes
  after, it raises the number again, and ticks go on in the next minute.
- No other process puts a record from elsewhere into these shards. A record that is there already may move from slot to
  slot inside its shard, past a read of the index: when it is claimed, and when it is set aside. All other moves choose
  the shard anew. These are two moves, so one of three reads finds it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from onthedot.core.errors import Unavailable
from onthedot.core.ports import Clock, DueIndex
from onthedot.core.shard_store import ShardStore
from onthedot.core.shards import ShardHistory
from onthedot.core.slots import BUCKET_MS, bucket_of

MOST_TRIES: Final = 10
READS: Final = 3
"""Reads of the whole index that must find nothing."""


@dataclass(frozen=True, slots=True)
class Retirement:
    """The result of a try to retire shards."""

    used: int
    """The number of shards that ticks served before."""
    in_use: int
    """The number that writers use now."""
    left: int = 0
    """Records in the shards to retire. While there are any, nothing is retired."""
    last_due: int | None = None
    """The start of the last minute in which one of them is due. None if that is not known."""

    @property
    def done(self) -> bool:
        """Whether shards were retired."""
        return self.in_use < self.used and not self.left


def retire_shards(shards: ShardStore, index: DueIndex, clock: Clock, on_page: Callable[[int], None]) -> Retirement:
    """Retire the shards above the number that writers use now, if no record is in them.

    `on_page` gets the number of entries of each page that was read. Raise Unavailable if a writer announced a larger
    number meanwhile.
    """
    history = shards.read()
    used, in_use = history.used, history.in_use(bucket_of(clock.now()))
    if in_use == used:
        return Retirement(used, in_use)
    for _ in range(READS):
        left, last_due = _records_in_shards(index, in_use, on_page)
        if left:
            return Retirement(used, in_use, left, last_due)
    _lower(shards, history, in_use)
    return Retirement(used, in_use)


def _lower(shards: ShardStore, seen: ShardHistory, count: int) -> None:
    """Store the smaller number, unless a larger one was announced since the history was seen."""
    for _ in range(MOST_TRIES):
        current = shards.read()
        if not current.above(count):
            return
        if current.above(count) != seen.above(count):
            break
        if shards.replace(current, current.lowered(count)):
            return
    raise Unavailable(f"a writer announced its number of shards meanwhile, and {seen.used} shards are served as before")


def _records_in_shards(index: DueIndex, first: int, on_page: Callable[[int], None]) -> tuple[int, int | None]:
    """Return the number of records in this shard and all later ones, and the last minute in which one is due."""
    left, last = 0, -1
    for slot in _slots(index, on_page):
        shard, bucket = _parts(slot)
        if shard >= first:
            left, last = left + 1, max(last, bucket)
    return left, None if last < 0 else last * BUCKET_MS


def _slots(index: DueIndex, on_page: Callable[[int], None]) -> Iterator[str]:
    cursor: str | None = None
    while True:
        page = index.slots(cursor)
        on_page(len(page.items))
        yield from page.items
        cursor = page.cursor
        if cursor is None:
            return


def _parts(slot: str) -> tuple[int, int]:
    """Return the shard and the bucket of a slot. -1 stands for a part that is missing or no number."""
    _, shard, bucket = (*slot.split("#"), "", "")[:3]
    return int(shard) if shard.isdecimal() else -1, int(bucket) if bucket.isdecimal() else -1

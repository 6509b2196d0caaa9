"""Retire the shards that writers no longer use, if no record is in them. `core.shards` says why this is safe."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from onthedot.core.errors import Unavailable
from onthedot.core.ports import Clock, DueIndex
from onthedot.core.shards import ShardHistory, ShardStore
from onthedot.core.slots import BUCKET_MS, bucket_of

MOST_TRIES: Final = 10
READS: Final = 3


@dataclass(frozen=True, slots=True)
class Retirement:
    used: int
    in_use: int
    left: int = 0
    """Records in the shards to retire. While there are any, nothing is retired."""
    last_due: int | None = None
    """The start of the last minute in which one of them is due. None if that is not known."""

    @property
    def done(self) -> bool:
        return self.in_use < self.used and not self.left


def retire_shards(shards: ShardStore, index: DueIndex, clock: Clock, on_page: Callable[[int], None]) -> Retirement:
    """Retire the shards above the number that writers use now, if no record is in them.

    `on_page` gets the number of entries of each page. Raise Unavailable if a writer announced a larger number
    meanwhile.
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
    left, last = 0, -1
    cursor: str | None = None
    while True:
        page = index.slots(cursor)
        on_page(len(page.items))
        for shard, bucket in map(_parts, page.items):
            if shard >= first:
                left, last = left + 1, max(last, bucket)
        cursor = page.cursor
        if cursor is None:
            return left, None if last < 0 else last * BUCKET_MS


def _parts(slot: str) -> tuple[int, int]:
    """Return the shard and the bucket of a slot. -1 stands for a part that is missing or no number."""
    _, shard, bucket = (*slot.split("#"), "", "")[:3]
    return int(shard) if shard.isdecimal() else -1, int(bucket) if bucket.isdecimal() else -1

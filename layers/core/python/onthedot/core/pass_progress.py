"""The progress of the passes over the slots of one shard. It decides where the next tick begins to read.

Progress never moves back. A pass that left a record in a slot does not move past that slot. So the next tick reads the
slot again. Progress in the future says nothing, since the clock of a dispatcher was wrong: it counts as
now.
"""

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Final

from onthedot.core import json_text
from onthedot.core.items import KNOWN_FORMAT, Change, Item, Items, Update, Value, above, absent, below, equals, exists
from onthedot.core.ports import TickLease
from onthedot.core.schema import progress_key, progress_shard
from onthedot.core.slots import BUCKET_MS, DEEP_BUCKETS, DEEP_REREAD, REREAD

LONGEST_TICK_MS: Final = 15 * 60_000
"""No tick takes longer. A lease that ends later was written by a dispatcher whose clock was wrong."""


@dataclass(frozen=True, slots=True)
class ShardProgress:
    fire: int
    watch: int
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
    """Return the progress of a shard that no tick has visited: from its first writer on.

    Each shard has its deep re-read at another time of the day.
    """
    begin = present if born is None else min(born, present)
    deep = min(begin, present - shard * 89 % DEEP_REREAD)
    return ShardProgress(fire=begin, watch=begin, deep=deep, deep_until=deep, early=begin)


def last_tick(progress: ShardProgress) -> int:
    """Return the time of the last completed tick. An earlier version stored only the minute of a pass."""
    return progress.ticked_at or max(progress.fire, progress.watch) * BUCKET_MS


def first_bucket(done: int, present: int) -> int:
    return min(done, present) - REREAD


def completed(done: int, present: int, left_in: Iterable[int]) -> int:
    """Return the progress after a pass that left records in these buckets.

    It is never later than the earliest of them, and never earlier than before, unless that was in the future.
    """
    return max(min(done, present), min([present, *left_in]))


def deep_range(progress: ShardProgress, present: int) -> range:
    """Return the next buckets of the daily deep re-read, a bounded number, if it is under way or begins now."""
    return range(progress.deep, min(deep_end(progress, present), progress.deep + DEEP_BUCKETS))


def deep_end(progress: ShardProgress, present: int) -> int:
    if progress.deep_until <= progress.deep and present - progress.deep >= DEEP_REREAD:
        return min(progress.fire, progress.watch, present) - REREAD
    return progress.deep_until


_LOG: Final = logging.getLogger(__name__)
_NAMES: Final = tuple(field.name for field in fields(ShardProgress) if field.name != "text")
_LATER: Final = {"ticked_at": 0}
"""Values that the first version did not store."""
_DONE: Final = "done"
_TICK: Final = "tick_id"
_BUSY: Final = "busy_until"
_ENDED: Final[dict[str, Value | None]] = {_TICK: None, _BUSY: None}


class ProgressStore:
    def __init__(self, items: Items) -> None:
        self._items = items

    def begin(self, lease: TickLease, now: int) -> Mapping[int, ShardProgress] | None:
        """Begin a tick, and return the progress of its shards. A shard that no tick has visited is missing.

        Return None while another tick of the same first shard is under way. A tick that is delivered again has the same
        id, and may begin.
        """
        free = (
            absent(_BUSY) | below(_BUSY, now + 1) | above(_BUSY, now + LONGEST_TICK_MS) | equals(_TICK, lease.tick_id)
        )
        change = Change(sets={_TICK: lease.tick_id, _BUSY: lease.until})
        done, first = self._items.update(progress_key(lease.shards[0]), change, [KNOWN_FORMAT, free])
        if not done:
            _stored([] if first is None else [first])
            return None
        others = self._items.get_many([progress_key(shard) for shard in lease.shards[1:]])
        stored = _stored([*([] if first is None else [first]), *others])
        read = {shard: progress_from(shard, value) for shard, value in stored.items()}
        for shard in [shard for shard, progress in read.items() if progress is None]:
            # It cannot be read, and goes unless another tick has replaced it.
            same = equals(_DONE, stored[shard]) if isinstance(stored[shard], str) else exists(_DONE)
            self._items.update(progress_key(shard), Change(sets={_DONE: None}), [same])
        return {shard: progress for shard, progress in read.items() if progress is not None}

    def finish(
        self, lease: TickLease, before: Mapping[int, ShardProgress], after: Mapping[int, ShardProgress]
    ) -> frozenset[int]:
        """Replace the progress that was read, shard by shard, and end the tick.

        Return the shards whose progress another tick has changed meanwhile. They keep the progress of that tick. A
        shard whose write was throttled is among them: the next tick reads a little more.
        """
        first = lease.shards[0]
        new = [shard for shard in after if shard not in before]
        changed = [shard for shard in after if shard in before and (shard == first or after[shard] != before[shard])]
        updates = {shard: _replacement(lease, shard, before.get(shard), after[shard]) for shard in (*new, *changed)}
        done = [self._items.update(*updates[shard]).done for shard in new]
        done += self._items.update_many([updates[shard] for shard in changed])
        return frozenset(shard for shard, is_done in zip((*new, *changed), done, strict=True) if not is_done)

    def last_ticks(self, shards: Sequence[int]) -> Mapping[int, int]:
        items = self._items.get_many([progress_key(shard) for shard in shards], may_lag=True)
        read = {shard: progress_from(shard, value) for shard, value in _stored(items).items()}
        return {shard: last_tick(progress) for shard, progress in read.items() if progress is not None}

    def forget_ticks(self, shards: Sequence[int]) -> None:
        """End the ticks of a process that is gone. The caller owns all of the store, so there is no other process."""
        for item in self._items.get_many([progress_key(shard) for shard in shards]):
            if _TICK in item.values:
                self._items.update(item.key, Change(sets=_ENDED))


def progress_text(progress: ShardProgress) -> str:
    return json_text.to_text({name: getattr(progress, name) for name in _NAMES})


def progress_from(shard: int, value: Value) -> ShardProgress | None:
    """Return the progress that `progress_text` wrote. None: it cannot be read, and the stored value must go."""
    text = value if isinstance(value, str) else ""
    try:
        stored = {**_LATER, **json.loads(text)}
        return ShardProgress(**{name: int(stored[name]) for name in _NAMES}, text=text)
    except (ValueError, KeyError, TypeError) as error:
        # One damaged item must not stop the other shards of the group.
        _LOG.error("progress_unreadable", extra={"shard": shard, "text": value, "error": repr(error)})
        return None


def _stored(items: Iterable[Item]) -> dict[int, Value]:
    """Return the stored progress of each shard. Raise Unavailable if a newer version wrote it and does the ticks."""
    found: dict[int, Value] = {}
    for item in items:
        item.refuse_newer("the progress of a shard")
        if _DONE in item.values:
            found[progress_shard(item.key)] = item.values[_DONE]
    return found


def _replacement(lease: TickLease, shard: int, before: ShardProgress | None, after: ShardProgress) -> Update:
    expected = None if before is None else before.text or progress_text(before)
    change, condition = {_DONE: progress_text(after)}, [equals(_DONE, expected)]
    if shard != lease.shards[0]:
        return Update(progress_key(shard), Change(sets={**change}), condition)
    return Update(progress_key(shard), Change(sets={**change, **_ENDED}), [*condition, equals(_TICK, lease.tick_id)])

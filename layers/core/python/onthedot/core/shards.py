"""The number of shards: which numbers writers have used, which shards are served, and when one is retired.

A retired shard gets no more ticks, so no writer may put a record there unnoticed:

- A number of shards is retired only a day after it was last seen. Each writer announces its number again after an hour,
  which refreshes the time at which it was seen. If it cannot, it stops to write after six hours. So a writer with a
  larger number announces it before its next write.
- An announcement changes the stored history. If it comes before the retirement, the retirement is refused. If it comes
  after, it raises the number again, and ticks go on in the next minute.
- No other process puts a record from elsewhere into these shards. A record that is there already may move from slot to
  slot inside its shard, past a read of the index: when it is claimed, and when it is set aside. All other moves choose
  a new shard. These are two moves, so one of three reads finds it.
"""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from onthedot.core.items import Items, StoredText
from onthedot.core.schema import shards_key

MOST_STEPS: Final = 16
RENEWED_AFTER: Final = 60
"""Buckets. A writer announces its number of shards again after this time."""
OVERDUE_AFTER: Final = 6 * 60
"""Buckets. A writer that cannot announce its number again for this long stops to write."""
UNUSED_AFTER: Final = 24 * 60
"""Buckets. No writer uses a number that was last announced longer ago: far more than twice `OVERDUE_AFTER`."""


@dataclass(frozen=True, slots=True)
class ShardStep:
    count: int
    since: int
    seen: int
    """The bucket of a recent writer. Its last write is at most `RENEWED_AFTER` + `OVERDUE_AFTER` later."""


@dataclass(frozen=True, slots=True)
class ShardHistory:
    """All numbers of shards that writers have used and that are not retired, the smallest first."""

    steps: tuple[ShardStep, ...] = ()

    @property
    def used(self) -> int:
        return self.steps[-1].count if self.steps else 0

    def born(self, shard: int) -> int | None:
        """Return the bucket from which the shard may have records, or None.

        When a retired shard is used again, this is its new first writer. Older progress may be skipped.
        """
        return min((step.since for step in self.steps if step.count > shard), default=None)

    def is_announced(self, count: int, bucket: int) -> bool:
        return any(step.count == count and step.seen > bucket - RENEWED_AFTER for step in self.steps)

    def announced(self, count: int, bucket: int) -> "ShardHistory":
        before = next((step for step in self.steps if step.count == count), ShardStep(count, bucket, bucket))
        others = [step for step in self.steps if step.count != count]
        now = ShardStep(count, min(before.since, bucket), max(before.seen, bucket))
        return ShardHistory(_bounded(sorted([*others, now], key=lambda step: step.count)))

    def in_use(self, bucket: int) -> int:
        """Return the largest number that a writer has used within a day, else the one that was used last."""
        recent = [step.count for step in self.steps if step.seen > bucket - UNUSED_AFTER]
        return max(recent) if recent else max(self.steps, key=lambda step: step.seen).count if self.steps else 0

    def above(self, count: int) -> tuple[ShardStep, ...]:
        return tuple(step for step in self.steps if step.count > count)

    def lowered(self, count: int) -> "ShardHistory":
        """Return the history after all larger numbers were retired. The remaining shards keep their first buckets."""
        kept = [step for step in self.steps if step.count <= count]
        *rest, last = kept
        return ShardHistory((*rest, replace(last, since=min(step.since for step in self.steps[len(rest) :]))))


def _bounded(steps: Sequence[ShardStep]) -> tuple[ShardStep, ...]:
    """Merge the step that was not seen for the longest time into the next larger one, while there are too many."""
    while len(steps) > MOST_STEPS:
        oldest = min(range(len(steps) - 1), key=lambda at: steps[at].seen)
        merged, larger = steps[oldest : oldest + 2]
        larger = ShardStep(larger.count, min(merged.since, larger.since), max(merged.seen, larger.seen))
        steps = [*steps[:oldest], larger, *steps[oldest + 2 :]]
    return tuple(steps)


def to_text(history: ShardHistory) -> str:
    return json.dumps([{"count": s.count, "since": s.since, "seen": s.seen} for s in history.steps])


def from_text(text: str) -> ShardHistory:
    return ShardHistory(tuple(ShardStep(int(s["count"]), int(s["since"]), int(s["seen"])) for s in json.loads(text)))


class ShardStore:
    def __init__(self, items: Items) -> None:
        self._text = StoredText(items, shards_key(), "steps", "the number of shards")

    def read(self) -> ShardHistory:
        return _history(self._text.read())

    def replace(self, seen: ShardHistory, history: ShardHistory) -> bool:
        """Replace the history that was seen. Return False if another one is stored.

        After a lost reply it may be the caller's own. Then the caller finds it when it reads again.
        """
        # The condition is on the stored text. Another version may write the same history as another text.
        before = self._text.read()
        return _history(before) == seen and self._text.replace(before, to_text(history))


def _history(text: str | None) -> ShardHistory:
    return from_text(text) if text else ShardHistory()


_LOG: Final = logging.getLogger(__name__)


class ServedShards:
    """The number of shards to serve, for a process that must go on when the stored number cannot be read."""

    def __init__(self, store: ShardStore, own: int) -> None:
        self._store = store
        self._own = own
        self._served = own

    def count(self) -> int:
        """Return the larger of the stored number and the process's own. After a failed read, return the last answer."""
        try:
            self._served = max(self._own, self._store.read().used)
        except Exception:  # noqa: BLE001 - not even a missing grant or an unreadable item may stop the ticks
            _LOG.exception("shards_unread", extra={"served": self._served})
        return self._served

"""The history of the number of shards: which numbers writers have used, and when."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

MOST_STEPS: Final = 16
RENEWED_AFTER: Final = 60
"""Buckets. A writer announces its number of shards again after this time."""
OVERDUE_AFTER: Final = 6 * 60
"""Buckets. A writer that cannot announce its number again for this long stops to write."""
UNUSED_AFTER: Final = 24 * 60
"""Buckets. No writer uses a number that was last announced longer ago: far more than twice `OVERDUE_AFTER`."""


@dataclass(frozen=True, slots=True)
class ShardStep:
    """One number of shards that writers have used."""

    count: int
    since: int
    """The bucket of the first writer."""
    seen: int
    """The bucket of a recent writer. Its last write is at most `RENEWED_AFTER` + `OVERDUE_AFTER` later."""


@dataclass(frozen=True, slots=True)
class ShardHistory:
    """All numbers of shards that writers have used and that are not retired, the smallest first."""

    steps: tuple[ShardStep, ...] = ()

    @property
    def used(self) -> int:
        """The number of shards in which records may be."""
        return self.steps[-1].count if self.steps else 0

    def born(self, shard: int) -> int | None:
        """Return the bucket from which the shard may have records. None if no writer has used it.

        When a retired shard is used again, this is the bucket of its new first writer. Nothing was left before it, so
        older progress of the shard may be skipped.
        """
        return min((step.since for step in self.steps if step.count > shard), default=None)

    def is_announced(self, count: int, bucket: int) -> bool:
        """Return whether a writer with this number may write now."""
        return any(step.count == count and step.seen > bucket - RENEWED_AFTER for step in self.steps)

    def announced(self, count: int, bucket: int) -> "ShardHistory":
        """Return the history after a writer with this number of shards. It never loses a shard."""
        before = next((step for step in self.steps if step.count == count), ShardStep(count, bucket, bucket))
        others = [step for step in self.steps if step.count != count]
        now = ShardStep(count, min(before.since, bucket), max(before.seen, bucket))
        return ShardHistory(_bounded(sorted([*others, now], key=lambda step: step.count)))

    def in_use(self, bucket: int) -> int:
        """Return the largest number that a writer has used within a day, else the one that was used last."""
        recent = [step.count for step in self.steps if step.seen > bucket - UNUSED_AFTER]
        return max(recent) if recent else max(self.steps, key=lambda step: step.seen).count if self.steps else 0

    def above(self, count: int) -> tuple[ShardStep, ...]:
        """Return the larger numbers."""
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
    """Return the history. Fields of a newer version are ignored."""
    return ShardHistory(tuple(ShardStep(int(s["count"]), int(s["since"]), int(s["seen"])) for s in json.loads(text)))

"""How far the passes over the slots have come, and which slots a pass must therefore read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from onthedot.domain.slots import DEEP_REREAD, REREAD, SlotKind


@dataclass(frozen=True, slots=True)
class Progress:
    """Per kind and shard, the bucket of the last completed pass."""

    done: Mapping[SlotKind, Mapping[int, int]] = field(default_factory=dict)

    def of(self, kind: SlotKind, shard: int) -> int | None:
        """The shard's progress; a shard never seen starts at the least of the others, for its slots may be old."""
        shards = self.done.get(kind, {})
        return shards.get(shard, min(shards.values(), default=None))

    def with_pass(self, kind: SlotKind, shard: int, bucket: int) -> "Progress":
        """This progress after a pass; it never goes back."""
        shards = dict(self.done.get(kind, {}))
        shards[shard] = max(bucket, shards.get(shard, bucket))
        return Progress({**self.done, kind: shards})


def completed(now_bucket: int, left_in: Iterable[int]) -> int:
    """The progress of a pass that left something in these buckets: it never passes them."""
    return min([now_bucket, *left_in])


def first_bucket(progress: int | None, now_bucket: int, shard: int) -> int:
    """Where a pass begins. Without any progress, and once a day for each shard, it reads a day back."""
    if progress is None or (now_bucket + shard * 89) % DEEP_REREAD == 0:
        return now_bucket - DEEP_REREAD
    return min(progress, now_bucket) - REREAD

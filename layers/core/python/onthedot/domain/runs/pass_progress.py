"""How far the passes over the slots have come, and which slots a pass must therefore read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from onthedot.domain.runs.slots import DEEP_REREAD, REREAD, SlotKind


@dataclass(frozen=True, slots=True)
class PassProgress:
    """Per kind and shard, the bucket of the last completed pass."""

    done: Mapping[SlotKind, Mapping[int, int]] = field(default_factory=dict)
    born: int | None = None
    """Where nothing is done yet: the bucket before which nothing can have been stored."""

    def of(self, kind: SlotKind, shard: int) -> int | None:
        """The shard's progress; a shard never seen starts at the least of the others, for its slots may be old."""
        shards = self.done.get(kind, {})
        return shards.get(shard, min(shards.values(), default=self.born))

    def with_pass(self, kind: SlotKind, shard: int, bucket: int) -> "PassProgress":
        """This progress after a pass; a pass that left something in an old slot takes it back there."""
        return replace(self, done={**self.done, kind: {**self.done.get(kind, {}), shard: bucket}})


def completed(now_bucket: int, left_in: Iterable[int]) -> int:
    """The progress of a pass that left something in these buckets: it never passes them."""
    return min([now_bucket, *left_in])


def first_bucket(progress: int | None, now_bucket: int, shard: int) -> int:
    """Where a pass begins: a little before the last one, and once a day (each shard at its own minute) a day back."""
    known = now_bucket if progress is None else min(progress, now_bucket)
    if (now_bucket + shard * 89) % DEEP_REREAD == 0:
        return min(known, now_bucket - DEEP_REREAD)
    return known - REREAD

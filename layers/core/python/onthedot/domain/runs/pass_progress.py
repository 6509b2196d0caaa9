"""The progress of the passes over the slots. It decides where the next pass begins to read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from onthedot.domain.runs.slots import DEEP_REREAD, REREAD, SlotKind


@dataclass(frozen=True, slots=True)
class PassProgress:
    """The progress of one shard group."""

    done: Mapping[SlotKind, Mapping[int, int]] = field(default_factory=dict)
    """The bucket of the last completed pass, by kind of slot and shard."""
    born: int | None = None
    """The bucket before which nothing can have been stored. It is used until the first pass is completed."""

    def of(self, kind: SlotKind, shard: int) -> int | None:
        """Return the progress of a shard.

        A new shard begins at the earliest of the others, because its slots may be old.
        """
        shards = self.done.get(kind, {})
        return shards.get(shard, min(shards.values(), default=self.born))

    def with_pass(self, kind: SlotKind, shard: int, bucket: int) -> "PassProgress":
        """Return this progress after a pass.

        The bucket may be earlier than before, when the pass left a record in an older slot.
        """
        return replace(self, done={**self.done, kind: {**self.done.get(kind, {}), shard: bucket}})


def completed(now_bucket: int, left_in: Iterable[int]) -> int:
    """Return the progress after a pass that left records in these buckets: never later than the earliest of them."""
    return min([now_bucket, *left_in])


def first_bucket(progress: int | None, now_bucket: int, shard: int) -> int:
    """Return the bucket at which a pass begins: a little before the last pass.

    Once a day, each shard at its own minute, it begins a day back.
    """
    known = now_bucket if progress is None else min(progress, now_bucket)
    if (now_bucket + shard * 89) % DEEP_REREAD == 0:
        return min(known, now_bucket - DEEP_REREAD)
    return known - REREAD

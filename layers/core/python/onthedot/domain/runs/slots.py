"""Buckets, shards and slots. No other module computes them.

A bucket is one UTC minute. A slot is a partition of the due index. `fire#shard#bucket` holds the records that are due
in that minute and wait for the claim pass. `watch#shard#bucket` holds the runs that were sent or started, and the
records with an unfinished step: the sweep checks them in that minute.
"""

import hashlib
from enum import StrEnum
from typing import Final

BUCKET_MS: Final = 60_000
WATCH_DISTANCE: Final = 2
"""A watch slot is never nearer than this many buckets, so that no record is put into a slot that was read already."""
DIRECT_MARGIN: Final = 1
"""A run that is due within this many buckets after the horizon is sent directly too, because clocks differ and the
index lags."""
REREAD: Final = 5
"""Each pass begins this many buckets before the last completed one."""
DEEP_REREAD: Final = 24 * 60
"""After this many buckets a shard reads all of them a second time, for records that were written very late."""
DEEP_BUCKETS: Final = 100
"""Most buckets of a shard that one tick reads for it."""
DECISION_MS: Final = 30_000
"""A slot must be written within this time after it was computed, else it is computed again. Readers rely on it."""


ASIDE: Final = "aside"
"""The first part of the name of an aside slot."""


class SlotKind(StrEnum):
    """The two kinds of slots."""

    FIRE = "fire"
    """Read by the claim pass."""
    WATCH = "watch"
    """Read by the sweep pass."""


def bucket_of(at: int) -> int:
    """Return the bucket that the instant lies in."""
    return at // BUCKET_MS


def shard_of(job_id: str, shards: int) -> int:
    """Return the shard of a job. It is the same in all processes and versions."""
    return int.from_bytes(hashlib.blake2b(job_id.encode(), digest_size=8).digest(), "big") % shards


def slot_name(kind: SlotKind, shard: int, bucket: int) -> str:
    """Return the name of a slot, which is its key in the due index."""
    return f"{kind}#{shard}#{bucket}"


def aside_slot(shard: int) -> str:
    """Return the slot of the records of a shard that no version could read or handle so far. No pass visits it."""
    return f"{ASIDE}#{shard}"


def slot_shard(slot: str) -> int:
    """Return the shard in a slot's name."""
    return int(slot.split("#")[1])


def slot_bucket(slot: str) -> int:
    """Return the bucket in the name of a fire slot or a watch slot."""
    return int(slot.split("#")[2])


def horizon(now: int, lookahead: int) -> int:
    """Return the end of `bucket(now) + lookahead`. The dispatcher sends every run that is due before it."""
    return (bucket_of(now) + lookahead + 1) * BUCKET_MS


def is_near(fire_at: int, now: int, lookahead: int) -> bool:
    """Return whether a run that is created now is sent directly, without waiting for the claim pass."""
    return fire_at < horizon(now, lookahead) + DIRECT_MARGIN * BUCKET_MS


def fire_slot(shard: int, fire_at: int, now: int) -> str:
    """Return the slot where a PENDING run waits for the claim pass: never a past slot, which passes seldom read."""
    return slot_name(SlotKind.FIRE, shard, bucket_of(max(fire_at, now)))


def watch_slot(shard: int, due: int, now: int) -> str:
    """Return the slot in which the sweep checks a sent run, if the run has not ended by then."""
    return slot_name(SlotKind.WATCH, shard, bucket_of(max(due, now)) + WATCH_DISTANCE)

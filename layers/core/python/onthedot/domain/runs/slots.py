"""Buckets, shards and slots: the only module that computes them.

A bucket is one UTC minute. A slot is a partition of the due index: `fire#shard#bucket` holds what is
PENDING and due in that minute; `watch#shard#bucket` holds what was handed over and must be looked at then.
"""

import hashlib
from enum import StrEnum
from typing import Final

BUCKET_MS: Final = 60_000
WATCH_DISTANCE: Final = 2
"""A watch slot is never nearer than this many buckets, so that nobody parks something behind its readers."""
DIRECT_MARGIN: Final = 1
"""Clocks differ and the index lags: what is due this close after the horizon is handed over directly too."""
REREAD: Final = 5
"""Each pass begins this many buckets before the last completed one."""
DEEP_REREAD: Final = 24 * 60
"""Once a day each shard reads back this far."""
DECISION_MS: Final = 30_000
"""A slot is computed and written within this time, or computed again: readers rely on it."""


class SlotKind(StrEnum):
    FIRE = "fire"
    WATCH = "watch"


def bucket_of(at: int) -> int:
    """The bucket that the instant lies in."""
    return at // BUCKET_MS


def shard_of(job_id: str, shards: int) -> int:
    """The shard of a job: stable across processes and versions."""
    return int.from_bytes(hashlib.blake2b(job_id.encode(), digest_size=8).digest(), "big") % shards


def slot_name(kind: SlotKind, shard: int, bucket: int) -> str:
    return f"{kind}#{shard}#{bucket}"


def slot_shard(slot: str) -> int:
    """The shard in a slot's name."""
    return int(slot.split("#")[1])


def horizon(now: int, lookahead: int) -> int:
    """Everything due before this instant is handed to SQS: the end of bucket(now) + lookahead."""
    return (bucket_of(now) + lookahead + 1) * BUCKET_MS


def is_near(fire_at: int, now: int, lookahead: int) -> bool:
    """Whether a run created now goes the direct path."""
    return fire_at < horizon(now, lookahead) + DIRECT_MARGIN * BUCKET_MS


def fire_slot(shard: int, fire_at: int, now: int) -> str:
    """Where a PENDING run waits for its claim; never in the past, where nobody might look soon."""
    return slot_name(SlotKind.FIRE, shard, bucket_of(max(fire_at, now)))


def watch_slot(shard: int, due: int, now: int) -> str:
    """Where a handed-over run is looked at again if it has not ended by then."""
    return slot_name(SlotKind.WATCH, shard, bucket_of(max(due, now)) + WATCH_DISTANCE)

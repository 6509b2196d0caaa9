"""Where a run waits: its slot in the due index, and its queue."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from onthedot.core.choices import Priority
from onthedot.core.pools import Pool, Pools
from onthedot.core.records import Status
from onthedot.targets.rules import AllowList

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
DECISION_MS: Final = 30_000
"""A slot must be written within this time after it was computed, else it is computed again. Readers rely on it."""


ASIDE: Final = "aside"


class SlotKind(StrEnum):
    FIRE = "fire"
    """Read by the claim pass."""
    WATCH = "watch"
    """Read by the sweep pass."""


def bucket_of(at: int) -> int:
    return at // BUCKET_MS


def shard_of(job_id: str, shards: int) -> int:
    """Return the shard of a job. It is the same in all processes and versions."""
    return int.from_bytes(hashlib.blake2b(job_id.encode(), digest_size=8).digest(), "big") % shards


def slot_name(kind: SlotKind, shard: int, bucket: int) -> str:
    return f"{kind}#{shard}#{bucket}"


def aside_slot(shard: int) -> str:
    """Return the slot of the records of a shard that no version could read or handle so far. No pass visits it."""
    return f"{ASIDE}#{shard}"


def slot_shard(slot: str) -> int:
    return int(slot.split("#")[1])


def slot_bucket(slot: str) -> int:
    return int(slot.split("#")[2])


def horizon(now: int, lookahead: int) -> int:
    """Return the end of `bucket(now) + lookahead`. The dispatcher sends every run that is due before it."""
    return (bucket_of(now) + lookahead + 1) * BUCKET_MS


def is_near(due_at: int, now: int, lookahead: int) -> bool:
    return due_at < horizon(now, lookahead) + DIRECT_MARGIN * BUCKET_MS


def fire_slot(shard: int, due_at: int, now: int) -> str:
    """Return the slot where a PENDING run waits for the claim pass: never a past slot, which passes seldom read."""
    return slot_name(SlotKind.FIRE, shard, bucket_of(max(due_at, now)))


def watch_slot(shard: int, due: int, now: int) -> str:
    """Return the slot in which the sweep checks a sent run, if the run has not ended by then."""
    return slot_name(SlotKind.WATCH, shard, bucket_of(max(due, now)) + WATCH_DISTANCE)


@dataclass(frozen=True, slots=True)
class Deployment:
    shards: int
    lookahead: int
    """Number of whole buckets after the current one whose runs the dispatcher sends ahead of time."""
    history_days: int
    backlog_limit: int = 50_000
    """When more messages than this wait in a queue, the dispatcher claims no more runs for it."""
    pools: Pools = field(default_factory=Pools)
    allow_list: AllowList = field(default_factory=AllowList)
    """The functions and AWS calls that jobs may name."""


def queue_key(pool: str, priority: Priority) -> str:
    return f"{pool}-{priority.value.lower()}"


def read_queue_key(key: str) -> tuple[str, Priority]:
    pool, _, priority = key.rpartition("-")
    return pool, Priority(priority.upper())


def queue_name(pool: Pool, priority: Priority) -> str:
    """Return the name of the queue of a pool's runs of this priority. One queue may serve all priorities."""
    return pool.name if pool.queues == 1 else queue_key(pool.name, priority)


def queue_urls(base: str, pools: Iterable[Pool]) -> dict[str, str]:
    return {
        queue_key(pool.name, priority): base + queue_name(pool, priority) for pool in pools for priority in Priority
    }


def dead_letters_url(url: str) -> str:
    return f"{url}-dlq"


@dataclass(frozen=True, slots=True)
class Placement:
    status: Status
    slot: str


def place(job_id: str, due_at: int, now: int, deployment: Deployment, until: int | None = None) -> Placement:
    """Choose the direct path for a run that is near, which the caller sends at once, else its fire slot.

    With `until`, the end of a slot that is claimed early, a run that is due before it goes the direct path too.
    """
    shard = shard_of(job_id, deployment.shards)
    if is_near(due_at, now, deployment.lookahead) or due_at < (until or 0):
        return Placement(Status.DISPATCHED, watch_slot(shard, due_at, now))
    return Placement(Status.PENDING, fire_slot(shard, due_at, now))


def rescheduled(at: int, generation: str, placed: Placement) -> dict[str, Any]:
    """Return the fields of a run that is scheduled again: a new generation makes all earlier messages void."""
    return {"due_at": at, "generation": generation, "slot": placed.slot, "claim_token": None, "resends": 0}

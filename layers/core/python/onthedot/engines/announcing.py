"""A store of runs that announces its number of shards before it writes, so that ticks serve all shards that it uses."""

import logging
from collections.abc import Sequence
from typing import Final

from onthedot.core.errors import Unavailable
from onthedot.core.moves import Move
from onthedot.core.ports import (
    Clock,
    Deadline,
    ListEntry,
    Moved,
    Page,
    ReadRecords,
    Refused,
    RunStore,
    SlotEntry,
    Undecided,
)
from onthedot.core.records import Record
from onthedot.core.shard_store import ShardStore
from onthedot.core.shards import OVERDUE_AFTER, RENEWED_AFTER
from onthedot.core.slots import BUCKET_MS, bucket_of
from onthedot.jobs.failed import ALWAYS, Window

_LOG: Final = logging.getLogger(__name__)
MOST_TRIES: Final = 10
"""Each try that fails means that another process has announced its number."""


def announce(shards: ShardStore, count: int, now: int) -> None:
    """Make sure that the stored history has this number of shards, used now. Raise Unavailable if it cannot.

    It costs one read, and a write if no process has announced this number within an hour.
    """
    for _ in range(MOST_TRIES):
        history = shards.read()
        if history.is_announced(count, bucket_of(now)):
            return
        if shards.replace(history, history.announced(count, bucket_of(now))):
            return
    raise Unavailable("the number of shards could not be announced")


class AnnouncingStore:
    """A `RunStore` on another one. Before its first write, and then once an hour, it announces its number of shards.

    A write whose first announcement fails raises Unavailable and does not happen. An announcement that is repeated may
    fail for some hours. Between announcements a write costs no request.
    """

    def __init__(self, store: RunStore, shards: ShardStore, clock: Clock, count: int) -> None:
        self._store = store
        self._shards = shards
        self._clock = clock
        self._count = count
        self._announced_at: int | None = None
        self._next_at = 0

    def create(self, run: Record) -> Record | None:
        self._announce()
        return self._store.create(run)

    def create_many(self, records: Sequence[Record], deadline: Deadline) -> Sequence[Moved | Refused | Undecided]:
        self._announce()
        return self._store.create_many(records, deadline)

    def move(self, move: Move) -> Moved | Refused:
        self._announce()
        return self._store.move(move)

    def move_many(self, moves: Sequence[Move], deadline: Deadline) -> Sequence[Moved | Refused | Undecided]:
        self._announce()
        return self._store.move_many(moves, deadline)

    def runs_of(self, job_id: str, limit: int, cursor: str | None = None, *, until: int | None = None) -> Page[Record]:
        return self._store.runs_of(job_id, limit, cursor, until=until)

    def get(self, run_id: str) -> Record | None:
        return self._store.get(run_id)

    def get_many(self, run_ids: Sequence[str], deadline: Deadline) -> ReadRecords:
        return self._store.get_many(run_ids, deadline)

    def read_slot(self, slot: str, cursor: str | None = None, limit: int | None = None) -> Page[SlotEntry]:
        return self._store.read_slot(slot, cursor, limit)

    def set_aside(self, run_id: str, slot: str, why: str, now: int) -> bool:
        return self._store.set_aside(run_id, slot, why, now)

    def failed(self, tenant: str, limit: int, cursor: str | None = None, window: Window = ALWAYS) -> Page[Record]:
        return self._store.failed(tenant, limit, cursor, window)

    def listed(self, partition: str, limit: int, after: tuple[int, str] | None = None) -> tuple[list[ListEntry], bool]:
        return self._store.listed(partition, limit, after)

    def _announce(self) -> None:
        now = self._clock.now()
        if now < self._next_at:
            return
        try:
            announce(self._shards, self._count, now)
        except (Unavailable, ValueError, KeyError, TypeError) as error:
            if self._announced_at is None or now - self._announced_at >= OVERDUE_AFTER * BUCKET_MS:
                raise
            # The number was announced and is served for a day. One item that fails must not stop all writes.
            _LOG.warning("shards_not_announced", extra={"error": str(error)})
            self._next_at = now + BUCKET_MS
            return
        self._announced_at, self._next_at = now, now + RENEWED_AFTER * BUCKET_MS

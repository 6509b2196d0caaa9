"""A store of runs that announces its number of shards before it writes, so that ticks serve all shards that it uses."""

import logging
from collections.abc import Sequence
from typing import Final

from onthedot.core.errors import Unavailable
from onthedot.core.moves import Move
from onthedot.core.ports import Clock, RunStore
from onthedot.core.shards import OVERDUE_AFTER, RENEWED_AFTER, ShardStore
from onthedot.core.slots import BUCKET_MS, bucket_of
from onthedot.engines.store_around import StoreAround

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


class AnnouncingStore(StoreAround):
    """A `RunStore` on another one. Before its first write, and then once an hour, it announces its number of shards.

    A write whose first announcement fails raises Unavailable and does not happen. An announcement that is repeated may
    fail for some hours. Between announcements a write costs no request.
    """

    def __init__(self, store: RunStore, shards: ShardStore, clock: Clock, count: int) -> None:
        super().__init__(store)
        self._shards = shards
        self._clock = clock
        self._count = count
        self._announced_at: int | None = None
        self._next_at = 0

    def _before(self, moves: Sequence[Move] | None) -> None:  # noqa: ARG002 - any write
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

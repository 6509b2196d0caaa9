"""The shards that ticks and audits must look at: all in which records may be, whichever version wrote them."""

import logging
from typing import Final

from onthedot.core.shard_store import ShardStore

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

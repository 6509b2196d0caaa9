"""The store of the number of shards that writers have used."""

from typing import Protocol

from onthedot.domain.shard_history import ShardHistory
from onthedot.ports.runs import Page


class ShardStore(Protocol):
    """A store of the history of the number of shards."""

    def read(self) -> ShardHistory:
        """Return the history as it is now. It is empty before the first writer."""
        ...

    def replace(self, seen: ShardHistory, history: ShardHistory) -> bool:
        """Replace the history that was seen. Return False if the stored history is another one.

        After a lost reply it may be the caller's own. Then the caller finds it when it reads again.
        """
        ...

    def slots(self, cursor: str | None = None) -> Page[str]:
        """Return a page of the slot names of all records in the due index, in any order. A slot is named repeatedly.

        It reads the whole index, so only operators' commands call it. The index may lag.
        """
        ...

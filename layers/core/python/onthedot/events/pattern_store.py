"""The index of the patterns of event jobs, and the ids of received events."""

from collections.abc import Iterator, Sequence
from typing import Final

from onthedot.core.errors import Unavailable
from onthedot.core.items import EXPIRES_AT, MISSING, Item, Items, Value, whole
from onthedot.core.schema import Key, event_key, key_of_event, pattern_key, pattern_partition
from onthedot.events.ports import PatternEntry

_PAGE: Final = 500
_PATTERN: Final = "pattern"
_PUT_AT: Final = "put_at"
_TIME: Final = "event_time"


class PatternStore:
    """It finds the patterns that an event may match without reading the others, and remembers the ids of events.

    There is one item for each key of a pattern.
    """

    def __init__(self, items: Items, page_size: int = _PAGE) -> None:
        self._items = items
        self._page_size = page_size

    def put(self, tenant: str, keys: Sequence[str], entry: PatternEntry) -> None:
        """Store the entry under each of at most 25 keys. Raise Unavailable when some of them may not be stored."""
        values: dict[str, Value] = {_PATTERN: entry.pattern, _PUT_AT: entry.put_at}
        self._items.put_many([Item(pattern_key(tenant, key, entry.job_id, entry.name), values) for key in keys])

    def remove(self, tenant: str, keys: Sequence[str], job_id: str, name: str) -> None:
        self._items.delete_many([pattern_key(tenant, key, job_id, name) for key in keys])

    def matching(self, tenant: str, keys: Sequence[str]) -> Iterator[PatternEntry]:
        """Yield all entries under these keys, read consistently, page by page.

        An entry under two keys is yielded twice.
        """
        for key in keys:
            yield from map(_entry, whole(self._items.query, pattern_partition(tenant, key), limit=self._page_size))

    def first_time(self, tenant: str, event_id: str, time: int, expires_at: int) -> int:
        """Return the time of the event when it first arrived: `time`, unless an earlier arrival is remembered."""
        done, item = self._remember(event_key(tenant, event_id), time, expires_at)
        if done:
            return time
        if item is None:
            raise Unavailable("the remembered event expired meanwhile")
        return item.number(_TIME)

    def remember(self, tenant: str, digest: str, time: int, expires_at: int) -> bool:
        """Remember an event that another stage has received, by the hash of its id (`domain.ids.event_digest`).

        Return whether it was not remembered before.
        """
        return self._remember(key_of_event(tenant, digest), time, expires_at)[0]

    def _remember(self, key: Key, time: int, expires_at: int) -> tuple[bool, Item | None]:
        return self._items.put(key, {_TIME: time, EXPIRES_AT: expires_at}, [MISSING])


def _entry(item: Item) -> PatternEntry:
    """Without a pattern, or from a newer version, the entry gets an empty one, which its reader reports as damaged."""
    job_id, _, name = item.key.sort.partition("#")
    pattern, put_at = item.values.get(_PATTERN), item.values.get(_PUT_AT)
    readable = isinstance(pattern, str) and not item.is_newer
    return PatternEntry(job_id, name, str(pattern) if readable else "", put_at if isinstance(put_at, int) else 0)

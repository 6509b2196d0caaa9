"""All data of a tenant, for the operator who stops or deletes one."""

import json
from typing import Final

from onthedot.core.items import Item, Items
from onthedot.core.ports import ListedBlobs, Page
from onthedot.core.records import TERMINAL
from onthedot.core.schema import BLOBS, JOB_SORT_KEY, WORKERS_PARTITION, Key, blobs_of, is_of_tenant
from onthedot.workers.registry import tenant_of

READ_AT_ONCE: Final = 1_000
_BLOBS_AT_ONCE: Final = 1_000
_ONLY: Final = ("tenant", "about", "status")
"""Which of these values an item has says whose it is."""


class TenantData:
    """It scans the whole store: no index has all items of a tenant, such as tombstones and states of gates.

    On AWS a scan of a million items costs a few cents.
    """

    def __init__(self, items: Items, blobs: ListedBlobs, page_size: int = READ_AT_ONCE) -> None:
        self._items = items
        self._blobs = blobs
        self._page_size = page_size

    def jobs_page(self, tenant: str, cursor: str | None = None) -> Page[str]:
        """Read a page of everything that is stored. Return the ids of the tenant's jobs that have not ended."""
        items, following = self._scan(cursor)
        return Page([item.key.partition for item in items if _is_live_job(item) and _is_of(item, tenant)], following)

    def delete_page(self, tenant: str, cursor: str | None = None) -> tuple[int, str | None]:
        """Read a page of everything that is stored, as it is now, and delete all of the tenant but its limits.

        Return how many entries were deleted, and the cursor. When this raises Unavailable, a part may be deleted.
        """
        items, following = self._scan(cursor)
        keys = [item.key for item in items if _is_of(item, tenant)]
        self._items.delete_many(keys)
        return len(keys), following

    def delete_blobs(self, tenant: str) -> int:
        """Delete some blobs of the tenant and return their number. 0: there are no more."""
        for prefix in BLOBS:
            if found := self._blobs.keys(blobs_of(tenant, prefix), "", _BLOBS_AT_ONCE):
                self._blobs.delete(found)
                return len(found)
        return 0

    def _scan(self, cursor: str | None) -> tuple[list[Item], str | None]:
        items, last = self._items.scan(self._page_size, None if cursor is None else Key(*json.loads(cursor)), _ONLY)
        return list(items), None if last is None else json.dumps(last)


def _is_live_job(item: Item) -> bool:
    return item.key.sort == JOB_SORT_KEY and item.values.get("status") not in TERMINAL


def _is_of(item: Item, tenant: str) -> bool:
    if item.key.partition == WORKERS_PARTITION:
        return tenant_of(item) == tenant
    return is_of_tenant(item.key, tenant) or item.values.get("tenant") == tenant

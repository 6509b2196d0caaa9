"""The embedded engine as one value."""

from dataclasses import dataclass
from typing import Final, Self

from onthedot.access.tenant_data import TenantData
from onthedot.core.pass_progress import ProgressStore
from onthedot.core.ports import Clock, DueIndex, RunQueues, RunStore
from onthedot.core.shards import ShardStore
from onthedot.core.slots import Deployment
from onthedot.engine import Engine, Stores, stores_on
from onthedot.engines.live_records import LiveRecords
from onthedot.engines.sqlite.blobs import SqliteBlobs
from onthedot.engines.sqlite.database import Database
from onthedot.engines.sqlite.items import SqliteItems
from onthedot.engines.sqlite.live_queues import LiveQueues
from onthedot.engines.sqlite.store import SqliteRunStore
from onthedot.engines.store_around import AnnouncingStore, FreezableStore
from onthedot.transfer.stored_entries import StoredEntries, Transfer
from onthedot.wiring.points import FeaturePoints

STAGE_KNOWN_MS: Final = 1_000
STAGE_SETTLE_MS: Final = 5_000
"""One process owns the file and follows its own change at once. A thread that checked the state before writes within
this time: it waits for nothing but the lock."""


@dataclass(frozen=True)
class SqliteEngine(Stores):
    """Every port of the embedded engine, on one database and one clock.

    Its stores remember nothing unless asked: a read of SQLite is cheap.
    """

    clock: Clock
    database: Database
    deployment: Deployment
    store: AnnouncingStore
    queues: RunQueues
    items: SqliteItems
    progress: ProgressStore
    blobs: SqliteBlobs
    shards: ShardStore
    due_index: DueIndex
    tenant_data: TenantData
    stored_entries: StoredEntries

    @classmethod
    def on(
        cls,
        database: Database,
        clock: Clock,
        deployment: Deployment,
        page_size: int | None = None,
        *,
        remembers: bool = False,
    ) -> Self:
        """Return the engine on this database. `page_size` replaces the stores' own sizes of a page.

        With `remembers`, records of live runs are not read again in a transaction, and limits and signing keys at most
        every second or minute. Then this engine must be the only writer.
        """
        pages = {} if page_size is None else {"page_size": page_size}
        items, runs = SqliteItems(database, clock, **pages), SqliteRunStore(database, clock, **pages)
        shards, blobs = ShardStore(items), SqliteBlobs(database)
        stores = stores_on(
            items,
            clock,
            known_ms=STAGE_KNOWN_MS,
            settle_ms=STAGE_SETTLE_MS,
            remembers=remembers,
            page_size=page_size,
        )
        records: RunStore = runs
        if remembers:
            records = live = LiveRecords(runs, lambda: database.is_mine)
            database.on_undo = live.forget_all
        return cls(
            clock,
            database,
            deployment,
            AnnouncingStore(records, shards, clock, deployment.shards),
            LiveQueues(database, clock),
            items,
            ProgressStore(items),
            blobs,
            shards,
            runs,
            TenantData(items, blobs, **pages),
            StoredEntries(items),
            **stores.stores,
        )

    @property
    def engine(self) -> Engine:
        return Engine(
            **self.stores,
            points=FeaturePoints(),
            store=FreezableStore(self.store, self.stage),
            queues=self.queues,
            blobs=self.blobs,
            clock=self.clock,
            deployment=self.deployment,
            shards=self.shards,
            tick_times=self.progress,
            transfer=Transfer(self.stored_entries, self.store),
        )

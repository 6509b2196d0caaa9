"""The embedded engine as one value."""

from dataclasses import dataclass
from typing import Self

from onthedot.domain.deployment import Deployment
from onthedot.engines.announcing import AnnouncingStore
from onthedot.engines.freezing import FreezableStore, KnownStage
from onthedot.engines.sqlite.blobs import SqliteBlobs
from onthedot.engines.sqlite.database import Database
from onthedot.engines.sqlite.gates import SqliteGateStore
from onthedot.engines.sqlite.limits import SqliteLimitsStore
from onthedot.engines.sqlite.patterns import SqlitePatternStore
from onthedot.engines.sqlite.progress import SqliteProgressStore
from onthedot.engines.sqlite.queues import SqliteRunQueues, SqliteTickQueue
from onthedot.engines.sqlite.registry import SqliteSigningStore, SqliteWorkerRegistry
from onthedot.engines.sqlite.shards import SqliteShardStore
from onthedot.engines.sqlite.stage import known_stage
from onthedot.engines.sqlite.statistics import SqliteStatistics
from onthedot.engines.sqlite.store import SqliteRunStore
from onthedot.engines.sqlite.stored_entries import SqliteStoredEntries
from onthedot.engines.sqlite.tenant_data import SqliteTenantData
from onthedot.engines.sqlite.tokens import SqliteTokenStore
from onthedot.ports import Clock, Engine, Transfer


@dataclass(frozen=True)
class SqliteEngine:
    """Every port of the embedded engine, on one database and one clock.

    It needs no caches: a read of SQLite is cheap.
    """

    clock: Clock
    database: Database
    deployment: Deployment
    store: AnnouncingStore
    queues: SqliteRunQueues
    ticks: SqliteTickQueue
    progress: SqliteProgressStore
    tokens: SqliteTokenStore
    blobs: SqliteBlobs
    limits: SqliteLimitsStore
    registry: SqliteWorkerRegistry
    signing: SqliteSigningStore
    patterns: SqlitePatternStore
    shards: SqliteShardStore
    gates: SqliteGateStore
    tenant_data: SqliteTenantData
    stage: KnownStage
    stored_entries: SqliteStoredEntries
    statistics: SqliteStatistics

    @classmethod
    def on(cls, database: Database, clock: Clock, deployment: Deployment, page_size: int | None = None) -> Self:
        """Return the engine on this database. `page_size` replaces the stores' own sizes of a page."""
        pages = {} if page_size is None else {"page_size": page_size}
        shards = SqliteShardStore(database, **pages)
        return cls(
            clock,
            database,
            deployment,
            AnnouncingStore(SqliteRunStore(database, clock, **pages), shards, clock, deployment.shards),
            SqliteRunQueues(database, clock),
            SqliteTickQueue(database, clock),
            SqliteProgressStore(database),
            SqliteTokenStore(database, clock),
            SqliteBlobs(database),
            SqliteLimitsStore(database),
            SqliteWorkerRegistry(database, clock),
            SqliteSigningStore(database),
            SqlitePatternStore(database, clock, **pages),
            shards,
            SqliteGateStore(database, clock),
            SqliteTenantData(database, **pages),
            known_stage(database, clock),
            SqliteStoredEntries(database),
            SqliteStatistics(database),
        )

    @property
    def engine(self) -> Engine:
        """The ports that scheduling needs."""
        return Engine(
            store=FreezableStore(self.store, self.stage),
            queues=self.queues,
            blobs=self.blobs,
            clock=self.clock,
            deployment=self.deployment,
            limits=self.limits,
            registry=self.registry,
            signing=self.signing,
            patterns=self.patterns,
            shards=self.shards,
            gates=self.gates,
            tokens=self.tokens,
            tick_times=self.progress,
            stage=self.stage,
            transfer=Transfer(self.stored_entries, self.store),
            statistics=self.statistics,
        )

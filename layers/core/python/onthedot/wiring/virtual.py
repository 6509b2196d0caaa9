"""The embedded engine in memory and in virtual time, for users' tests, simulations and benchmarks."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from onthedot.core.choices import LONGEST_PULL
from onthedot.core.clock import VirtualClock
from onthedot.core.pools import PULL_STORAGE_MB, Pool, PoolKind, Pools
from onthedot.core.schema import DEFAULT_POOL
from onthedot.core.slots import Deployment
from onthedot.engine import Engine
from onthedot.engines.live_records import LiveRecords
from onthedot.engines.sqlite.live_queues import LiveQueues
from onthedot.engines.sqlite.memory import MemoryDatabase
from onthedot.engines.sqlite.outlook import SqliteOutlook
from onthedot.engines.sqlite.store import SqliteRunStore
from onthedot.engines.store_around import AnnouncingStore
from onthedot.wiring.sqlite import SqliteEngine

KEPT_DAYS: Final = 36_500
"""Ended runs stay for a century, so that a test can read the history of a simulated year."""
CAPABILITIES: Final = frozenset({"http", "python", "workflow"})
DEPLOYMENT: Final = Deployment(
    shards=1,
    # The claim pass takes each run in its own minute, because here it costs no time.
    lookahead=0,
    history_days=KEPT_DAYS,
    pools=Pools(
        (
            Pool(
                DEFAULT_POOL,
                PoolKind.PUSH,
                CAPABILITIES,
                cpu=64,
                memory_mb=1 << 20,
                longest_seconds=LONGEST_PULL,
                storage_mb=PULL_STORAGE_MB,
            ),
        )
    ),
)


@dataclass(frozen=True, slots=True)
class VirtualWorld:
    """The embedded engine in memory, its clock, and its slots that have entries."""

    clock: VirtualClock
    engine: Engine
    queues: LiveQueues
    outlook: SqliteOutlook
    records: LiveRecords


@contextmanager
def virtual_world(clock: VirtualClock) -> Iterator[VirtualWorld]:
    """Open an empty engine in memory. It is gone when the context ends."""
    with MemoryDatabase() as database:
        engine = SqliteEngine.on(database, clock, DEPLOYMENT, remembers=True).engine
        records = LiveRecords(SqliteRunStore(database, clock))
        queues = LiveQueues(database, clock)
        outlook = SqliteOutlook(database)
        yield VirtualWorld(clock, _remembering(engine, records, queues), queues, outlook, records)


def _remembering(engine: Engine, records: LiveRecords, queues: LiveQueues) -> Engine:
    """Return the engine with caches. All writes of the process go through them, so that they are never stale."""
    return replace(
        engine,
        store=AnnouncingStore(records, engine.shards, engine.clock, engine.deployment.shards),
        queues=queues,
        index_lags=False,
    )

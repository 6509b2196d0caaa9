"""The embedded engine of a server: one SQLite file, queues in memory, and the pools of one process."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from onthedot.core.choices import LONGEST_PULL
from onthedot.core.errors import Unavailable
from onthedot.core.pass_progress import ProgressStore
from onthedot.core.pools import PULL_STORAGE_MB, Pool, PoolKind, Pools
from onthedot.core.ports import Clock
from onthedot.core.schema import DEFAULT_POOL
from onthedot.core.slots import Deployment
from onthedot.engine import Engine
from onthedot.engines.sqlite.blobs import SqliteBlobs
from onthedot.engines.sqlite.database import Database, NewerFile
from onthedot.engines.sqlite.file_lock import AlreadyServed, FileLock
from onthedot.engines.sqlite.group_commit import GroupCommit
from onthedot.engines.sqlite.live_queues import LiveQueues, SqliteLeaseWaits
from onthedot.engines.sqlite.store import SqliteRunStore
from onthedot.targets.rules import AllowList
from onthedot.targets.types import PULLED
from onthedot.wiring.sqlite import SqliteEngine

__all__ = ["BadFile", "Database", "Embedded", "GroupCommit", "embedded", "owned_database", "server_deployment"]

SHARDS: Final = 1
"""Shards spread writes over the partitions of a table. A file has none."""
LOOKAHEAD: Final = 1
HISTORY_DAYS: Final = 30


@dataclass(frozen=True, slots=True)
class Embedded:
    engine: Engine
    database: Database
    writer: GroupCommit
    queues: LiveQueues
    progress: ProgressStore
    runs: SqliteRunStore
    blobs: SqliteBlobs

    def close(self) -> None:
        self.writer.close()
        self.database.close()


class BadFile(Exception):
    """A file cannot be served. The message says why."""


@contextmanager
def owned_database(path: Path) -> Iterator[Database]:
    """Open a file for this process alone, and close it at the end. Raise BadFile."""
    with ExitStack() as stack:
        try:
            stack.enter_context(FileLock(path))
            database = stack.enter_context(Database(path))
        except (AlreadyServed, NewerFile) as error:
            raise BadFile(str(error)) from error
        except Unavailable as error:
            raise BadFile(f"{path} cannot be opened: {error}") from error
        except OSError as error:
            raise BadFile(f"{path} cannot be opened: {error.strerror}") from error
        yield database


def embedded(database: Database, clock: Clock, deployment: Deployment) -> Embedded:
    made = SqliteEngine.on(database, clock, deployment, remembers=True)
    queues = LiveQueues(database, clock)
    engine = replace(
        made.engine,
        queues=queues,
        lease_waits=SqliteLeaseWaits(queues),
        ticking_since=clock.now(),
        index_lags=False,
    )
    runs = SqliteRunStore(database, clock)
    writer = GroupCommit(database)
    queues.on_change = writer.wake
    return Embedded(engine, database, writer, queues, made.progress, runs, made.blobs)


def server_deployment(
    types: Iterable[str], allow_list: AllowList, *, cpus: float, memory_mb: int, storage_mb: int = 0
) -> Deployment:
    """Return the parameters of a server that performs these target types itself.

    All other types, and runs with larger requirements, wait for pull workers.
    """
    able = frozenset(types)
    pools = (
        Pool(
            DEFAULT_POOL,
            PoolKind.PUSH,
            able,
            cpu=cpus,
            memory_mb=memory_mb,
            longest_seconds=LONGEST_PULL,
            storage_mb=storage_mb,
        ),
        Pool(
            "pull",
            PoolKind.PULL,
            PULLED,
            cpu=max(64.0, cpus + 1),
            memory_mb=max(1 << 20, memory_mb + 1),
            longest_seconds=LONGEST_PULL,
            storage_mb=PULL_STORAGE_MB,
        ),
    )
    return Deployment(SHARDS, LOOKAHEAD, HISTORY_DAYS, pools=Pools(pools), allow_list=allow_list)

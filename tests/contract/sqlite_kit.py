"""The embedded engine, in memory and in virtual time."""

from onthedot.domain.run import Priority
from onthedot.embedded.database import Database
from onthedot.embedded.sqlite_misc import SqliteBlobs, SqliteLimitsStore, SqliteProgressStore, SqliteTokenStore
from onthedot.embedded.sqlite_queues import ReceivedTick, SqliteRunQueues, SqliteTickQueue
from onthedot.embedded.sqlite_store import SqliteRunStore
from onthedot.ports import Received
from tests.builders import VirtualClock
from tests.contract.kit import MAX_RECEIVES, PAGE_SIZE, VISIBILITY_SECONDS, HeldTick


class SqliteKit:
    def __init__(self, database: Database, clock: VirtualClock) -> None:
        self._database = database
        self.clock = clock

    def let_pass(self, seconds: float) -> None:
        self.clock.advance(seconds)

    def store(self) -> SqliteRunStore:
        return SqliteRunStore(self._database, self.clock, PAGE_SIZE)

    def progress(self) -> SqliteProgressStore:
        return SqliteProgressStore(self._database)

    def limits(self) -> SqliteLimitsStore:
        return SqliteLimitsStore(self._database)

    def tokens(self) -> SqliteTokenStore:
        return SqliteTokenStore(self._database)

    def blobs(self) -> SqliteBlobs:
        return SqliteBlobs(self._database)

    def queues(self) -> tuple[SqliteRunQueues, "SqliteInbox"]:
        queues = SqliteRunQueues(self._database, self.clock, VISIBILITY_SECONDS * 1000, MAX_RECEIVES)
        return queues, SqliteInbox(queues)

    def ticks(self) -> tuple[SqliteTickQueue, "SqliteTickInbox"]:
        ticks = SqliteTickQueue(self._database, self.clock, VISIBILITY_SECONDS * 1000, MAX_RECEIVES)
        return ticks, SqliteTickInbox(ticks)


class SqliteInbox:
    def __init__(self, queues: SqliteRunQueues) -> None:
        self._queues = queues

    def receive(self, pool: str, priority: Priority, maximum: int = 10) -> list[Received]:
        return self._queues.receive(pool, priority, maximum)

    def delete(self, received: Received) -> None:
        self._queues.delete(received)

    def dead_letters(self, pool: str, priority: Priority) -> int:
        return self._queues.counts(pool, priority).dead


class SqliteTickInbox:
    def __init__(self, ticks: SqliteTickQueue) -> None:
        self._ticks = ticks

    def receive(self) -> list[HeldTick]:
        return [HeldTick(held.tick, held.receipt) for held in self._ticks.receive_ticks(10)]

    def delete(self, held: HeldTick) -> None:
        self._ticks.delete_tick(ReceivedTick(held.tick, held.receipt))

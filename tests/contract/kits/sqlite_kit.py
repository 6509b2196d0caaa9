"""The embedded engine, in memory and in virtual time."""

from collections.abc import Mapping

from onthedot.core.choices import Priority
from onthedot.core.records import Record
from onthedot.core.slots import queue_key
from onthedot.engines.sqlite.blobs import SqliteBlobs
from onthedot.engines.sqlite.database import Database
from onthedot.engines.sqlite.items import SqliteItems
from onthedot.engines.sqlite.store import SqliteRunStore
from tests.builders import VirtualClock
from tests.contract.kits.kit import MAX_RECEIVES, PAGE_SIZE, VISIBILITY_SECONDS, Inbox, Kit, TickWithReceipt
from tests.table_queues import Letter, MessageTable, ReceivedTick, SqliteRunQueues, SqliteTickQueue


class SqliteKit(Kit):
    clock: VirtualClock

    def __init__(self, database: Database, clock: VirtualClock) -> None:
        self._database = database
        self.clock = clock

    def let_pass(self, seconds: float) -> None:
        self.clock.advance(seconds)

    def store(self) -> SqliteRunStore:
        return SqliteRunStore(self._database, self.clock, PAGE_SIZE)

    def damage(self, run_id: str, fields: Mapping[str, str | int | None]) -> None:
        changed = ", ".join(f'"{name}" = ?' for name in fields)
        with self._database.transaction() as connection:
            connection.execute(f"UPDATE runs SET {changed} WHERE run_id = ?", (*fields.values(), run_id))

    def due_index(self) -> SqliteRunStore:
        return SqliteRunStore(self._database, self.clock, PAGE_SIZE)

    def items(self) -> SqliteItems:
        return SqliteItems(self._database, self.clock, PAGE_SIZE)

    def blobs(self) -> SqliteBlobs:
        return SqliteBlobs(self._database)

    def queues(self) -> tuple[SqliteRunQueues, Inbox]:
        queues = SqliteRunQueues(self._database, self.clock, MAX_RECEIVES)
        return queues, Inbox(queues, SqliteBackDoor(queues, MessageTable(self._database, self.clock)))

    def count(self, old: Record | None, new: Record | None) -> None:
        """Do nothing: the transaction of the write has counted it."""

    def ticks(self) -> tuple[SqliteTickQueue, "SqliteTickInbox"]:
        ticks = SqliteTickQueue(self._database, self.clock, VISIBILITY_SECONDS * 1000, MAX_RECEIVES)
        return ticks, SqliteTickInbox(ticks)


class SqliteBackDoor:
    def __init__(self, queues: SqliteRunQueues, messages: MessageTable) -> None:
        self._queues = queues
        self._messages = messages

    def post(self, pool: str, priority: Priority, body: str) -> None:
        self._messages.send(queue_key(pool, priority), [Letter(body)])

    def dead_letters(self, pool: str, priority: Priority) -> int:
        return self._queues.counts(pool, priority).dead


class SqliteTickInbox:
    def __init__(self, ticks: SqliteTickQueue) -> None:
        self._ticks = ticks

    def receive(self) -> list[TickWithReceipt]:
        return [TickWithReceipt(received.tick, received.receipt) for received in self._ticks.receive_ticks(10)]

    def delete(self, received: TickWithReceipt) -> None:
        self._ticks.delete_tick(ReceivedTick(received.tick, received.receipt))

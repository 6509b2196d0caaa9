"""The embedded engine, in memory and in virtual time."""

from collections.abc import Mapping

from onthedot.domain.gates.names import GateId
from onthedot.domain.runs.queue_names import queue_key
from onthedot.domain.runs.records import Priority, Record
from onthedot.engines.sqlite.blobs import SqliteBlobs
from onthedot.engines.sqlite.database import Database
from onthedot.engines.sqlite.gates import SqliteGateStore
from onthedot.engines.sqlite.limits import SqliteLimitsStore
from onthedot.engines.sqlite.messages import Letter, MessageTable
from onthedot.engines.sqlite.patterns import SqlitePatternStore
from onthedot.engines.sqlite.progress import SqliteProgressStore
from onthedot.engines.sqlite.queues import ReceivedTick, SqliteRunQueues, SqliteTickQueue
from onthedot.engines.sqlite.registry import SqliteSigningStore, SqliteWorkerRegistry
from onthedot.engines.sqlite.shards import SqliteShardStore
from onthedot.engines.sqlite.stage import SqliteStage
from onthedot.engines.sqlite.statistics import SqliteStatistics
from onthedot.engines.sqlite.store import SqliteRunStore
from onthedot.engines.sqlite.stored_entries import SqliteStoredEntries
from onthedot.engines.sqlite.tenant_data import SqliteTenantData
from onthedot.engines.sqlite.tokens import SqliteTokenStore
from tests.builders import VirtualClock
from tests.contract.kits.kit import MAX_RECEIVES, PAGE_SIZE, VISIBILITY_SECONDS, Inbox, TickWithReceipt


class SqliteKit:
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

    def progress(self) -> SqliteProgressStore:
        return SqliteProgressStore(self._database)

    def write_progress(self, shard: int, text: str) -> None:
        with self._database.transaction() as connection:
            query = "INSERT INTO shard_progress (shard, done) VALUES (?, ?) ON CONFLICT (shard) DO UPDATE SET done = ?2"
            connection.execute(query, (shard, text))

    def shards(self) -> SqliteShardStore:
        return SqliteShardStore(self._database, PAGE_SIZE)

    def limits(self) -> SqliteLimitsStore:
        return SqliteLimitsStore(self._database)

    def gates(self) -> SqliteGateStore:
        return SqliteGateStore(self._database, self.clock)

    def write_limits(self, tenant: str, name: str | None, text: str) -> None:
        with self._database.transaction() as connection:
            if name is None:
                connection.execute("INSERT OR REPLACE INTO limits VALUES (?, ?)", (tenant, text))
            else:
                connection.execute("INSERT OR REPLACE INTO gates VALUES (?, ?, ?)", (tenant, name, text))

    def write_holder(self, gate: GateId, page: int, text: str) -> None:
        statement = "UPDATE gate_states SET holders = json_insert(holders, '$[#]', ?) WHERE gate = ? AND page = ?"
        with self._database.transaction() as connection:
            assert connection.execute(statement, (text, gate.text, page)).rowcount == 1

    def tokens(self) -> SqliteTokenStore:
        return SqliteTokenStore(self._database, self.clock)

    def tenant_data(self) -> SqliteTenantData:
        return SqliteTenantData(self._database, PAGE_SIZE)

    def stage(self) -> SqliteStage:
        return SqliteStage(self._database)

    def write_stage(self, text: str) -> None:
        with self._database.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO stage VALUES (1, ?)", (text,))

    def stored_entries(self) -> SqliteStoredEntries:
        return SqliteStoredEntries(self._database)

    def blobs(self) -> SqliteBlobs:
        return SqliteBlobs(self._database)

    def queues(self) -> tuple[SqliteRunQueues, Inbox]:
        queues = SqliteRunQueues(self._database, self.clock, MAX_RECEIVES)
        return queues, Inbox(queues, SqliteBackDoor(queues, MessageTable(self._database, self.clock)))

    def registry(self) -> SqliteWorkerRegistry:
        return SqliteWorkerRegistry(self._database, self.clock)

    def signing(self) -> SqliteSigningStore:
        return SqliteSigningStore(self._database)

    def patterns(self) -> SqlitePatternStore:
        return SqlitePatternStore(self._database, self.clock, PAGE_SIZE)

    def statistics(self) -> SqliteStatistics:
        return SqliteStatistics(self._database)

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

"""Run queues and a tick queue in one SQLite table, with the semantics of SQS.

Messages have delays in whole seconds, visibility, receive counts and dead letters.

The embedded engine has its queues in memory. In these, scenarios see the messages as a stage on AWS does.
"""

import dataclasses
import json
import logging
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from onthedot.core.choices import Priority
from onthedot.core.codec import stored_name
from onthedot.core.pools import MOST_RECEIVES, PoolKind
from onthedot.core.ports import Clock, Deadline, QueueCounts, Received, RunMessage, Tick
from onthedot.core.slots import queue_key
from onthedot.engines.message_format import FORMAT, FORMAT_FIELD, refuse_newer_message
from onthedot.engines.sqlite.database import Database
from onthedot.engines.sqlite.live_queues import MAX_HIDE_SECONDS

_LOG: Final = logging.getLogger(__name__)
MAX_DELAY_SECONDS: Final = 900
MAX_MESSAGES: Final = 10
LOOK_EVERY_MS: Final = 100
"""The interval at which a waiting receiver asks for a message."""
RUN_RECEIVES: Final = MOST_RECEIVES[PoolKind.PULL]
"""One number for all queues: the embedded engine does not know which queues are pull queues."""
TICK_VISIBILITY_MS: Final = 100_000
TICK_RECEIVES: Final = 5
_TICKS: Final = "ticks"


@dataclass(frozen=True, slots=True)
class Letter:
    """A message to send. It becomes visible after the delay."""

    body: str
    group: str | None = None
    delay_ms: int = 0


@dataclass(frozen=True, slots=True)
class Delivery:
    """A received message. Its receipt is valid until the message is received again."""

    message_id: str
    body: str
    receipt: str
    receive_count: int


class MessageTable:
    """The table of all queues. Sending to a queue creates it. The dead letters of a queue are a queue as well."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def send(self, queue: str, letters: Sequence[Letter]) -> None:
        now = self._clock.now()
        rows = [(queue, letter.group, letter.body, now, now + letter.delay_ms) for letter in letters]
        with self._database.transaction() as connection:
            connection.executemany(
                "INSERT INTO messages (queue, message_group, body, sent_at, visible_at) VALUES (?, ?, ?, ?, ?)", rows
            )

    def receive(self, queue: str, maximum: int, *, visibility_ms: int, max_receives: int) -> list[Delivery]:
        """Return up to `maximum` visible messages and hide them for a while.

        A message that was received `max_receives` times becomes a dead letter instead.
        """
        now = self._clock.now()
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE messages SET queue = ?, receives = 0 WHERE queue = ? AND visible_at <= ? AND receives >= ?",
                (dead_letters_of(queue), queue, now, max_receives),
            )
            rows = connection.execute(
                "UPDATE messages SET receives = receives + 1, visible_at = ? WHERE id IN (SELECT id FROM messages"
                " WHERE queue = ? AND visible_at <= ? ORDER BY visible_at, id LIMIT ?) RETURNING id, body, receives",
                (now + visibility_ms, queue, now, maximum),
            ).fetchall()
        rows.sort(key=lambda row: row["id"])
        return [
            Delivery(str(row["id"]), row["body"], f"{row['id']}/{row['receives']}", row["receives"]) for row in rows
        ]

    def delete(self, receipt: str) -> None:
        """Delete the message. A stale receipt does nothing: the queue delivers the message again, as SQS may do."""
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM messages WHERE id = ? AND receives = ?", _parts(receipt))

    def hide(self, receipt: str, milliseconds: int) -> None:
        """Make a message in flight visible after this time, in whole seconds. A visible message stays visible."""
        now = self._clock.now()
        visible_at = now + 1000 * min(max(milliseconds // 1000, 0), MAX_HIDE_SECONDS)
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE messages SET visible_at = ? WHERE id = ? AND receives = ? AND visible_at > ?",
                (visible_at, *_parts(receipt), now),
            )

    def visible(self, queue: str) -> int:
        query = "SELECT count(*) FROM messages WHERE queue = ? AND visible_at <= ?"
        with self._database.reading() as connection:
            visible: int = connection.execute(query, (queue, self._clock.now())).fetchone()[0]
        return visible

    def oldest_age_ms(self, queue: str) -> int | None:
        """Return for how long the first visible message has been visible, or None when there is none."""
        first, now = self.next_visible_at(queue), self._clock.now()
        return None if first is None or first > now else now - first

    def counts(self, queue: str) -> QueueCounts:
        now = self._clock.now()
        query = (
            "SELECT total(queue = :q AND visible_at <= :now), total(queue = :q AND visible_at > :now AND receives = 0),"
            " total(queue = :q AND visible_at > :now AND receives > 0), total(queue = :dead)"
            " FROM messages WHERE queue IN (:q, :dead)"
        )
        with self._database.reading() as connection:
            row = connection.execute(query, {"q": queue, "dead": dead_letters_of(queue), "now": now}).fetchone()
        visible, delayed, in_flight, dead = map(int, row)
        return QueueCounts(visible, delayed, in_flight, dead, queue)

    def next_visible_at(self, queue: str) -> int | None:
        """Return the instant at which the first message of the queue becomes, or became, visible."""
        query = "SELECT min(visible_at) FROM messages WHERE queue = ?"
        with self._database.reading() as connection:
            first: int | None = connection.execute(query, (queue,)).fetchone()[0]
        return first

    def purge(self, queue: str) -> None:
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM messages WHERE queue = ?", (queue,))


def dead_letters_of(queue: str) -> str:
    return f"{queue}-dlq"


def _parts(receipt: str) -> tuple[int, int]:
    message_id, _, receives = receipt.partition("/")
    return int(message_id), int(receives)


class SqliteRunQueues:
    """A `RunQueues`, and the receiving side for a worker in this process."""

    def __init__(self, database: Database, clock: Clock, max_receives: int = RUN_RECEIVES) -> None:
        self._messages = MessageTable(database, clock)
        self._clock = clock
        self._max_receives = max_receives

    def send(self, messages: Sequence[RunMessage], deadline: Deadline) -> Sequence[RunMessage]:
        now = self._clock.now()
        letters: defaultdict[str, list[Letter]] = defaultdict(list)
        for message in messages:
            letters[queue_key(message.pool, message.priority)].append(_letter(message, now))
        for queue, posted in letters.items():
            self._messages.send(queue, posted)
        return ()

    def receive(
        self, pool: str, priority: Priority, maximum: int, *, visibility_ms: int, wait_ms: int = 0
    ) -> Sequence[Received]:
        until = self._clock.now() + wait_ms
        while True:
            received = self._receive_now(queue_key(pool, priority), maximum, visibility_ms)
            now = self._clock.now()
            if received or now >= until:
                return received
            self._clock.sleep_until(min(now + LOOK_EVERY_MS, until))

    def _receive_now(self, queue: str, maximum: int, visibility_ms: int) -> list[Received]:
        deliveries = self._messages.receive(
            queue, min(maximum, MAX_MESSAGES), visibility_ms=visibility_ms, max_receives=self._max_receives
        )
        return [received for delivery in deliveries if (received := _received(delivery)) is not None]

    def delete(self, received: Received) -> None:
        self._messages.delete(received.receipt)

    def hide(self, received: Received, milliseconds: int) -> None:
        self._messages.hide(received.receipt, milliseconds)

    def visible(self, pool: str, priority: Priority) -> int:
        return self._messages.visible(queue_key(pool, priority))

    def oldest_age_ms(self, pool: str, priority: Priority) -> int | None:
        return self._messages.oldest_age_ms(queue_key(pool, priority))

    def counts(self, pool: str, priority: Priority) -> QueueCounts:
        return self._messages.counts(queue_key(pool, priority))

    def next_visible_at(self, pool: str, priority: Priority) -> int | None:
        return self._messages.next_visible_at(queue_key(pool, priority))

    def purge(self, pool: str, priority: Priority) -> None:
        self._messages.purge(queue_key(pool, priority))


@dataclass(frozen=True, slots=True)
class ReceivedTick:
    tick: Tick
    receipt: str


class SqliteTickQueue:
    """A `TickQueue`, and the receiving side for a dispatcher in this process."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        visibility_ms: int = TICK_VISIBILITY_MS,
        max_receives: int = TICK_RECEIVES,
    ) -> None:
        self._messages = MessageTable(database, clock)
        self._visibility_ms = visibility_ms
        self._max_receives = max_receives

    def send_ticks(self, ticks: Sequence[Tick]) -> Sequence[Tick]:
        self._messages.send(_TICKS, [Letter(_tick_body(tick)) for tick in ticks])
        return ()

    def receive_ticks(self, maximum: int = 1) -> list[ReceivedTick]:
        deliveries = self._messages.receive(
            _TICKS, maximum, visibility_ms=self._visibility_ms, max_receives=self._max_receives
        )
        return [received for delivery in deliveries if (received := _received_tick(delivery)) is not None]

    def delete_tick(self, received: ReceivedTick) -> None:
        self._messages.delete(received.receipt)

    def counts(self) -> QueueCounts:
        return self._messages.counts(_TICKS)

    def purge(self) -> None:
        self._messages.purge(_TICKS)


def _letter(message: RunMessage, now: int) -> Letter:
    """Return a message that arrives in the second before the fire time, or after 900 s, when the worker returns it.

    SQS delays by whole seconds, so the delay is rounded down.
    """
    seconds = min(max((message.due_at - now) // 1000, 0), MAX_DELAY_SECONDS)
    body = {stored_name(name): value for name, value in dataclasses.asdict(message).items() if value not in (None, ())}
    return Letter(json.dumps({FORMAT_FIELD: FORMAT, **body}), message.tenant, seconds * 1000)


def _received(delivery: Delivery) -> Received | None:
    try:
        fields = json.loads(delivery.body)
        refuse_newer_message(fields)
        known = {name: fields[key] for name in RunMessage.__slots__ if (key := stored_name(name)) in fields}
        priority = Priority(fields["priority"])
        message = RunMessage(**{**known, "priority": priority, "gates": tuple(fields.get("gates", ()))})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        _LOG.error("unreadable_message", extra={"message_id": delivery.message_id, "why": repr(error)[:200]})
        return None
    return Received(message, delivery.receipt, delivery.receive_count)


def _received_tick(delivery: Delivery) -> ReceivedTick | None:
    """Return the tick. One that cannot be read is delivered again, until it becomes a dead letter."""
    try:
        return ReceivedTick(_tick(delivery), delivery.receipt)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        _LOG.error("unreadable_tick", extra={"message_id": delivery.message_id, "why": repr(error)[:200]})
        return None


def _tick_body(tick: Tick) -> str:
    return json.dumps({FORMAT_FIELD: FORMAT, "group": tick.group, "shards": tick.shards, "planned_at": tick.planned_at})


def _tick(delivery: Delivery) -> Tick:
    fields = json.loads(delivery.body)
    refuse_newer_message(fields)
    return Tick(
        group=fields["group"],
        shards=tuple(fields["shards"]),
        planned_at=fields["planned_at"],
        tick_id=delivery.message_id,
        redelivered=delivery.receive_count > 1,
    )

"""Queues with the semantics of SQS in one SQLite table: delays, visibility, receive counts, dead letters."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from onthedot.core.ports import Clock, QueueCounts
from onthedot.engines.sqlite.database import Database

MAX_HIDE_SECONDS: Final = 12 * 3600


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

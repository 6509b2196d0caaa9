"""Read which slots of a database have entries, so that a scheduler in the same process visits no empty one."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from onthedot.core.slots import SlotKind, slot_bucket, slot_name
from onthedot.engines.sqlite.database import Database

NEVER: Final = 2**62
"""The bucket of a slot that does not exist."""
_AFTER: Final = "$"
"""The character after the `#` that ends a shard's number in the name of a slot."""
_FIRST: Final = (
    "SELECT (SELECT min(slot) FROM runs WHERE slot >= ?1 AND slot < ?2),"
    " (SELECT min(slot) FROM runs WHERE slot >= ?3 AND slot < ?4),"
    " (SELECT min(slot) FROM items WHERE slot >= ?3 AND slot < ?4)"
)
_UNTIL: Final = (
    "SELECT slot FROM runs WHERE slot >= ?1 AND slot <= ?2 UNION"
    " SELECT slot FROM items WHERE slot >= ?1 AND slot <= ?2 ORDER BY slot"
)
_UNENDED: Final = (
    "SELECT min(fire_at) FROM runs WHERE status = 'RUNNING' OR (status IN ('PENDING', 'DISPATCHED')"
    " AND (attempt > 0 OR fire_at <= ?))"
)


@dataclass(frozen=True, slots=True)
class SqliteOutlook:
    """The slots of one shard that have entries.

    Names of slots are compared as text, which is right while the number of a bucket has eight digits, until 2160.
    """

    database: Database
    shard: int = 0
    _bounds: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_bounds", _bounds_of(self.shard))

    def first_buckets(self) -> tuple[int, int]:
        with self.database.reading() as connection:
            fire, *watch = connection.execute(_FIRST, self._bounds).fetchone()
        return _bucket(fire), min(map(_bucket, watch))

    def slots_until(self, kind: SlotKind, bucket: int) -> Sequence[str]:
        with self.database.reading() as connection:
            rows = connection.execute(_UNTIL, (slot_name(kind, self.shard, 0), slot_name(kind, self.shard, bucket)))
            return [row["slot"] for row in rows]

    def has_unended(self, now: int) -> bool:
        """Return whether a run is due or has begun, and has not ended. This reads all records."""
        with self.database.reading() as connection:
            return connection.execute(_UNENDED, (now,)).fetchone()[0] is not None

    def job_ids(self, tenant: str) -> Sequence[str]:
        """Return the ids of all jobs of a tenant, the oldest first. This reads all records."""
        query = (
            "SELECT run_id FROM runs WHERE tenant = ? AND kind IN ('one-off', 'recurring', 'event')"
            " AND status <> 'DELETED' ORDER BY created_at, rowid"
        )
        with self.database.reading() as connection:
            return [row["run_id"] for row in connection.execute(query, (tenant,))]


def _bounds_of(shard: int) -> tuple[str, ...]:
    starts = [slot_name(kind, shard, 0).removesuffix("#0") for kind in (SlotKind.FIRE, SlotKind.WATCH)]
    return tuple(text for start in starts for text in (f"{start}#", start + _AFTER))


def _bucket(slot: str | None) -> int:
    return NEVER if slot is None else slot_bucket(slot)

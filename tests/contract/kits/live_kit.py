"""The embedded engine as a server has it: queues in memory, and a store that remembers live records.

One such store owns the database.
"""

from collections.abc import Mapping
from typing import NoReturn

from onthedot.core.choices import Priority
from onthedot.core.ports import RunQueues
from onthedot.engines.live_records import LiveRecords
from onthedot.engines.sqlite.database import Database
from onthedot.engines.sqlite.live_queues import LiveQueues
from tests.builders import VirtualClock
from tests.contract.kits.kit import MAX_RECEIVES, Inbox
from tests.contract.kits.sqlite_kit import SqliteKit


class VirtualLiveQueues(LiveQueues):
    """Live queues whose receivers move the virtual clock instead of waiting."""

    def _pause(self, pool: str, until: int, now: int) -> None:
        self._clock.sleep_until(max(until, now + 1))


class LiveKit(SqliteKit):
    def __init__(self, database: Database, clock: VirtualClock) -> None:
        super().__init__(database, clock)
        self._live = LiveRecords(super().store())

    def store(self) -> LiveRecords:  # type: ignore[override]
        return self._live

    def damage(self, run_id: str, fields: Mapping[str, str | int | None]) -> None:
        """Damage a stored record, as if the process had begun afterwards."""
        super().damage(run_id, fields)
        self._live._known.clear()

    def queues(self) -> tuple[RunQueues, Inbox]:  # type: ignore[override] # other queues
        queues = VirtualLiveQueues(self._database, self.clock, MAX_RECEIVES)
        return queues, Inbox(queues, LiveBackDoor(queues))


class LiveBackDoor:
    def __init__(self, queues: LiveQueues) -> None:
        self._queues = queues

    def post(self, pool: str, priority: Priority, body: str) -> NoReturn:
        raise AssertionError("a message in memory is never of another program")

    def dead_letters(self, pool: str, priority: Priority) -> int:
        return self._queues.counts(pool, priority).dead

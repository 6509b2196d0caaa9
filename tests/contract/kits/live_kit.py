"""The embedded engine with a store that remembers live records. One such store owns the database."""

from collections.abc import Mapping

from onthedot.engines.live_records import LiveRecords
from onthedot.engines.sqlite.database import Database
from tests.builders import VirtualClock
from tests.contract.kits.sqlite_kit import SqliteKit


class LiveKit(SqliteKit):
    def __init__(self, database: Database, clock: VirtualClock) -> None:
        super().__init__(database, clock)
        self._live = LiveRecords(super().store())

    def store(self) -> LiveRecords:  # type: ignore[override]
        return self._live

    def damage(self, run_id: str, fields: Mapping[str, str | int | None]) -> None:
        """Damage a stored record, as if the process had begun afterwards."""
        super().damage(run_id, fields)
        self._live.forget_all()

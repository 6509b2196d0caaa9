"""The queues of a server: messages in memory, in virtual time."""

from typing import NoReturn

from onthedot.domain.runs.records import Priority
from onthedot.engines.sqlite.live_queues import LiveQueues
from onthedot.ports import RunQueues
from tests.contract.kits.kit import MAX_RECEIVES, Inbox
from tests.contract.kits.sqlite_kit import SqliteKit


class VirtualLiveQueues(LiveQueues):
    """Live queues whose receivers move the virtual clock instead of waiting."""

    def _pause(self, pool: str, until: int, now: int) -> None:
        self._clock.sleep_until(max(until, now + 1))


class LiveKit(SqliteKit):
    """The embedded engine with the queues of a server."""

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

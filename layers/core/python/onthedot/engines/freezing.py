"""A store of runs that changes nothing while the stage is closed."""

from collections.abc import Sequence
from typing import Final

from onthedot.core.errors import StageClosed
from onthedot.core.moves import Move
from onthedot.core.ports import Deadline, ListEntry, Moved, Page, ReadRecords, Refused, RunStore, SlotEntry, Undecided
from onthedot.core.records import Record, Status
from onthedot.jobs.failed import ALWAYS, Window
from onthedot.transfer.stage_store import StageStore

_RUNNING: Final = frozenset({Status.RUNNING})


class FreezableStore:
    """A `RunStore` on another one. While the stage is closed it refuses every write but those of running attempts.

    So no part of the scheduler can forget the check. A running attempt can end, and is then tried again by no worker.
    """

    def __init__(self, store: RunStore, stage: StageStore) -> None:
        self._store = store
        self._stage = stage

    def create(self, run: Record) -> Record | None:
        self._check()
        return self._store.create(run)

    def create_many(self, records: Sequence[Record], deadline: Deadline) -> Sequence[Moved | Refused | Undecided]:
        self._check()
        return self._store.create_many(records, deadline)

    def move(self, move: Move) -> Moved | Refused:
        if not _ends_attempt(move):
            self._check()
        return self._store.move(move)

    def move_many(self, moves: Sequence[Move], deadline: Deadline) -> Sequence[Moved | Refused | Undecided]:
        if not all(map(_ends_attempt, moves)):
            self._check()
        return self._store.move_many(moves, deadline)

    def set_aside(self, run_id: str, slot: str, why: str, now: int) -> bool:
        self._check()
        return self._store.set_aside(run_id, slot, why, now)

    def runs_of(self, job_id: str, limit: int, cursor: str | None = None, *, until: int | None = None) -> Page[Record]:
        return self._store.runs_of(job_id, limit, cursor, until=until)

    def get(self, run_id: str) -> Record | None:
        return self._store.get(run_id)

    def get_many(self, run_ids: Sequence[str], deadline: Deadline) -> ReadRecords:
        return self._store.get_many(run_ids, deadline)

    def read_slot(self, slot: str, cursor: str | None = None, limit: int | None = None) -> Page[SlotEntry]:
        return self._store.read_slot(slot, cursor, limit)

    def failed(self, tenant: str, limit: int, cursor: str | None = None, window: Window = ALWAYS) -> Page[Record]:
        return self._store.failed(tenant, limit, cursor, window)

    def listed(self, partition: str, limit: int, after: tuple[int, str] | None = None) -> tuple[list[ListEntry], bool]:
        return self._store.listed(partition, limit, after)

    def _check(self) -> None:
        state = self._stage.read()
        if not state.is_open:
            raise StageClosed(state.why_closed)


def _ends_attempt(move: Move) -> bool:
    """Return whether the move belongs to an attempt that runs already: it ends it, or extends its lease."""
    return move.expect.status == _RUNNING

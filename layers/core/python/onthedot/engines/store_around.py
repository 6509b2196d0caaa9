"""A store of runs around another one: it forwards every call, and gives subclasses the moments around a write."""

from collections.abc import Sequence

from onthedot.core.listing import ALWAYS, Window
from onthedot.core.moves import Move
from onthedot.core.ports import Deadline, ListEntry, Moved, Page, ReadRecords, Refused, RunStore, SlotEntry, Undecided
from onthedot.core.records import Record


class StoreAround:
    """A `RunStore` on another one. A subclass overrides `_before` and `_after`, or a call as a whole."""

    def __init__(self, store: RunStore) -> None:
        self._store = store

    def _before(self, moves: Sequence[Move] | None) -> None:
        """Act before records are moved or, with None, created. What this raises stops the write."""

    def _after_create(self, record: Record) -> None: ...

    def _after_move(self, move: Move, outcome: Moved) -> None: ...

    def create(self, run: Record) -> Record | None:
        self._before(None)
        known = self._store.create(run)
        if known is None:
            self._after_create(run)
        return known

    def create_many(self, records: Sequence[Record], deadline: Deadline) -> Sequence[Moved | Refused | Undecided]:
        self._before(None)
        outcomes = self._store.create_many(records, deadline)
        for record, outcome in zip(records, outcomes, strict=True):
            if isinstance(outcome, Moved):
                self._after_create(record)
        return outcomes

    def move(self, move: Move) -> Moved | Refused:
        self._before((move,))
        outcome = self._store.move(move)
        if isinstance(outcome, Moved):
            self._after_move(move, outcome)
        return outcome

    def move_many(self, moves: Sequence[Move], deadline: Deadline) -> Sequence[Moved | Refused | Undecided]:
        self._before(moves)
        outcomes = self._store.move_many(moves, deadline)
        for move, outcome in zip(moves, outcomes, strict=True):
            if isinstance(outcome, Moved):
                self._after_move(move, outcome)
        return outcomes

    def set_aside(self, run_id: str, slot: str, why: str, now: int) -> bool:
        return self._store.set_aside(run_id, slot, why, now)

    def get(self, run_id: str) -> Record | None:
        return self._store.get(run_id)

    def get_many(self, run_ids: Sequence[str], deadline: Deadline) -> ReadRecords:
        return self._store.get_many(run_ids, deadline)

    def runs_of(self, job_id: str, limit: int, cursor: str | None = None, *, until: int | None = None) -> Page[Record]:
        return self._store.runs_of(job_id, limit, cursor, until=until)

    def read_slot(self, slot: str, cursor: str | None = None, limit: int | None = None) -> Page[SlotEntry]:
        return self._store.read_slot(slot, cursor, limit)

    def failed(self, tenant: str, limit: int, cursor: str | None = None, window: Window = ALWAYS) -> Page[Record]:
        return self._store.failed(tenant, limit, cursor, window)

    def listed(self, partition: str, limit: int, after: tuple[int, str] | None = None) -> tuple[list[ListEntry], bool]:
        return self._store.listed(partition, limit, after)

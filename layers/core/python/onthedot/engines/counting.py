"""A store of runs that counts its writes for the metrics."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from onthedot.core.engine import Engine
from onthedot.core.metrics import LATENESS, SUCCEEDED, counts_of, counts_of_new, is_start, lateness_of, outcome_of
from onthedot.core.moves import Move
from onthedot.core.ports import (
    Deadline,
    ListEntry,
    Moved,
    Observer,
    Page,
    ReadRecords,
    Refused,
    RunStore,
    SlotEntry,
    Undecided,
    Where,
)
from onthedot.core.records import Record
from onthedot.jobs.failed import ALWAYS, Window


def counted(engine: Engine, observer: Observer) -> Engine:
    """Return the engine with a store that counts its writes."""
    return replace(engine, store=CountingStore(engine.store, observer))


class CountingStore:
    """A `RunStore` on another one. It counts the writes that happened, and costs no request.

    A write whose reply was lost is not counted.
    """

    def __init__(self, store: RunStore, observer: Observer) -> None:
        self._store = store
        self._observer = observer

    def create(self, run: Record) -> Record | None:
        known = self._store.create(run)
        if known is None:
            self._count(counts_of_new(run), run)
        return known

    def create_many(self, records: Sequence[Record], deadline: Deadline) -> Sequence[Moved | Refused | Undecided]:
        outcomes = self._store.create_many(records, deadline)
        for record, outcome in zip(records, outcomes, strict=True):
            if isinstance(outcome, Moved):
                self._count(counts_of_new(record), record)
        return outcomes

    def move(self, move: Move) -> Moved | Refused:
        outcome = self._store.move(move)
        if isinstance(outcome, Moved):
            self._count_move(move, outcome.run)
        return outcome

    def move_many(self, moves: Sequence[Move], deadline: Deadline) -> Sequence[Moved | Refused | Undecided]:
        outcomes = self._store.move_many(moves, deadline)
        for move, outcome in zip(moves, outcomes, strict=True):
            if isinstance(outcome, Moved):
                self._count_move(move, outcome.run)
        return outcomes

    def runs_of(self, job_id: str, limit: int, cursor: str | None = None, *, until: int | None = None) -> Page[Record]:
        return self._store.runs_of(job_id, limit, cursor, until=until)

    def get(self, run_id: str) -> Record | None:
        return self._store.get(run_id)

    def get_many(self, run_ids: Sequence[str], deadline: Deadline) -> ReadRecords:
        return self._store.get_many(run_ids, deadline)

    def read_slot(self, slot: str, cursor: str | None = None, limit: int | None = None) -> Page[SlotEntry]:
        return self._store.read_slot(slot, cursor, limit)

    def set_aside(self, run_id: str, slot: str, why: str, now: int) -> bool:
        return self._store.set_aside(run_id, slot, why, now)

    def failed(self, tenant: str, limit: int, cursor: str | None = None, window: Window = ALWAYS) -> Page[Record]:
        return self._store.failed(tenant, limit, cursor, window)

    def listed(self, partition: str, limit: int, after: tuple[int, str] | None = None) -> tuple[list[ListEntry], bool]:
        return self._store.listed(partition, limit, after)

    def _count_move(self, move: Move, run: Record | None) -> None:
        if is_start(move) and run is not None:
            self._observer.observe(LATENESS, lateness_of(run), _where(run))
        if (outcome := outcome_of(move)) is not None:
            self._observer.observe(SUCCEEDED, outcome, _where(run))
        self._count(counts_of(move), run)

    def _count(self, counts: Counter[str], run: Record | None) -> None:
        for name, number in counts.items():
            self._observer.add(name, number, _where(run))


def _where(run: Record | None) -> Where | None:
    return None if run is None else (run.pool, run.priority)

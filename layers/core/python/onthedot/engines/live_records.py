"""A store of runs that remembers live records, for a process that owns its store alone."""

from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from onthedot.core.moves import Move, applied
from onthedot.core.ports import Deadline, Moved, ReadRecords, Refused, RunStore, Undecided
from onthedot.core.records import TERMINAL, Record
from onthedot.engines.store_around import StoreAround

MOST_RECORDS: Final = 50_000
"""Most records that are remembered. When there are more, all are forgotten and read again."""


class QuietStore(RunStore, Protocol):
    """A store that can apply moves without returning the records, which is cheaper."""

    def apply(self, moves: Sequence[Move]) -> Sequence[bool]:
        """Apply each move whose expectation holds, all in one transaction. Return for each whether it was applied."""
        ...


class LiveRecords(StoreAround):
    """A `RunStore` on another one, which no other process or object may write to.

    A record that was written or read here is remembered until it ends, so it is not read again, and a move on it
    returns the record that the move makes of it. A write that raises an error makes its records forgotten.
    """

    def __init__(self, store: QuietStore) -> None:
        super().__init__(store)
        self._quiet = store
        self._known: dict[str, Record] = {}

    def create(self, run: Record) -> Record | None:
        self._forget([run.run_id])
        found = self._store.create(run)
        self._keep(run if found is None else found)
        return found

    def create_many(self, records: Sequence[Record], deadline: Deadline) -> Sequence[Moved | Refused | Undecided]:
        self._forget(record.run_id for record in records)
        outcomes = self._store.create_many(records, deadline)
        for outcome in outcomes:
            if isinstance(outcome, Moved):
                self._keep(outcome.run)
        return outcomes

    def move(self, move: Move) -> Moved | Refused:
        known = self._known.pop(move.run_id, None)
        if known is not None and self._quiet.apply([move])[0]:
            return Moved(self._keep(applied(known, move)))
        outcome = self._store.move(move)
        self._keep(outcome.run if isinstance(outcome, Moved) else outcome.current)
        return outcome

    def move_many(self, moves: Sequence[Move], deadline: Deadline) -> Sequence[Moved | Refused | Undecided]:
        known = {move.run_id: self._known.pop(move.run_id, None) for move in moves}
        if len(known) != len(moves) or None in known.values():
            return self._store.move_many(moves, deadline)
        done = self._quiet.apply(moves)
        refused = self._store.move_many([m for m, is_done in zip(moves, done, strict=True) if not is_done], deadline)
        others = iter(refused)
        return [
            Moved(self._keep(applied(record, move))) if is_done and record is not None else next(others)
            for (move, is_done, record) in zip(moves, done, known.values(), strict=True)
        ]

    def get(self, run_id: str) -> Record | None:
        return self._known.get(run_id) or self._keep(self._store.get(run_id))

    def get_many(self, run_ids: Sequence[str], deadline: Deadline) -> ReadRecords:
        known = {run_id: self._known[run_id] for run_id in run_ids if run_id in self._known}
        left = [run_id for run_id in run_ids if run_id not in known]
        if not left:
            return ReadRecords(known)
        read = self._store.get_many(left, deadline)
        for record in read.found.values():
            self._keep(record)
        return ReadRecords({**known, **read.found}, read.unreadable, read.unread)

    def set_aside(self, run_id: str, slot: str, why: str, now: int) -> bool:
        self._forget([run_id])
        return super().set_aside(run_id, slot, why, now)

    def _forget(self, run_ids: Iterable[str]) -> None:
        for run_id in run_ids:
            self._known.pop(run_id, None)

    def _keep(self, record: Record | None) -> Record | None:
        """Remember a record that has not ended, and return it. Ended ones expire, so the store must be asked."""
        if record is None or record.status in TERMINAL:
            return record
        if len(self._known) >= MOST_RECORDS:
            self._known.clear()
        self._known[record.run_id] = record
        return record

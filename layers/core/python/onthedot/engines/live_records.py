"""A store of runs that remembers live records, for a process that owns its store alone."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Protocol

from onthedot.core.moves import Move
from onthedot.core.ports import Deadline, Moved, ReadRecords, Refused, RunStore, Undecided
from onthedot.core.records import TERMINAL, Record
from onthedot.engines.store_around import StoreAround

MOST_RECORDS: Final = 10_000
"""The most records that are remembered. When there are more, all are forgotten and read again."""


class QuietStore(RunStore, Protocol):
    """A store that can move records that its caller knows without reading them, which is cheaper."""

    def apply(self, moves: Sequence[tuple[Move, Record]]) -> Sequence[Record | None]:
        """Apply moves on known records, all in one transaction. Return each record as it is then.

        None: it is not stored as the caller knows it, or the expectation of the move does not hold.
        """
        ...


class LiveRecords(StoreAround):
    """A `RunStore` on another one, which no other process or object may write to.

    A record that was written or read here is remembered until it ends, so it is not read again, and a move on it
    returns the record that the move makes of it. The move expects the revision that is remembered, so that a wrong
    memory costs a read and nothing else. `forget_all` is for whoever undoes writes.

    `may_remember` says whether the calling thread sees its writes before others do, and undoes them if the whole fails.
    The calls of other threads use the store itself, and make what they write forgotten.
    """

    def __init__(self, store: QuietStore, may_remember: Callable[[], bool] = lambda: True) -> None:
        super().__init__(store)
        self._quiet = store
        self._may_remember = may_remember
        self._known: dict[str, Record] = {}

    def create(self, run: Record) -> Record | None:
        with self._forgetting([run.run_id]):
            found = self._store.create(run)
        self._keep(run if found is None else found)
        return found

    def create_many(self, records: Sequence[Record], deadline: Deadline) -> Sequence[Moved | Refused | Undecided]:
        with self._forgetting([record.run_id for record in records]):
            outcomes = self._store.create_many(records, deadline)
        for outcome in outcomes:
            if isinstance(outcome, Moved):
                self._keep(outcome.run)
        return outcomes

    def move(self, move: Move) -> Moved | Refused:
        known = self._known.pop(move.run_id, None)
        if known is not None and self._may_remember() and (moved := self._quiet.apply([(move, known)])[0]) is not None:
            return Moved(self._keep(moved))
        with self._forgetting([move.run_id]):
            outcome = self._store.move(move)
        self._keep(outcome.run if isinstance(outcome, Moved) else outcome.current)
        return outcome

    def move_many(self, moves: Sequence[Move], deadline: Deadline) -> Sequence[Moved | Refused | Undecided]:
        known = [self._known.pop(move.run_id, None) for move in moves]
        pairs = [(move, record) for move, record in zip(moves, known, strict=True) if record is not None]
        if len({move.run_id for move in moves}) != len(moves) or len(pairs) != len(moves) or not self._may_remember():
            with self._forgetting([move.run_id for move in moves]):
                return self._store.move_many(moves, deadline)
        moved = self._quiet.apply(pairs)
        left = [move for move, record in zip(moves, moved, strict=True) if record is None]
        others = iter(self._store.move_many(left, deadline) if left else ())
        return [next(others) if record is None else Moved(self._keep(record)) for record in moved]

    def get(self, run_id: str) -> Record | None:
        if not self._may_remember():
            return self._store.get(run_id)
        return self._known.get(run_id) or self._keep(self._store.get(run_id))

    def get_many(self, run_ids: Sequence[str], deadline: Deadline) -> ReadRecords:
        if not self._may_remember():
            return self._store.get_many(run_ids, deadline)
        known = {run_id: self._known[run_id] for run_id in run_ids if run_id in self._known}
        left = [run_id for run_id in run_ids if run_id not in known]
        if not left:
            return ReadRecords(known)
        read = self._store.get_many(left, deadline)
        for record in read.found.values():
            self._keep(record)
        return ReadRecords({**known, **read.found}, read.unreadable, read.unread)

    def set_aside(self, run_id: str, slot: str, why: str, now: int) -> bool:
        with self._forgetting([run_id]):
            return super().set_aside(run_id, slot, why, now)

    def forget_all(self) -> None:
        """Forget all records, so that they are read again."""
        self._known.clear()

    @contextmanager
    def _forgetting(self, run_ids: Sequence[str]) -> Iterator[None]:
        """Forget records before they are written, and once more after it: another thread may have read them between."""
        try:
            self._forget(run_ids)
            yield
        finally:
            self._forget(run_ids)

    def _forget(self, run_ids: Sequence[str]) -> None:
        for run_id in run_ids:
            self._known.pop(run_id, None)

    def _keep(self, record: Record | None) -> Record | None:
        """Remember a record that has not ended, and return it. Ended ones expire, so the store must be asked."""
        if record is None or record.status in TERMINAL or not self._may_remember():
            return record
        if len(self._known) >= MOST_RECORDS:
            self._known.clear()
        self._known[record.run_id] = record
        return record

"""A store of runs that remembers jobs which recur, for a process that owns its store alone."""

from collections.abc import Sequence
from typing import Final

from onthedot.domain.runs.moves import Move
from onthedot.domain.runs.records import STAMPING, Record
from onthedot.ports import Deadline, Moved, Page, ReadRecords, Refused, RunStore, SlotEntry, Undecided

MOST_JOBS: Final = 20_000
"""Most jobs that are remembered. When there are more, all are forgotten and read again."""


class JobCache:
    """A `RunStore` on another one, which no other process or object may write to.

    Every run of a recurring job or an event job reads its job. The job is remembered until it is written. A write whose
    answer does not have the record, or that raises an error, makes it forgotten.
    """

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self._jobs: dict[str, Record] = {}

    def create(self, run: Record) -> Record | None:
        self._jobs.pop(run.run_id, None)
        return self._store.create(run)

    def create_many(self, records: Sequence[Record], deadline: Deadline) -> Sequence[Moved | Refused | Undecided]:
        for record in records:
            self._jobs.pop(record.run_id, None)
        return self._store.create_many(records, deadline)

    def move(self, move: Move) -> Moved | Refused:
        self._jobs.pop(move.run_id, None)
        outcome = self._store.move(move)
        self._remember(outcome)
        return outcome

    def move_many(self, moves: Sequence[Move], deadline: Deadline) -> Sequence[Moved | Refused | Undecided]:
        for move in moves:
            self._jobs.pop(move.run_id, None)
        outcomes = self._store.move_many(moves, deadline)
        for outcome in outcomes:
            self._remember(outcome)
        return outcomes

    def get(self, run_id: str) -> Record | None:
        found = self._jobs.get(run_id)
        if found is None:
            found = self._store.get(run_id)
            self._keep(found)
        return found

    def get_many(self, run_ids: Sequence[str], deadline: Deadline) -> ReadRecords:
        known = {run_id: self._jobs[run_id] for run_id in run_ids if run_id in self._jobs}
        left = [run_id for run_id in run_ids if run_id not in known]
        if not left:
            return ReadRecords(known, {})
        read = self._store.get_many(left, deadline)
        for record in read.found.values():
            self._keep(record)
        return ReadRecords({**known, **read.found}, read.unreadable, read.unread)

    def runs_of(self, job_id: str, limit: int, cursor: str | None = None) -> Page[Record]:
        return self._store.runs_of(job_id, limit, cursor)

    def read_slot(self, slot: str, cursor: str | None = None, limit: int | None = None) -> Page[SlotEntry]:
        return self._store.read_slot(slot, cursor, limit)

    def set_aside(self, run_id: str, slot: str, why: str, now: int) -> bool:
        self._jobs.pop(run_id, None)
        return self._store.set_aside(run_id, slot, why, now)

    def failed(self, tenant: str, limit: int, cursor: str | None = None) -> Page[Record]:
        return self._store.failed(tenant, limit, cursor)

    def _remember(self, outcome: Moved | Refused | Undecided) -> None:
        if isinstance(outcome, Moved):
            self._keep(outcome.run)

    def _keep(self, record: Record | None) -> None:
        if record is None or record.kind not in STAMPING:
            return
        if len(self._jobs) >= MOST_JOBS and record.run_id not in self._jobs:
            self._jobs.clear()
        self._jobs[record.run_id] = record

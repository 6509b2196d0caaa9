"""The state of the stage as a process knows it, and a store of runs that changes nothing while the stage is closed."""

from collections.abc import Sequence
from typing import Final, Protocol

from onthedot.domain.errors import StageClosed, Unavailable
from onthedot.domain.runs.dead_letters import ALWAYS, Window
from onthedot.domain.runs.moves import Move
from onthedot.domain.runs.records import Record, Status
from onthedot.domain.transfer.stage_state import StageState
from onthedot.ports import (
    Clock,
    Deadline,
    ListEntry,
    Moved,
    Page,
    ReadRecords,
    Refused,
    RunStore,
    SlotEntry,
    StageStore,
    Undecided,
)

UNKNOWN_MS: Final = 30_000
"""While the state cannot be read, the last known one counts for this long. `settle_ms` must be longer."""
_RUNNING: Final = frozenset({Status.RUNNING})


class StoredStage(Protocol):
    """The state of the stage in an engine, without a memory."""

    def fresh(self) -> StageState: ...

    def replace(self, seen: StageState, state: StageState) -> bool: ...


class KnownStage:
    """A `StageStore` that reads the state at most once in `known_ms`. So it costs a run next to nothing."""

    def __init__(self, store: StoredStage, clock: Clock, *, known_ms: int, settle_ms: int) -> None:
        self._store = store
        self._clock = clock
        self._known_ms = known_ms
        self._known: tuple[int, StageState] | None = None
        self.settle_ms = settle_ms

    def read(self) -> StageState:
        """Return the state. While the store fails, return the last known one for some seconds."""
        now, known = self._clock.now(), self._known
        if known is not None and 0 <= now - known[0] < self._known_ms:
            return known[1]
        try:
            return self.fresh()
        except Unavailable:
            if known is None or now - known[0] >= UNKNOWN_MS:
                raise
            return known[1]

    def fresh(self) -> StageState:
        # The age counts from before the read, because the state may change during it.
        now = self._clock.now()
        state = self._store.fresh()
        self._known = (now, state)
        return state

    def replace(self, seen: StageState, state: StageState) -> bool:
        try:
            return self._store.replace(seen, state)
        finally:
            # Another thread may have read the old state meanwhile.
            self._known = None


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

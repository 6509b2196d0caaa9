"""Stores of runs around another one: they announce the number of shards, refuse writes of a closed stage, and count."""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from onthedot.core.errors import StageClosed, Unavailable
from onthedot.core.listing import ALWAYS, Window
from onthedot.core.moves import Move
from onthedot.core.ports import (
    Clock,
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
from onthedot.core.records import Record, Status
from onthedot.core.shards import OVERDUE_AFTER, RENEWED_AFTER, ShardStore
from onthedot.core.slots import BUCKET_MS, bucket_of
from onthedot.engine import Engine
from onthedot.metrics import LATENESS, SUCCEEDED, counts_of, counts_of_new, is_start, lateness_of, outcome_of
from onthedot.transfer.stage_store import StageStore


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


_LOG: Final = logging.getLogger(__name__)
MOST_TRIES: Final = 10
"""Each try that fails means that another process has announced its number."""


def announce(shards: ShardStore, count: int, now: int) -> None:
    """Make sure that the stored history has this number of shards, used now. Raise Unavailable if it cannot.

    It costs one read, and a write if no process has announced this number within an hour.
    """
    for _ in range(MOST_TRIES):
        history = shards.read()
        if history.is_announced(count, bucket_of(now)):
            return
        if shards.replace(history, history.announced(count, bucket_of(now))):
            return
    raise Unavailable("the number of shards could not be announced")


class AnnouncingStore(StoreAround):
    """A `RunStore` on another one. Before its first write, and then once an hour, it announces its number of shards.

    A write whose first announcement fails raises Unavailable and does not happen. An announcement that is repeated may
    fail for some hours. Between announcements a write costs no request.
    """

    def __init__(self, store: RunStore, shards: ShardStore, clock: Clock, count: int) -> None:
        super().__init__(store)
        self._shards = shards
        self._clock = clock
        self._count = count
        self._announced_at: int | None = None
        self._next_at = 0

    def _before(self, moves: Sequence[Move] | None) -> None:  # noqa: ARG002 - any write
        now = self._clock.now()
        if now < self._next_at:
            return
        try:
            announce(self._shards, self._count, now)
        except (Unavailable, ValueError, KeyError, TypeError) as error:
            if self._announced_at is None or now - self._announced_at >= OVERDUE_AFTER * BUCKET_MS:
                raise
            # The number was announced and is served for a day. One item that fails must not stop all writes.
            _LOG.warning("shards_not_announced", extra={"error": str(error)})
            self._next_at = now + BUCKET_MS
            return
        self._announced_at, self._next_at = now, now + RENEWED_AFTER * BUCKET_MS


_RUNNING: Final = frozenset({Status.RUNNING})


class FreezableStore(StoreAround):
    """A `RunStore` on another one. While the stage is closed it refuses every write but those of running attempts.

    So no part of the scheduler can forget the check. A running attempt can end, and is then tried again by no worker.
    """

    def __init__(self, store: RunStore, stage: StageStore) -> None:
        super().__init__(store)
        self._stage = stage

    def _before(self, moves: Sequence[Move] | None) -> None:
        if moves is None or not all(map(_ends_attempt, moves)):
            self._check()

    def set_aside(self, run_id: str, slot: str, why: str, now: int) -> bool:
        self._check()
        return super().set_aside(run_id, slot, why, now)

    def _check(self) -> None:
        state = self._stage.read()
        if not state.is_open:
            raise StageClosed(state.why_closed)


def _ends_attempt(move: Move) -> bool:
    """Return whether the move belongs to an attempt that runs already: it ends it, or extends its lease."""
    return move.expect.status == _RUNNING


def counted(engine: Engine, observer: Observer) -> Engine:
    return replace(engine, store=CountingStore(engine.store, observer))


class CountingStore(StoreAround):
    """A `RunStore` on another one. It counts the writes that happened, and costs no request.

    A write whose reply was lost is not counted.
    """

    def __init__(self, store: RunStore, observer: Observer) -> None:
        super().__init__(store)
        self._observer = observer

    def _after_create(self, record: Record) -> None:
        self._count(counts_of_new(record), record)

    def _after_move(self, move: Move, outcome: Moved) -> None:
        run = outcome.run
        if is_start(move) and run is not None:
            self._observer.observe(LATENESS, lateness_of(run), _where(run))
        if (succeeded := outcome_of(move)) is not None:
            self._observer.observe(SUCCEEDED, succeeded, _where(run))
        self._count(counts_of(move), run)

    def _count(self, counts: Counter[str], run: Record | None) -> None:
        for name, number in counts.items():
            self._observer.add(name, number, _where(run))


def _where(run: Record | None) -> Where | None:
    return None if run is None else (run.pool, run.priority)

"""A store of runs that counts its writes for the metrics."""

from collections import Counter
from dataclasses import replace

from onthedot.core.moves import Move
from onthedot.core.ports import Moved, Observer, RunStore, Where
from onthedot.core.records import Record
from onthedot.engine import Engine
from onthedot.engines.store_around import StoreAround
from onthedot.metrics import LATENESS, SUCCEEDED, counts_of, counts_of_new, is_start, lateness_of, outcome_of


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

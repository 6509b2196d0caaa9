"""A store of runs that changes nothing while the stage is closed."""

from collections.abc import Sequence
from typing import Final

from onthedot.core.errors import StageClosed
from onthedot.core.moves import Move
from onthedot.core.ports import RunStore
from onthedot.core.records import Status
from onthedot.engines.store_around import StoreAround
from onthedot.transfer.stage_store import StageStore

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

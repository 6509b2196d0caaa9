"""The state of the stage: open, frozen or importing. Hundreds of processes read this one item."""

from typing import Final

from onthedot.core.errors import Unavailable
from onthedot.core.items import Items, StoredText
from onthedot.core.ports import Clock
from onthedot.core.remembered import Remembered
from onthedot.core.schema import stage_key
from onthedot.transfer import stage_state
from onthedot.transfer.stage_state import StageState

UNKNOWN_MS: Final = 30_000
"""While the state cannot be read, the last known one counts for this long. `settle_ms` must be longer."""


class StageStore:
    """The state of the stage, which is read at most once in `known_ms`. So it costs a run next to nothing."""

    def __init__(self, items: Items, clock: Clock, *, known_ms: int, settle_ms: int) -> None:
        self._text = StoredText(items, stage_key(), "stage_state", "the state of the stage")
        self._known: Remembered[None, StageState] = Remembered(
            lambda _: _state(self._read()), clock, known_ms=known_ms, unknown_ms=UNKNOWN_MS, failure="stage_unknown"
        )
        self.settle_ms = settle_ms
        """So long after a change of the state, all processes follow it, and no earlier write is under way."""

    def read(self) -> StageState:
        """Return the state, at most a few seconds old. While the table fails, return the last one for some seconds."""
        return self._known.find(None)

    def fresh(self) -> StageState:
        return self._known.read_again(None)

    def replace(self, seen: StageState, state: StageState) -> bool:
        """Replace the state that was seen. Return False if the stored state is another one.

        After a lost reply it may be the caller's own. Then the caller finds it when it reads again.
        """
        try:
            # The condition is on the stored text. Another version may write the same state as another text.
            before = self._read()
            return _state(before) == seen and self._text.replace(before, stage_state.to_text(state))
        finally:
            # Another thread may have read the old state meanwhile.
            self._known.forget(None)

    def _read(self) -> str | None:
        try:
            return self._text.read()
        except (KeyError, TypeError) as error:
            raise _unreadable(error) from error


def _state(text: str | None) -> StageState:
    if text is None:
        return StageState()
    try:
        return stage_state.from_text(text)
    except (ValueError, KeyError, TypeError) as error:
        raise _unreadable(error) from error


def _unreadable(error: Exception) -> Unavailable:
    return Unavailable(f"the state of the stage cannot be read: {error}")

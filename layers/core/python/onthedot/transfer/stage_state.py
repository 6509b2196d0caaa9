"""The state of a stage: open, frozen because its data moves elsewhere, or importing the data of another stage.

Nothing starts in a stage that is not open, and the API accepts no changes. The functions below are the only changes of
the state. Each one may be repeated after a lost reply.
"""

import json
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from typing import Any, Final

from onthedot.core import json_text
from onthedot.core.clock import format_instant
from onthedot.core.errors import StageConflict

LONGEST_FREEZE_ID: Final = 100


class StageMode(StrEnum):
    OPEN = "open"
    FROZEN = "frozen"
    IMPORTING = "importing"


@dataclass(frozen=True, slots=True)
class StageState:
    """The mode of a stage, and the freeze that it belongs to. A stage that was never frozen has `StageState()`."""

    mode: StageMode = StageMode.OPEN
    freeze_id: str | None = None
    """Of a frozen stage: its freeze. Of an importing one: the freeze of the stage that the data comes from."""
    since: int = 0
    exported_at: int | None = None
    """Of a frozen stage: the time at which all its data was exported. From then on another stage may run its jobs."""
    released: str | None = None
    """Of an open stage: the freeze whose data it has imported last."""

    @property
    def is_open(self) -> bool:
        return self.mode is StageMode.OPEN

    @property
    def why_closed(self) -> str:
        """The reason why nothing is accepted, as a sentence for the user."""
        if self.mode is StageMode.IMPORTING:
            return (
                "the stage is importing the data of another one, and accepts nothing until `onthedot import --release`"
            )
        frozen = (
            f"the stage has been frozen since {format_instant(self.since)}, because its jobs are moving to another one"
        )
        return f"{frozen}; {self._way_out}"

    @property
    def _way_out(self) -> str:
        if self.exported_at is None:
            return "an admin can reopen it with `onthedot thaw`"
        return "if no other stage has released them, an admin can reopen it with `onthedot thaw --force`"


def to_text(state: StageState) -> str:
    return json_text.to_text({name: value for name, value in asdict(state).items() if value is not None})


def from_text(text: str) -> StageState:
    """Return the state that `to_text` encoded. Raise ValueError, KeyError or TypeError for any other text."""
    stored: Any = json.loads(text)
    if not isinstance(stored, dict):
        raise TypeError("it is not an object")
    known = {field.name for field in fields(StageState)}
    values = {name: value for name, value in stored.items() if name in known}
    return StageState(**{**values, "mode": StageMode(stored["mode"])})


def frozen(state: StageState, freeze_id: str, now: int) -> StageState:
    """Freeze the stage. A frozen one keeps its freeze. Raise StageConflict."""
    if state.mode is StageMode.FROZEN:
        return state
    _refuse_while_importing(state)
    return StageState(StageMode.FROZEN, freeze_id, now, released=state.released)


def exported(state: StageState, freeze_id: str, now: int) -> StageState:
    """Note that all data of this freeze is exported. Raise StageConflict."""
    if state.mode is not StageMode.FROZEN or state.freeze_id != freeze_id:
        raise StageConflict("the freeze of this export has ended, so the export is incomplete; export again")
    return replace(state, exported_at=state.exported_at or now)


def thawed(state: StageState, now: int, *, force: bool) -> StageState:
    """Open a frozen stage again. Raise StageConflict if its jobs may run elsewhere, unless `force` is set."""
    if state.is_open:
        return state
    _refuse_while_importing(state)
    if state.exported_at is not None and not force:
        at = format_instant(state.exported_at)
        message = f"its jobs were exported at {at}; if another stage has released them, they would run twice"
        raise StageConflict(f"{message}; use force if none has")
    return StageState(since=now, released=state.released)


def importing(state: StageState, freeze_id: str, now: int) -> StageState:
    """Begin an import, or go on with it. Raise StageConflict."""
    if state.mode is StageMode.FROZEN:
        raise StageConflict("the stage is frozen itself, because its own jobs are moving; import into another one")
    if state.mode is StageMode.IMPORTING:
        _refuse_other(state, freeze_id)
        return state
    if state.released == freeze_id:
        raise StageConflict("this export was imported and released already; nothing is left to import")
    return StageState(StageMode.IMPORTING, freeze_id, now, released=state.released)


def released(state: StageState, freeze_id: str, now: int) -> StageState:
    """Open an importing stage. Raise StageConflict when it imports another export, or none."""
    if state.is_open and state.released == freeze_id:
        return state
    if state.mode is not StageMode.IMPORTING:
        raise StageConflict("the stage is not importing; begin the import first")
    _refuse_other(state, freeze_id)
    return StageState(since=now, released=freeze_id)


def _refuse_other(state: StageState, freeze_id: str) -> None:
    if state.freeze_id != freeze_id:
        raise StageConflict(f"the stage is importing another export, {state.freeze_id}; finish that one")


def _refuse_while_importing(state: StageState) -> None:
    if state.mode is StageMode.IMPORTING:
        raise StageConflict("the stage is importing the data of another one; release the import, or start a new stage")

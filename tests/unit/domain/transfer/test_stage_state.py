"""The changes of a stage's state: all pairs of a state and a change, and each change twice."""

from collections.abc import Callable

import pytest

from onthedot.core.errors import StageConflict
from onthedot.transfer import stage_state
from onthedot.transfer.stage_state import StageMode, StageState

Change = Callable[[StageState], StageState]
OPEN = StageState()
RELEASED = StageState(since=1, released="f")
FROZEN = StageState(StageMode.FROZEN, "f", 1)
EXPORTED = StageState(StageMode.FROZEN, "f", 1, exported_at=2)
IMPORTING = StageState(StageMode.IMPORTING, "f", 1)
OTHER = StageState(StageMode.IMPORTING, "other", 1)
CHANGES: dict[str, Change] = {
    "freeze": lambda state: stage_state.frozen(state, "f", 9),
    "export": lambda state: stage_state.exported(state, "f", 9),
    "thaw": lambda state: stage_state.thawed(state, 9, force=False),
    "force": lambda state: stage_state.thawed(state, 9, force=True),
    "import": lambda state: stage_state.importing(state, "f", 9),
    "release": lambda state: stage_state.released(state, "f", 9),
}
ALLOWED = {
    ("freeze", OPEN): StageState(StageMode.FROZEN, "f", 9),
    ("freeze", RELEASED): StageState(StageMode.FROZEN, "f", 9, released="f"),
    ("freeze", FROZEN): FROZEN,
    ("freeze", EXPORTED): EXPORTED,
    ("export", FROZEN): StageState(StageMode.FROZEN, "f", 1, exported_at=9),
    ("export", EXPORTED): EXPORTED,
    ("thaw", OPEN): OPEN,
    ("thaw", RELEASED): RELEASED,
    ("thaw", FROZEN): StageState(since=9),
    ("force", OPEN): OPEN,
    ("force", RELEASED): RELEASED,
    ("force", FROZEN): StageState(since=9),
    ("force", EXPORTED): StageState(since=9),
    ("import", OPEN): StageState(StageMode.IMPORTING, "f", 9),
    ("import", IMPORTING): IMPORTING,
    ("release", IMPORTING): StageState(since=9, released="f"),
    ("release", RELEASED): RELEASED,
}


@pytest.mark.parametrize("state", [OPEN, RELEASED, FROZEN, EXPORTED, IMPORTING, OTHER])
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_refused_or_may_be_repeated(name: str, state: StageState) -> None:
    expected = ALLOWED.get((name, state))
    if expected is None:
        with pytest.raises(StageConflict):
            CHANGES[name](state)
        return
    assert CHANGES[name](state) == expected
    assert CHANGES[name](expected) == expected


@pytest.mark.parametrize("state", [OPEN, RELEASED, FROZEN, EXPORTED, IMPORTING])
def test_a_state_is_read_as_it_was_written(state: StageState) -> None:
    assert stage_state.from_text(stage_state.to_text(state)) == state


def test_values_of_a_newer_version_are_ignored() -> None:
    assert stage_state.from_text('{"mode":"frozen","since":3,"new":1}') == StageState(StageMode.FROZEN, None, 3)

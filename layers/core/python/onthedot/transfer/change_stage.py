"""Freeze, thaw and release a stage. Each change is one compare-and-set, and may be repeated after a lost reply.

Each raises StageConflict for a stage in another state, or Unavailable.
"""

from collections.abc import Callable
from typing import Final

from onthedot.core.errors import Unavailable
from onthedot.core.ids import fresh_generation
from onthedot.engine import Engine
from onthedot.transfer import stage_state
from onthedot.transfer.stage_state import StageState

MOST_TRIES: Final = 10


def freeze(engine: Engine) -> StageState:
    freeze_id = f"frz_{fresh_generation()}"
    return _change(engine, lambda state, now: stage_state.frozen(state, freeze_id, now))


def thaw(engine: Engine, *, force: bool) -> StageState:
    return _change(engine, lambda state, now: stage_state.thawed(state, now, force=force))


def finish_export(engine: Engine, freeze_id: str) -> StageState:
    return _change(engine, lambda state, now: stage_state.exported(state, freeze_id, now))


def begin_import(engine: Engine, freeze_id: str) -> StageState:
    return _change(engine, lambda state, now: stage_state.importing(state, freeze_id, now))


def release(engine: Engine, freeze_id: str) -> StageState:
    return _change(engine, lambda state, now: stage_state.released(state, freeze_id, now))


def settles_in_ms(engine: Engine, state: StageState) -> int:
    """Return how long it takes until all processes follow the state, and no earlier write is under way."""
    return max(0, state.since + engine.stage.settle_ms - engine.clock.now())


def _change(engine: Engine, change: Callable[[StageState, int], StageState]) -> StageState:
    for _ in range(MOST_TRIES):
        seen = engine.stage.fresh()
        state = change(seen, engine.clock.now())
        if state == seen or engine.stage.replace(seen, state):
            return state
    raise Unavailable("the state of the stage keeps changing; try again")

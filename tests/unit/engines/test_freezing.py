"""The state of the stage as a process knows it: read seldom, and trusted for a while when it cannot be read."""

from typing import Any

import pytest

from onthedot.core.errors import Unavailable
from onthedot.core.items import Change, Condition, Item, Written
from onthedot.core.schema import Key
from onthedot.transfer.stage_state import StageMode, StageState, from_text, to_text
from onthedot.transfer.stage_store import UNKNOWN_MS, StageStore
from tests.builders import VirtualClock

FROZEN = StageState(StageMode.FROZEN, "f", 1)


class Stored:
    """The item of a stage, which counts its reads and fails if the test wants it."""

    def __init__(self) -> None:
        self.state = StageState()
        self.reads = 0
        self.fails = False

    def get(self, key: Key) -> Item:
        self.reads += 1
        if self.fails:
            raise Unavailable("as the test wants")
        return Item(key, {"stage_state": to_text(self.state)})

    def update(self, key: Key, change: Change, condition: Condition) -> Written:
        self.state = from_text(str(change.sets["stage_state"]))
        return Written(done=True, item=None)


def known(stage: Stored, clock: VirtualClock) -> StageStore:
    items: Any = stage
    return StageStore(items, clock, known_ms=5_000, settle_ms=90_000)


def test_the_state_is_read_at_most_once_in_its_time() -> None:
    stage, clock = Stored(), VirtualClock()
    store = known(stage, clock)
    for _ in range(100):
        assert store.read().is_open
    assert stage.reads == 1
    stage.state = FROZEN
    clock.advance(4.999)
    assert store.read().is_open
    clock.advance(0.001)
    assert store.read() == FROZEN
    assert stage.reads == 2


def test_a_process_follows_its_own_change_at_once() -> None:
    stage, clock = Stored(), VirtualClock()
    store = known(stage, clock)
    assert store.read().is_open
    assert store.replace(StageState(), FROZEN)
    assert store.read() == FROZEN


def test_the_last_known_state_counts_for_a_while() -> None:
    stage, clock = Stored(), VirtualClock()
    store = known(stage, clock)
    assert store.read().is_open
    stage.fails = True
    clock.advance(UNKNOWN_MS / 1000 - 0.001)
    assert store.read().is_open
    clock.advance(0.001)
    with pytest.raises(Unavailable):
        store.read()
    stage.fails = False
    assert store.read().is_open


def test_a_process_that_never_knew_the_state_does_nothing() -> None:
    stage = Stored()
    stage.fails = True
    with pytest.raises(Unavailable):
        known(stage, VirtualClock()).read()


def test_a_clock_that_was_set_back_reads_again() -> None:
    stage, clock = Stored(), VirtualClock()
    store = known(stage, clock)
    store.read()
    stage.state = FROZEN
    clock.advance(-3_600)
    assert store.read() == FROZEN

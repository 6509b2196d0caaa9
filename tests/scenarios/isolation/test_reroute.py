"""Runs whose pool is gone: what the claim pass does when the answer of the store is not a plain success."""

from collections.abc import Sequence
from typing import Any

import pytest

from onthedot.core.find_pool import Rerouted, reroute_entries
from onthedot.core.moves import Move, applied
from onthedot.core.ports import Deadline, Refused, SlotEntry, Undecided
from tests.builders import World, a_run


def rerouted(world: World, monkeypatch: pytest.MonkeyPatch, answer: Any) -> tuple[Rerouted, SlotEntry]:
    run = a_run(world.clock).due_in(600).having(pool="gone").pending().stored_in(world.store)
    assert run.slot is not None
    [entry] = world.store.read_slot(run.slot).items

    def answers(_: Any, moves: Sequence[Move], __: Deadline) -> list[Any]:
        return [answer(applied(run, move)) for move in moves]

    monkeypatch.setattr(type(world.store), "move_many", answers)
    return reroute_entries(world.engine, [entry], Deadline.after(world.clock.now(), 10_000)), entry


def test_a_run_whose_move_is_undecided_is_left_in_its_slot(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    result, _ = rerouted(world, monkeypatch, lambda _: Undecided("throttled"))
    assert (result.entries, result.left, result.faults) == ([], 1, {})


def test_a_run_that_has_the_pool_already_can_be_claimed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    result, entry = rerouted(world, monkeypatch, Refused)
    assert [(one.run_id, one.pool) for one in result.entries] == [(entry.run_id, "default")]
    assert result.left == 0


def test_entries_for_which_there_is_no_time_are_left(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    _, entry = rerouted(world, monkeypatch, Refused)
    assert reroute_entries(world.engine, [entry] * 3, Deadline(world.clock.now() - 1)).left == 3

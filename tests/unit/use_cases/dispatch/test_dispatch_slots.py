"""A tick over known slots: each is visited by itself."""

import logging
from dataclasses import replace
from typing import Any

import pytest

from onthedot.core.ports import Deadline
from onthedot.core.records import Status
from onthedot.testing.scheduler import dispatch_slots
from tests.builders import a_run, a_world


class FailingStore:
    """A store that fails for one slot."""

    def __init__(self, store: Any, slot: str) -> None:
        self._store, self._slot = store, slot

    def read_slot(self, slot: str, *more: Any) -> Any:
        if slot == self._slot:
            raise ValueError("damaged")
        return self._store.read_slot(slot, *more)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def test_runs_are_claimed_and_sent_and_overdue_ones_are_swept() -> None:
    with a_world() as world:
        due = a_run(world.clock).due_in(1).pending().stored_in(world.store)
        overdue = a_run(world.clock).due_in(-300).dispatched().stored_in(world.store)
        assert due.slot is not None
        assert overdue.slot is not None
        counts = dispatch_slots(world.engine, [due.slot], [overdue.slot], Deadline.after(world.clock.now(), 80_000))
        stored = world.store.get(due.run_id)
        assert stored is not None
        assert stored.status is Status.DISPATCHED
        assert counts["claimed"] == 1
        world.clock.advance(1)
        assert {one.message.run_id for one in world.received()} == {due.run_id, overdue.run_id}


def test_a_slot_that_fails_stops_no_other(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    with a_world() as world:
        one = a_run(world.clock).due_in(1).pending().stored_in(world.store)
        other = a_run(world.clock).due_in(300).pending().stored_in(world.store)
        assert one.slot is not None
        assert other.slot is not None
        engine = replace(world.engine, store=FailingStore(world.store, one.slot))
        slots = [one.slot, other.slot]
        counts = dispatch_slots(engine, slots, [one.slot], Deadline.after(world.clock.now(), 80_000))
        assert (counts["slot_failed"], counts["claimed"]) == (2, 1)


def test_without_time_runs_stay_in_their_slots() -> None:
    with a_world() as world:
        run = a_run(world.clock).due_in(1).pending().stored_in(world.store)
        assert run.slot is not None
        counts = dispatch_slots(world.engine, [run.slot], [], Deadline(world.clock.now() - 1))
        assert counts["out_of_time"] == 1
        assert world.store.get(run.run_id) == run

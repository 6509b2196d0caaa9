"""Slots with runs and gates: each pass gets what it handles."""

from collections import Counter
from collections.abc import Iterator

import pytest

from onthedot.core.gate_names import GateId
from onthedot.core.ports import Deadline
from onthedot.core.records import Kind, Status
from onthedot.core.send import read_slot_pages
from onthedot.core.set_aside import take_up
from onthedot.core.slots import aside_slot, slot_shard
from onthedot.gates.state import GateChange
from onthedot.jobs.audit import read_aside
from tests.builders import World, a_run, a_world

SLOT = "watch#0#29539440"
GATE = GateId("acme", "stripe")


@pytest.fixture
def world() -> Iterator[World]:
    with a_world() as world:
        yield world


def flag(world: World, gate: GateId, slot: str) -> None:
    sets = {"slot": slot, "due_at": world.clock.now(), "flagged_at": 1}
    assert world.gates.change(gate, GateChange(sets=sets)).done


def test_pages_have_the_runs_and_the_gates_of_a_slot(world: World) -> None:
    runs = {a_run(world.clock).standing(Status.DISPATCHED, SLOT).stored_in(world.store).run_id for _ in range(3)}
    for number in range(3):
        flag(world, GateId("acme", "customer", f"{number}"), SLOT)
    entries = [entry for page in read_slot_pages(world.engine, SLOT, 2) for entry in page.items]
    assert {entry.run_id for entry in entries if entry.kind is not Kind.GATE} == runs
    assert len(entries) == 6


def test_a_gate_in_an_aside_slot_stops_no_run_from_being_taken_up(world: World) -> None:
    """Nothing puts a gate there but a fault."""
    run = a_run(world.clock).due_in(600).pending().stored_in(world.store)
    assert world.store.set_aside(run.run_id, run.slot or "", "it was odd", world.clock.now())
    deadline = Deadline.after(world.clock.now(), 10_000)
    shard = slot_shard(run.slot or "")
    flag(world, GATE, aside_slot(shard))
    assert [one.run_id for one in read_aside(world.engine, shard, deadline)] == [run.run_id]
    counts: Counter[str] = Counter()
    take_up(world.engine, counts, shard, deadline)
    assert counts["put_back"] == 1

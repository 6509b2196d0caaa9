"""Looks at gates are bounded: one gate or key that is slow, large or broken takes no time from others."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from onthedot.core.choices import Priority
from onthedot.core.errors import Unavailable
from onthedot.core.gate_names import GateId, keys_slot, waiting_slot
from onthedot.core.ports import Deadline, RunMessage, Tick
from onthedot.core.records import Status
from onthedot.core.slots import BUCKET_MS
from onthedot.core.tick import dispatch_due
from onthedot.gates.limits import GateLimits
from onthedot.gates.look import look_at_gate
from onthedot.gates.manage import put_gate
from onthedot.gates.state import GateChange, GateState, Holder
from onthedot.gates.state_store import GateStore
from onthedot.gates.wait import flag_again, look_again
from onthedot.gates.wake import wake_free
from tests.builders import World, a_run, a_world
from tests.scenarios.kits.simulation import Simulation
from tests.table_queues import SqliteRunQueues
from tests.unit.api.gates.kit import let_wait, stored
from tests.unit.api.kit import Api

GATE = GateId("acme", "stripe")
MEDIUM = Priority.MEDIUM


@pytest.fixture
def world() -> Iterator[World]:
    with a_world(page_size=1_000) as world:
        yield world


def soon(world: World, seconds: int) -> Deadline:
    return Deadline.after(world.clock.now(), seconds * 1000)


def look(world: World, gate: GateId = GATE, seconds: int = 20) -> Counter[str]:
    counts: Counter[str] = Counter()
    look_at_gate(world.engine, gate, world.gates.read(gate).slot or "", soon(world, seconds), counts)
    return counts


def test_runs_of_a_deleted_gate_are_sent_as_they_are_taken_off(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that dies in between leaves few of them without a message."""
    let_wait(world, GATE, 250, 10_000)
    sent: list[int] = []
    send = SqliteRunQueues.send

    def noted(queues: SqliteRunQueues, messages: Sequence[RunMessage], deadline: Deadline) -> Sequence[RunMessage]:
        sent.append(len(messages))
        return send(queues, messages, deadline)

    monkeypatch.setattr(SqliteRunQueues, "send", noted)
    assert wake_free(world.engine, GATE, soon(world, 60)) == 250
    assert sent == [100, 100, 50]


def test_a_wake_that_gets_no_instants_ends(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process has reserved them since the state was read. More tries would be refused writes."""
    world.gates.put("acme", "stripe", GateLimits(per_second=1))
    let_wait(world, GATE, 500, 10_000)
    changes: list[GateChange] = []
    change = GateStore.change

    def overtaken(gates: GateStore, gate: GateId, wanted: GateChange) -> Any:
        changes.append(wanted)
        far = (world.clock.now() + 155_000) * 1000
        change(gates, gate, GateChange(sets={"next_instant": far}))
        return change(gates, gate, wanted)

    monkeypatch.setattr(GateStore, "change", overtaken)
    assert wake_free(world.engine, GATE, soon(world, 60)) == 0
    assert len(changes) == 1


def test_the_repair_of_many_holders_ends_in_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.gates.put("acme", "stripe", GateLimits(in_flight=1_000))
    for page in range(5):
        for number in range(8):
            holder = Holder(f"t{page}-{number}", "g", world.clock.now(), f"job_gone{page}{number}")
            world.gates.take(GATE, page, holder, room=8, newcomer=False, capacity=None)
    let_wait(world, GATE, 1, 10_000)
    give_back = GateStore.give_back

    def slow(*about: Any) -> GateState:
        world.clock.advance(5)
        return give_back(*about)

    monkeypatch.setattr(GateStore, "give_back", slow)
    began = world.clock.now()
    assert 1 <= look(world)["places_freed"] <= 5
    assert world.clock.now() - began <= 25_000
    assert (world.gates.read(GATE).due_at or 0) > world.clock.now(), "the next look goes on"


def test_a_run_that_looks_again_overtakes_none_that_waits_before_it(world: World) -> None:
    world.gates.put("acme", "stripe", GateLimits(in_flight=1))
    first, second = let_wait(world, GATE, 2, 10_000)
    for run, status in ((second, Status.PENDING), (first, Status.DISPATCHED)):
        look_again(world.engine, GATE, run)
        assert stored(world, run.run_id).status is status


def flag_keys(world: World, count: int) -> list[GateId]:
    keys = [replace(GATE, key=f"{number:04}") for number in range(count)]
    for key in keys:
        let_wait(world, key, 1, 10_000)
    world.clock.advance(180)
    return keys


def test_many_keys_are_visited_side_by_side_and_all_go_on(world: World) -> None:
    flag_keys(world, 60)
    counts = look(world)
    assert (counts["woken"], counts["gate_failed"]) == (60, 0)
    assert world.store.read_slot(keys_slot(GATE)).items == [], "none waits, so all are left"


def test_keys_for_which_there_was_no_time_are_visited_by_the_next_tick(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = flag_keys(world, 8)
    read = GateStore.read

    def slow(gates: GateStore, gate: GateId) -> GateState:
        world.clock.advance(1 if gate.is_key else 0)
        return read(gates, gate)

    monkeypatch.setattr(GateStore, "read", slow)
    assert 0 < look(world)["woken"] < len(keys)
    state = world.gates.read(GATE)
    assert (state.due_at or 0) // BUCKET_MS == world.clock.now() // BUCKET_MS + 1


def test_keys_that_fail_go_behind_the_others(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a few keys that hang could take the time of all looks."""
    keys = flag_keys(world, 4)
    read = GateStore.read

    def hanging(gates: GateStore, gate: GateId) -> GateState:
        if gate in keys[:2]:
            world.clock.advance(6)
            raise Unavailable("throttled")
        return read(gates, gate)

    monkeypatch.setattr(GateStore, "read", hanging)
    first, second = look(world), look(world)
    assert (first["gate_failed"], first["woken"]) == (2, 0)
    assert (second["gate_failed"], second["woken"]) == (0, 2)


def test_slow_gates_of_one_tenant_delay_no_late_run_of_another(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten gates take all the time of a tick, but the claim pass over the past minutes is done before the last ones."""
    for number in range(10):
        let_wait(world, GateId("acme", f"gate{number}"), 1, 10_000)
    late = a_run(world.clock).in_tenant("beta").due_in(30).pending().stored_in(world.store)
    world.clock.advance(180)
    read = GateStore.read

    def slow(gates: GateStore, gate: GateId) -> GateState:
        world.clock.advance(8)
        return read(gates, gate)

    monkeypatch.setattr(GateStore, "read", slow)
    shards = tuple(range(world.deployment.shards))
    counts = dispatch_due(world.engine, world.progress, Tick(0, shards, world.clock.now(), "t"), soon(world, 80))
    assert counts["out_of_time"]
    assert stored(world, late.run_id).status is Status.DISPATCHED
    monkeypatch.setattr(GateStore, "read", read)
    simulation = Simulation(world)
    simulation.let_pass(240)
    assert not any(world.store.read_slot(waiting_slot(GateId("acme", f"gate{n}"), MEDIUM, 0)).items for n in range(10))


def test_a_run_that_came_late_to_a_part_that_is_gone_is_found(world: World) -> None:
    """Its worker was stopped while the list had many parts. Meanwhile the gate was left, and has one part again."""
    world.gates.put("acme", "stripe", GateLimits(in_flight=1, paused=True))
    run = let_wait(world, GATE, 1, 10_000, part=5)[0]
    assert world.gates.read(GATE).parts is None
    flag_again(world.engine, run)
    world.gates.put("acme", "stripe", GateLimits(in_flight=1))
    assert wake_free(world.engine, GATE, soon(world, 20)) == 1


def test_a_record_that_cannot_leave_the_list_is_set_aside(world: World) -> None:
    stuck, fine = let_wait(world, GATE, 2, 10_000)
    with world.database.transaction() as connection:
        connection.execute("UPDATE runs SET status = 'RUNNING' WHERE run_id = ?", (stuck.run_id,))
    world.gates.put("acme", "stripe", GateLimits(in_flight=1))
    assert wake_free(world.engine, GATE, soon(world, 20)) == 1
    assert not world.store.read_slot(waiting_slot(GATE, MEDIUM, 0)).items
    assert stored(world, fine.run_id).status is Status.DISPATCHED


@pytest.mark.parametrize("named", ["stripe", "stripe:42"])
@pytest.mark.parametrize("seconds", [60, 900])
def test_a_raised_rate_is_in_force_within_a_minute(world: World, named: str, seconds: int) -> None:
    """Runs have got instants of the slow rate, and the others do not wait until after these."""
    api, simulation = Api(world), Simulation(world)
    put_gate(world.engine, "acme", "stripe", GateLimits(per_second=1 / seconds))
    for _ in range(10):
        api.job(gates=[named], delay=0)
    simulation.let_pass(30)
    assert len(simulation.target.calls) == 1
    put_gate(world.engine, "acme", "stripe", GateLimits(per_second=1))
    simulation.let_pass(60)
    assert len(simulation.target.calls) >= 7, "but the few that have an instant already"


def test_a_resumed_gate_wakes_the_runs_of_all_its_keys_and_one_that_fails_stops_no_other(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_gate(world.engine, "acme", "stripe", GateLimits(in_flight=1, paused=True))
    keys = flag_keys(world, 40)
    read = GateStore.read

    def failing(gates: GateStore, gate: GateId) -> GateState:
        if gate == keys[0]:
            raise Unavailable("throttled")
        return read(gates, gate)

    monkeypatch.setattr(GateStore, "read", failing)
    put_gate(world.engine, "acme", "stripe", GateLimits(in_flight=1))
    waiting = [key for key in keys if world.store.read_slot(waiting_slot(key, MEDIUM, 0)).items]
    assert waiting == keys[:1]

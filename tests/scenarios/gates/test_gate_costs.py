"""What waiting runs cost: the reads of a tick do not grow with their number or age, and each moves a few times only."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from onthedot.core.choices import Priority
from onthedot.core.gate_names import GateId, gate_of_slot, keys_slot, tenant_gate, waiting_slot
from onthedot.core.ports import Deadline, Moved
from onthedot.core.records import Record, Status
from onthedot.core.tick import dispatch_due
from onthedot.engines.sqlite.store import SqliteRunStore
from onthedot.gates.flag import flag_gate
from onthedot.gates.limits import GateLimits, TenantLimits
from onthedot.gates.manage import put_gate, put_limits
from onthedot.gates.state import GateChange, Holder
from onthedot.gates.state_store import GateStore
from tests.builders import World, a_run, a_world, the_start_of
from tests.scenarios.kits.simulation import Simulation
from tests.unit.api.kit import Api

MEDIUM = Priority.MEDIUM
HOURS = 2
WEEKS_S = 3 * 7 * 86_400
ENTRIES_PER_UNIT = 16
"""About 16 entries of the due index are 4 KB: half a read unit of DynamoDB, as an empty slot."""


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the reads of the stores in halves of read units, each by the price that DynamoDB has for it."""
    units: Counter[str] = Counter()

    def count(store: type, name: str, kind: str, price: Callable[..., int]) -> None:
        read = getattr(store, name)

        def counted(self: Any, *given: Any, **named: Any) -> Any:
            answer = read(self, *given, **named)
            units[kind] += price(answer, *given)
            return answer

        monkeypatch.setattr(store, name, counted)

    count(SqliteRunStore, "read_slot", "slots", lambda page, *_: max(1, -(-len(page.items) // ENTRIES_PER_UNIT)))
    count(SqliteRunStore, "get_many", "records", lambda _, run_ids, *__: 2 * len(run_ids))
    count(SqliteRunStore, "get", "records", lambda *_: 2)
    count(GateStore, "read", "gates", lambda *_: 2)
    count(GateStore, "pages", "gates", lambda *_: 2)
    return units


def let_wait(world: World, gates: Sequence[GateId], each: int, tenant: str) -> list[Record]:
    """Store runs that have waited at these gates for weeks, as their workers left them."""
    runs = []
    for gate in gates:
        slot = waiting_slot(gate, MEDIUM, 0)
        new = (a_run(world.clock).in_tenant(tenant).due_in(number - WEEKS_S) for number in range(each))
        runs += [run.standing(Status.PENDING, slot).build() for run in new]
    deadline = Deadline.after(world.clock.now(), 10**9)
    for first in range(0, len(runs), 500):
        world.store.create_many(runs[first : first + 500], deadline)
    return runs


def hold_tenant(world: World) -> None:
    world.limits.put("held", TenantLimits(in_flight=0))
    gate = tenant_gate("held")
    flag_gate(world.engine, gate, MEDIUM, world.clock.now())
    let_wait(world, [gate], 5_000, "held")


def pause_keys(world: World) -> None:
    world.gates.put("held", "customer", GateLimits(in_flight=1, paused=True))
    base = GateId("held", "customer")
    flag_gate(world.engine, base, MEDIUM, world.clock.now())
    keys = [replace(base, key=str(number)) for number in range(10_000)]
    since = world.clock.now() - WEEKS_S * 1000
    flag = GateChange(
        sets={"slot": keys_slot(base), "due_at": since, "flagged_at": since}, priorities=frozenset({MEDIUM})
    )
    for key in keys:
        assert world.gates.change(key, flag).done
    let_wait(world, keys, 1, "held")


def units_of_ticks(reads: Counter[str], fill: Callable[[World], None]) -> tuple[int, Counter[str]]:
    """Do the ticks of some hours with a small load of another tenant. Return their read units and their counts."""
    with a_world(page_size=1_000) as world:
        for _ in range(5):
            Api(world).called_by("busy").job(every=60)
        fill(world)
        simulation = Simulation(world)
        total, done = 0, Counter[str]()
        for _ in range(HOURS * 60):
            world.clock.advance(60)
            simulation.plan_ticks()
            for received in world.ticks.receive_ticks(10):
                before = reads.total()
                done += dispatch_due(
                    world.engine, world.progress, received.tick, Deadline.after(world.clock.now(), 80_000)
                )
                total += reads.total() - before
                world.ticks.delete_tick(received)
            simulation.work()
        assert not done["slot_failed"]
        assert not done["gate_failed"]
        assert done["stamped"] >= 5 * HOURS * 60 - 5
        return total, done


@pytest.mark.slow
@pytest.mark.parametrize("fill", [hold_tenant, pause_keys])
def test_what_was_stopped_weeks_ago_costs_ticks_next_to_nothing(
    reads: Counter[str], fill: Callable[[World], None]
) -> None:
    without, _ = units_of_ticks(reads, lambda _: None)
    beside, counts = units_of_ticks(reads, fill)
    assert counts["looks"] >= HOURS
    assert without <= beside <= 1.05 * without, (without, beside)


def keep_full(world: World, waiting: int) -> None:
    """One place, an attempt that has it for hours, and runs that wait for it."""
    world.limits.put("held", TenantLimits(in_flight=1))
    gate = tenant_gate("held")
    run = a_run(world.clock).in_tenant("held").dispatched().stored_in(world.store)
    holder = Holder("mine", run.generation, world.clock.now(), run.run_id)
    assert world.gates.take(gate, 0, holder, room=1, newcomer=False, capacity=None).done
    start = the_start_of(run, world.clock.now())
    lease = {**start.changes, "held": ("0#@tenant",), "lease_until": world.clock.now() + 10**9}
    assert isinstance(world.store.move(replace(start, changes=lease)), Moved)
    flag_gate(world.engine, gate, MEDIUM, world.clock.now())
    let_wait(world, [gate], waiting, "held")


@pytest.mark.slow
def test_the_looks_at_a_full_gate_cost_the_same_however_many_runs_wait(reads: Counter[str]) -> None:
    few, _ = units_of_ticks(reads, lambda world: keep_full(world, 10))
    many, counts = units_of_ticks(reads, lambda world: keep_full(world, 5_000))
    assert counts["looks"] >= HOURS * 25
    assert counts["gates_waiting"] == HOURS * 1_000
    assert many <= 1.05 * few, (few, many)


@pytest.mark.parametrize("stop", ["tenant", "gate", "key"])
def test_each_waiting_run_moves_a_bounded_number_of_times(world: World, stop: str) -> None:
    """Hold the runs of a recurring job for hours. Nothing moves them until they may go on."""
    api, simulation = Api(world), Simulation(world)
    world.gates.put("acme", "stripe", GateLimits(paused=stop != "tenant"))
    world.limits.put("acme", TenantLimits(in_flight=0 if stop == "tenant" else None))
    named = {"tenant": [], "gate": ["stripe"], "key": ["stripe:42"]}[stop]
    job_id = api.job(every=120, max_runs=20, gates=named)
    simulation.let_pass(20 * 120 + 60)
    waiting = list(world.store.runs_of(job_id, 100).items)
    assert len([run for run in waiting if gate_of_slot(run.slot)]) == 20
    moves = {run.run_id: run.revision for run in waiting}
    assert max(moves.values()) <= 3, "stamped, perhaps claimed, put on the list"
    simulation.let_pass(2 * 3600)
    assert {run.run_id: run.revision for run in world.store.runs_of(job_id, 100).items} == moves
    put_gate(world.engine, "acme", "stripe", GateLimits(in_flight=2))
    put_limits(world.engine, "acme", TenantLimits(in_flight=2))
    simulation.let_pass(300)
    ended = list(world.store.runs_of(job_id, 100).items)
    assert {run.status for run in ended} == {Status.SUCCEEDED}
    assert len(simulation.target.calls) == 20
    # Off the list, start, finish. A run that is overtaken by another woken one waits once more.
    more = [run.revision - moves[run.run_id] for run in ended]
    assert sorted(more)[len(more) // 2] == 3
    assert max(more) <= 7

"""The counts of looks at gates, as they become metrics."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from onthedot.core.choices import Priority
from onthedot.core.gate_names import GateId, queue_gate, tenant_gate
from onthedot.core.ports import Moved
from onthedot.gates.limits import GateLimits, TenantLimits
from onthedot.gates.state import Holder
from onthedot.metrics import observe_tick
from onthedot.observability import Metrics
from tests.builders import World, a_run, a_world, the_start_of
from tests.scenarios.kits.simulation import Simulation
from tests.unit.api.gates.kit import let_wait


@pytest.fixture
def world() -> Iterator[World]:
    with a_world(page_size=1_500) as world:
        yield world


def keep_running(world: World, gate: GateId) -> None:
    """Let an attempt have a place of the gate for hours."""
    run = a_run(world.clock).dispatched().stored_in(world.store)
    holder = Holder("t", run.generation, world.clock.now(), run.run_id)
    assert world.gates.take(gate, 0, holder, room=1, newcomer=False, capacity=None).done
    start = the_start_of(run, world.clock.now())
    lease = {**start.changes, "attempt_token": "t", "lease_until": world.clock.now() + 10**9}
    assert isinstance(world.store.move(replace(start, changes=lease)), Moved)


def look(world: World) -> Simulation:
    simulation = Simulation(world)
    simulation.let_pass(3600)
    return simulation


def test_the_waiting_runs_of_all_gates_are_added_and_the_oldest_of_all_is_found(world: World) -> None:
    world.gates.put("acme", "stripe", GateLimits(paused=True))
    world.limits.put("beta", TenantLimits(in_flight=0))
    let_wait(world, GateId("acme", "stripe"), 3, 600)
    let_wait(world, GateId("acme", "stripe"), 2, 100, Priority.HIGH)
    let_wait(world, tenant_gate("beta"), 4, 1000)
    counts = look(world).counts
    assert (counts["looks"], counts["gates_waiting"]) == (2, 9), "once an hour"
    assert 1000 <= counts["gate_oldest_seconds"] <= 1140, "the largest, not the sum"


def test_an_active_gate_counts_its_runs_once_an_hour_too(world: World) -> None:
    world.gates.put("acme", "stripe", GateLimits(in_flight=1))
    keep_running(world, GateId("acme", "stripe"))
    let_wait(world, GateId("acme", "stripe"), 7, 60)
    counts = look(world).counts
    assert counts["looks"] > 20
    assert counts["gates_waiting"] == 7


def test_a_long_list_counts_to_a_thousand(world: World) -> None:
    world.gates.put("acme", "stripe", GateLimits(paused=True))
    let_wait(world, GateId("acme", "stripe"), 1_010, 5)
    assert look(world).counts["gates_waiting"] == 1_000


def test_runs_of_a_closed_queue_are_counted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world.queues, "visible", lambda *_: 10**9)
    let_wait(world, queue_gate("default-medium"), 3, 5)
    assert look(world).counts["gates_waiting"] == 3


def test_a_place_that_a_dead_attempt_left_is_counted_when_it_is_freed(world: World) -> None:
    world.gates.put("acme", "stripe", GateLimits(in_flight=1))
    gate = GateId("acme", "stripe")
    holder = Holder("t", "g", world.clock.now(), "job_gone")
    assert world.gates.take(gate, 0, holder, room=1, newcomer=False, capacity=None).done
    let_wait(world, gate, 1, 5)
    simulation = look(world)
    assert simulation.counts["places_freed"] == 1
    assert len(simulation.target.calls) == 1


def test_without_waiting_runs_nothing_is_counted(world: World) -> None:
    counts = look(world).counts
    assert {"looks", "gates_waiting", "gate_oldest_seconds", "gate_failed"}.isdisjoint(+counts)


def test_the_age_is_a_metric_in_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    metrics = Metrics("test")
    observe_tick(metrics, Counter(gates_waiting=3, gate_oldest_seconds=7), age_ms=0, lookahead=3)
    metrics.flush()
    assert '{"Name":"gate_oldest_seconds","Unit":"Seconds"}' in capsys.readouterr().out

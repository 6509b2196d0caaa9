"""Everything that clients and passes do to a run, done to one that waits at a gate."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from onthedot.core.choices import Priority
from onthedot.core.gate_names import GateId, gate_of_slot
from onthedot.core.ports import Answer, Deadline
from onthedot.core.records import Record, Status
from onthedot.core.set_aside import UNHANDLED, take_up
from onthedot.core.slots import ASIDE, aside_slot, slot_shard
from onthedot.gates.give_back import give_back
from onthedot.gates.limits import GateLimits
from onthedot.gates.manage import put_gate
from onthedot.gates.state import GateChange
from onthedot.jobs.audit import audit_job
from onthedot.statistics.forecast import forecast
from tests.builders import NOON, World, a_world
from tests.scenarios.kits.simulation import Simulation
from tests.unit.api.gates.kit import hold, stored
from tests.unit.api.kit import SHELL, Api, a_worker

STRIPE = GateId("acme", "stripe")


@pytest.fixture
def world() -> Iterator[World]:
    with a_world() as world:
        world.gates.put("acme", "stripe", GateLimits(paused=True))
        yield world


@pytest.fixture
def api(world: World) -> Api:
    return Api(world)


def a_waiting_job(api: Api, simulation: Simulation, **fields: Any) -> Record:
    """A job that has come to the stopped gate."""
    job_id = api.job(gates=["stripe"], **fields)
    simulation.let_pass(1)
    run = stored(api.world, job_id)
    assert gate_of_slot(run.slot) == STRIPE
    assert run.status is Status.PENDING
    return run


def open_gate(world: World, simulation: Simulation) -> None:
    put_gate(world.engine, "acme", "stripe", GateLimits(in_flight=1))
    simulation.let_pass(180)


def test_a_waiting_run_that_is_paused_leaves_the_list_and_waits_again_when_it_is_resumed(
    api: Api, simulation: Simulation, world: World
) -> None:
    run = a_waiting_job(api, simulation)
    assert api.call("POST", f"/v1/jobs/{run.run_id}/pause").status == 200
    paused = stored(world, run.run_id)
    assert (paused.status, paused.slot, paused.generation == run.generation) == (Status.PAUSED, None, False)
    simulation.let_pass(180)
    assert api.call("POST", f"/v1/jobs/{run.run_id}/resume").status == 200
    simulation.let_pass(1)
    assert gate_of_slot(stored(world, run.run_id).slot) == STRIPE
    open_gate(world, simulation)
    assert len(simulation.target.times_of(run.run_id)) == 1


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("PUT", "/cancel", Status.CANCELLED), ("DELETE", "", Status.DELETED)],
    ids=["cancel", "delete"],
)
def test_a_waiting_run_that_is_stopped_leaves_the_list_and_never_runs(  # noqa: PLR0917
    api: Api, simulation: Simulation, world: World, method: str, path: str, status: Status
) -> None:
    run, other = a_waiting_job(api, simulation), a_waiting_job(api, simulation)
    assert api.call(method, f"/v1/jobs/{run.run_id}{path}").status == 200
    ended = stored(world, run.run_id)
    assert (ended.status, ended.slot, ended.generation == run.generation) == (status, None, False)
    open_gate(world, simulation)
    assert simulation.target.times_of(run.run_id) == []
    assert len(simulation.target.times_of(other.run_id)) == 1


@pytest.mark.parametrize(
    ("slow", "raised"), [(0.05, GateLimits(per_second=5, burst=3)), (0.0001, GateLimits(per_second=50))]
)
def test_a_raised_rate_lets_waiting_and_new_runs_start_within_a_minute(
    api: Api, simulation: Simulation, world: World, slow: float, raised: GateLimits
) -> None:
    put_gate(world.engine, "acme", "stripe", GateLimits(per_second=slow))
    runs = [api.job(gates=["stripe"]) for _ in range(14)]
    simulation.let_pass(5)
    waiting = [run_id for run_id in runs if gate_of_slot(stored(world, run_id).slot) == STRIPE]
    put_gate(world.engine, "acme", "stripe", raised)
    late = api.job(gates=["stripe"])
    simulation.let_pass(60)
    assert len(waiting) >= 4
    assert {stored(world, run_id).status for run_id in (*waiting, late)} == {Status.SUCCEEDED}
    simulation.let_pass(120)
    assert [len(simulation.target.times_of(run_id)) for run_id in (*runs, late)] == [1] * 15


def test_a_change_that_moves_nothing_leaves_a_waiting_run_in_its_place(
    api: Api, simulation: Simulation, world: World
) -> None:
    run = a_waiting_job(api, simulation)
    assert api.send("PATCH", f"/v1/jobs/{run.run_id}", name="other").status == 200
    now = stored(world, run.run_id)
    assert (now.slot, now.generation, now.due_at) == (run.slot, run.generation, run.due_at)


def test_a_waiting_run_with_another_priority_waits_on_the_list_of_that_priority(
    api: Api, simulation: Simulation, world: World
) -> None:
    run = a_waiting_job(api, simulation)
    assert api.send("PATCH", f"/v1/jobs/{run.run_id}", priority="HIGH").status == 200
    simulation.let_pass(1)
    now = stored(world, run.run_id)
    assert gate_of_slot(now.slot) == STRIPE
    assert (now.slot or "").startswith("wait#0#HIGH#")
    assert Priority.HIGH in world.gates.read(STRIPE).priorities
    open_gate(world, simulation)
    assert len(simulation.target.times_of(run.run_id)) == 1


def test_a_waiting_run_that_gets_a_later_time_leaves_the_list(api: Api, simulation: Simulation, world: World) -> None:
    run = a_waiting_job(api, simulation)
    assert api.send("PATCH", f"/v1/jobs/{run.run_id}", delay=3600).status == 200
    now = stored(world, run.run_id)
    assert (now.status, (now.slot or "").split("#")[0]) == (Status.PENDING, "fire")
    open_gate(world, simulation)
    assert simulation.target.times_of(run.run_id) == []


def test_a_waiting_run_that_is_assigned_to_a_worker_asks_its_gate_again(
    api: Api, simulation: Simulation, world: World
) -> None:
    worker = a_worker(api)
    job_id = api.job(gates=["stripe"], target=SHELL)
    assert worker.lease() == []
    assert gate_of_slot(stored(world, job_id).slot) == STRIPE
    assert api.send("POST", f"/v1/jobs/{job_id}/execute", worker_id=worker.worker_id).status == 202
    assert stored(world, job_id).status is Status.DISPATCHED
    assert worker.lease() == [], "no path leads around a gate"
    assert gate_of_slot(stored(world, job_id).slot) == STRIPE
    put_gate(world.engine, "acme", "stripe", GateLimits(in_flight=1))
    assert worker.take()["execution_id"] == job_id


def test_a_redriven_run_waits_at_its_gate(api: Api, world: World) -> None:
    world.gates.put("acme", "stripe", GateLimits(in_flight=1))
    simulation = Simulation(world, [Answer(ok=False, error="boom", retryable=False)])
    job_id = api.job(gates=["stripe"])
    simulation.let_pass(1)
    assert stored(world, job_id).status is Status.FAILED
    put_gate(world.engine, "acme", "stripe", GateLimits(paused=True))
    assert api.send("POST", "/v1/dead-letters/redrive", ids=[job_id]).status in (200, 202)
    simulation.let_pass(2)
    assert gate_of_slot(stored(world, job_id).slot) == STRIPE
    open_gate(world, simulation)
    assert stored(world, job_id).status is Status.SUCCEEDED


def test_a_woken_run_that_is_paused_and_resumed_is_a_newcomer(api: Api, simulation: Simulation, world: World) -> None:
    run = a_waiting_job(api, simulation)
    put_gate(world.engine, "acme", "stripe", GateLimits(in_flight=1))
    woken = stored(world, run.run_id)
    assert (woken.status, woken.woken) == (Status.DISPATCHED, "stripe")
    api.call("POST", f"/v1/jobs/{run.run_id}/pause")
    api.call("POST", f"/v1/jobs/{run.run_id}/resume")
    assert stored(world, run.run_id).woken is None


@pytest.mark.parametrize("path", ["/pause", "/cancel", ""], ids=["pause", "cancel", "delete"])
def test_a_woken_run_that_is_stopped_on_its_way_keeps_its_place_from_no_other(
    api: Api, simulation: Simulation, world: World, path: str
) -> None:
    world.gates.put("acme", "stripe", GateLimits(in_flight=1))
    holder = hold(world, "stripe")
    first, second = a_waiting_job(api, simulation), a_waiting_job(api, simulation)
    give_back(world.engine, "acme", ["0#stripe"], holder)
    assert [stored(world, run.run_id).woken for run in (first, second)] == ["stripe", None]
    method = {"/pause": "POST", "/cancel": "PUT", "": "DELETE"}[path]
    assert api.call(method, f"/v1/jobs/{first.run_id}{path}").status == 200
    simulation.let_pass(2, ticking=False)
    assert simulation.target.times_of(first.run_id) == []
    assert len(simulation.target.times_of(second.run_id)) == 1


def test_a_waiting_run_that_is_set_aside_is_taken_up_and_waits_again(
    api: Api, simulation: Simulation, world: World
) -> None:
    run = a_waiting_job(api, simulation)
    assert run.slot is not None
    assert world.store.set_aside(run.run_id, run.slot, f"{UNHANDLED}a test", world.clock.now())
    assert stored(world, run.run_id).slot == aside_slot(0)
    assert api.get(f"/v1/jobs/{run.run_id}/explain").body["reasons"][0]["code"] == "set_aside"
    world.clock.advance(7200)
    take_up(world.engine, Counter(), 0, Deadline.after(world.clock.now(), 10_000))
    back = stored(world, run.run_id)
    assert (back.status, (back.slot or "").split("#")[0], back.aside_from) == (Status.PENDING, "fire", None)
    simulation.plan_ticks()
    simulation.let_pass(120)
    assert gate_of_slot(stored(world, run.run_id).slot) == STRIPE
    open_gate(world, simulation)
    assert len(simulation.target.times_of(run.run_id)) == 1


def test_a_record_on_a_list_that_cannot_be_read_is_set_aside_and_stops_no_other(
    api: Api, simulation: Simulation, world: World
) -> None:
    bad, good = a_waiting_job(api, simulation), a_waiting_job(api, simulation)
    with world.database.transaction() as connection:
        connection.execute("UPDATE runs SET priority = 'TOP' WHERE run_id = ?", (bad.run_id,))
    simulation.slots_may_fail = True
    open_gate(world, simulation)
    assert len(simulation.target.times_of(good.run_id)) == 1
    with world.database.transaction() as connection:
        (slot,) = connection.execute("SELECT slot FROM runs WHERE run_id = ?", (bad.run_id,)).fetchone()
    assert str(slot).startswith(ASIDE)


@pytest.mark.parametrize("minutes", [1, 15])
def test_a_gate_and_its_waiting_runs_are_no_runs_of_the_forecast(
    api: Api, simulation: Simulation, world: World, minutes: int
) -> None:
    a_waiting_job(api, simulation)
    assert sum(forecast(world.engine, "acme", minutes).minutes.values()) == 0
    api.job(delay=30)
    assert sum(forecast(world.engine, "acme", minutes).minutes.values()) == 1


def lose_flag(world: World) -> None:
    """Behind the scheduler's back."""
    state = world.gates.read(STRIPE)
    gone = GateChange(equals={"slot": state.slot}, sets={"slot": None, "due_at": None, "flagged_at": None})
    assert world.gates.change(STRIPE, gone).done


def lose_tick(world: World) -> None:
    """Put the gate into a slot that no tick reads any more."""
    state = world.gates.read(STRIPE)
    assert world.gates.change(
        STRIPE, GateChange(equals={"slot": state.slot}, sets={"slot": "watch#7#1", "due_at": NOON})
    ).done


def run_audit(world: World, job_id: str) -> tuple[int, int, list[str]]:
    report = audit_job(world.engine, stored(world, job_id), NOON, world.clock.now() - 600_000)
    return len(report.holes), report.accounted, [finding.why for finding in report.late]


@pytest.mark.parametrize("lose", [lose_flag, lose_tick])
def test_the_audit_accepts_runs_that_wait_and_reports_those_at_which_no_tick_looks(
    api: Api, simulation: Simulation, world: World, lose: Callable[[World], None]
) -> None:
    job_id = api.job(gates=["stripe"], every=600, misfire={"policy": "run_all"})
    simulation.let_pass(3600)
    assert run_audit(world, job_id) == (0, 4, [])
    lose(world)
    assert run_audit(world, job_id) == (0, 0, 4 * ["waits at gate stripe, at which no tick looks"])


def test_a_flag_that_no_tick_sees_is_given_a_slot_by_the_next_run_that_waits(
    api: Api, simulation: Simulation, world: World
) -> None:
    a_waiting_job(api, simulation)
    lose_tick(world)
    world.clock.advance(3600)
    a_waiting_job(api, simulation)
    state = world.gates.read(STRIPE)
    assert slot_shard(state.slot or "") < world.deployment.shards
    assert (state.due_at or 0) > world.clock.now()


def test_one_lease_gets_behind_the_runs_that_wait_at_a_stopped_gate(
    api: Api, simulation: Simulation, world: World
) -> None:
    waiting = [api.job(gates=["stripe"], target=SHELL) for _ in range(30)]
    free = api.job(target=SHELL)
    assert a_worker(api).take()["execution_id"] == free
    assert {stored(world, run_id).status for run_id in waiting} <= {Status.PENDING, Status.DISPATCHED}


def test_a_run_that_one_gate_refuses_keeps_no_place_at_another(api: Api, simulation: Simulation, world: World) -> None:
    for name in ("other", "stripe"):
        world.gates.put("acme", name, GateLimits(in_flight=1))
    hold(world, "stripe")
    job_id = api.job(gates=["other", "stripe"])
    simulation.let_pass(1)
    assert gate_of_slot(stored(world, job_id).slot) == STRIPE
    assert world.gates.read(GateId("acme", "other")).holders == frozenset()

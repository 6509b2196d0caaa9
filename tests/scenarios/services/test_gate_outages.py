"""One gate, or one call about gates, that fails for an hour: runs of other gates go on, and no run is lost."""

from collections.abc import Iterator
from typing import Any

import pytest

from onthedot.core.gate_names import GateId, gate_of_slot
from onthedot.core.records import Record, Status
from onthedot.gates.limits import GateLimits
from onthedot.gates.manage import put_gate
from tests.builders import a_world
from tests.scenarios.kits.outages import HOUR, StormySimulation
from tests.unit.api.gates.kit import hold
from tests.unit.api.kit import Api

BAD, GOOD = GateId("acme", "bad"), GateId("acme", "good")


@pytest.fixture
def storm() -> Iterator[StormySimulation]:
    with a_world() as world:
        for name in ("bad", "good"):
            world.gates.put("acme", name, GateLimits(in_flight=1))
        yield StormySimulation(world)


def a_job(storm: StormySimulation, *gates: str) -> str:
    return Api(storm.calm).job(gates=list(gates))


def stored(storm: StormySimulation, run_id: str) -> Record:
    run = storm.calm.store.get(run_id)
    assert run is not None
    return run


def calls(storm: StormySimulation, run_id: str) -> int:
    return len(storm.target.times_of(run_id))


def of_bad(gate: Any, *_: Any) -> bool:
    return bool(gate == BAD)


@pytest.mark.parametrize(
    ("call", "concerns"),
    [
        ("gates.find", lambda _tenant, name: name == "bad"),
        ("gates.take", of_bad),
    ],
)
def test_a_gate_that_cannot_be_asked_stops_its_own_runs_only(storm: StormySimulation, call: str, concerns: Any) -> None:
    storm.outages.fail(call, seconds=HOUR, concerns=concerns)
    bad, good, free = a_job(storm, "bad"), a_job(storm, "good"), a_job(storm)
    storm.let_pass(600)
    assert storm.outages.failed[call] > 0
    assert [calls(storm, run) for run in (bad, good, free)] == [0, 1, 1], "strict: without an answer nothing starts"
    storm.let_pass(HOUR)
    assert calls(storm, bad) == 1


def test_a_list_that_takes_no_runs_is_spread_and_the_message_comes_again(storm: StormySimulation) -> None:
    def onto_bad_list(move: Any) -> bool:
        return gate_of_slot(move.changes.get("slot")) == BAD

    for name in ("bad", "good"):
        hold(storm.calm, name)
    storm.outages.fail("store.move", seconds=300, concerns=onto_bad_list)
    bad, good = a_job(storm, "bad"), a_job(storm, "good")
    storm.let_pass(60)
    assert stored(storm, bad).status is Status.DISPATCHED, "its message waits"
    assert gate_of_slot(stored(storm, good).slot) == GOOD
    assert storm.calm.gates.read(BAD).parts == 8
    storm.let_pass(HOUR)
    assert (calls(storm, bad), calls(storm, good)) == (1, 1)


def test_a_place_that_cannot_be_given_back_is_freed_by_a_look(storm: StormySimulation) -> None:
    storm.outages.fail("gates.give_back", seconds=30, concerns=of_bad)
    first = a_job(storm, "bad")
    storm.let_pass(1)
    assert stored(storm, first).status is Status.SUCCEEDED
    second = a_job(storm, "bad")
    storm.let_pass(20)
    assert calls(storm, second) == 0
    storm.let_pass(240)
    assert calls(storm, second) == 1


def test_a_gate_that_cannot_be_looked_at_stops_no_look_at_another(storm: StormySimulation) -> None:
    holders = {name: hold(storm.calm, name) for name in ("bad", "good")}
    bad, good = a_job(storm, "bad"), a_job(storm, "good")
    storm.let_pass(1)
    for name, holder in holders.items():
        storm.calm.gates.give_back(GateId("acme", name), 0, holder)  # and the worker dies before it wakes a run
    storm.outages.fail("gates.read", "gates.pages", seconds=HOUR, concerns=of_bad)
    storm.let_pass(600)
    assert storm.counts["gate_failed"] > 0
    assert (calls(storm, bad), calls(storm, good)) == (0, 1)
    storm.let_pass(HOUR)
    assert calls(storm, bad) == 1


def test_a_woken_run_that_cannot_be_sent_is_sent_by_the_sweep(storm: StormySimulation) -> None:
    hold(storm.calm, "bad")
    run = a_job(storm, "bad")
    storm.let_pass(1)
    storm.outages.fail("queues.send", seconds=60)
    put_gate(storm.world.engine, "acme", "bad", GateLimits(in_flight=2))
    assert stored(storm, run).status is Status.DISPATCHED
    storm.let_pass(300)
    assert calls(storm, run) == 1


@pytest.mark.parametrize("call", ["gates.put", "gates.read"])
def test_a_change_of_limits_that_cannot_be_stored_says_when_to_try_again(storm: StormySimulation, call: str) -> None:
    storm.outages.fail(call, seconds=HOUR)
    answer = Api(storm.world).send("PUT", "/v1/gates/bad", in_flight=3)
    assert (answer.status, answer.body["error"]["code"]) == (503, "unavailable")


def test_a_change_of_limits_is_done_also_if_no_run_can_be_woken(storm: StormySimulation) -> None:
    hold(storm.calm, "bad")
    run = a_job(storm, "bad")
    storm.let_pass(1)
    storm.outages.fail("store.move", "store.move_many", seconds=60)
    assert Api(storm.world).send("PUT", "/v1/gates/bad", in_flight=2).status == 200
    storm.let_pass(300)
    assert calls(storm, run) == 1

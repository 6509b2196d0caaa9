"""Kill a worker or a look at each effect at a gate, lose each reply, let each call fail: nothing is lost or leaks."""

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest

from onthedot.core import start as start_run
from onthedot.core.claim import Pass
from onthedot.core.ports import Deadline, Tick
from onthedot.core.records import Record, Status
from onthedot.core.start import Done, Redeliver, Started, check_before_start
from onthedot.core.sweep import sweep_slot
from onthedot.gates.limits import GateLimits
from onthedot.jobs.change import cancel_job
from tests.scenarios.gates.one_place import GATE, OnePlace, one_place
from tests.scenarios.kits.faults import Fault, Faults
from tests.scenarios.one_off.test_crash_points import each_point

START = ["take place", "move to RUNNING"]
WAIT = ["take place", "change gate", "move to PENDING", "delete"]
FINISH = ["move to SUCCEEDED", "give place back", "move to DISPATCHED", "send", "delete"]


def test_the_effects_at_a_gate_are_all_known() -> None:
    with one_place() as gate:
        first, second = gate.submit(), gate.submit()
        start, wait, finish = Faults(), Faults(), Faults()
        started = gate.start(first, start)
        assert isinstance(started, Started)
        gate.start(second, wait)
        gate.finish(started, finish)
        assert (start.seen, wait.seen, finish.seen) == (START, WAIT, FINISH)
        gate.let_all_end()
        assert gate.attempts(first, second) == [1, 1]


@each_point(len(START))
def test_a_worker_that_dies_while_it_starts_a_run_keeps_no_place(at: int, fault: Fault) -> None:
    with one_place() as gate:
        first, second = gate.submit(), gate.submit()
        faults = Faults(at, fault)
        started = gate.start(first, faults)
        assert len(faults.seen) > at, "the fault was never reached"
        begun = START[at] == "move to RUNNING" and fault in (Fault.CRASH_AFTER, Fault.LOST_REPLY)
        assert gate.simulation.status(first) is (Status.RUNNING if begun or started else Status.DISPATCHED)
        if isinstance(started, Started):
            gate.finish(started)
        gate.work(second)
        gate.let_all_end()
        lost = fault is Fault.CRASH_AFTER and begun
        assert gate.attempts(first, second) == [2 if lost else 1, 1]


@each_point(len(WAIT))
def test_a_worker_that_dies_while_its_run_goes_on_the_list_loses_nothing(at: int, fault: Fault) -> None:
    with one_place() as gate:
        first, second = gate.submit(), gate.submit()
        started = gate.started(first)
        faults = Faults(at, fault)
        gate.start(second, faults)
        assert len(faults.seen) > at, "the fault was never reached"
        assert gate.held_by() == [first.run_id]
        if gate.simulation.status(second) is Status.PENDING:
            assert gate.state().is_flagged, "no tick looks at the run"
        gate.finish(started)
        gate.let_all_end()
        assert gate.attempts(first, second) == [1, 1]


@each_point(len(FINISH))
def test_a_worker_that_dies_while_it_finishes_lets_the_next_run_in(at: int, fault: Fault) -> None:
    with one_place() as gate:
        first, second = gate.submit(), gate.submit()
        started = gate.started(first)
        gate.waits(second)
        faults = Faults(at, fault)
        gate.finish(started, faults)
        assert len(faults.seen) > at, "the fault was never reached"
        gate.let_all_end()
        lost = at == 0 and fault not in (Fault.CRASH_AFTER, Fault.LOST_REPLY)
        assert gate.attempts(first, second) == [2 if lost else 1, 1]


@each_point(len(FINISH))
def test_the_last_run_of_a_gate_leaves_no_place_behind(at: int, fault: Fault) -> None:
    """A place that was not given back is freed when the next run waits for it, within a lease and two looks."""
    with one_place() as gate:
        first = gate.submit()
        faults = Faults(at, fault)
        gate.finish(gate.started(first), faults)
        gate.simulation.let_pass(3 * 60)
        second = gate.submit()
        gate.work(second)
        gate.simulation.let_pass(3 * 60 + 32)
        assert gate.simulation.status(second) is Status.SUCCEEDED
        gate.let_all_end()


def _dead_before_start(gate: OnePlace) -> Record:
    """A worker took the place and died. Another run waits."""
    first, second = gate.submit(), gate.submit()
    gate.start(first, Faults(START.index("take place"), Fault.CRASH_AFTER))
    gate.waits(second)
    return second


def _dead_while_running(gate: OnePlace) -> Record:
    first, second = gate.submit(), gate.submit()
    gate.started(first)
    gate.waits(second)
    return second


def _dead_before_give_back(gate: OnePlace) -> Record:
    first, second = gate.submit(), gate.submit()
    started = gate.started(first)
    gate.waits(second)
    gate.finish(started, Faults(FINISH.index("give place back"), Fault.CRASH_BEFORE))
    return second


LOOKS: dict[str, tuple[Callable[[OnePlace], Record], list[str]]] = {
    "before its start": (
        _dead_before_start,
        [
            "begin the tick",
            *("move_many", "send"),  # the sweep sends the run again whose worker died
            *("move to DISPATCHED", "send", "give place back"),
            *("move to DISPATCHED", "send"),
            *("change gate", "write progress"),
        ],
    ),
    "before it gave its place back": (
        _dead_before_give_back,
        ["begin the tick", "give place back", "move to DISPATCHED", "send", "change gate", "write progress"],
    ),
}


@pytest.mark.parametrize("dead", LOOKS)
def test_the_effects_of_a_look_are_all_known(dead: str) -> None:
    with one_place() as gate:
        make, effects = LOOKS[dead]
        make(gate)
        faults = Faults()
        gate.look(faults)
        assert faults.seen == effects
        gate.let_all_end()


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault is not Fault.MEANWHILE])
@pytest.mark.parametrize(
    ("dead", "at"), [(dead, at) for dead, (_, effects) in LOOKS.items() for at in range(len(effects))]
)
def test_a_look_that_dies_is_done_again(dead: str, at: int, fault: Fault) -> None:
    with one_place() as gate:
        waiting = LOOKS[dead][0](gate)
        faults = Faults(at, fault)
        gate.look(faults)
        assert len(faults.seen) > at, "the fault was never reached"
        gate.let_all_end(30)
        assert gate.attempts(waiting) == [1]


def test_a_worker_that_dies_while_it_runs_keeps_its_place_for_a_lease_and_two_ticks() -> None:
    with one_place() as gate:
        waiting = _dead_while_running(gate)
        gate.simulation.let_pass(32 + 2 * 60)
        assert gate.simulation.status(waiting) is Status.SUCCEEDED
        gate.let_all_end()


def test_a_sweep_that_takes_an_attempt_back_gives_its_place_back_at_once() -> None:
    with one_place() as gate:
        first, second, clock = gate.submit(), gate.submit(), gate.simulation.clock
        started = gate.started(first)
        gate.keep(started, minutes=1)
        clock.advance(70)
        gate.waits(second)
        clock.advance(53)
        slot = gate.simulation.stored(first).slot or ""
        assert slot != gate.state().slot, "no look helps"
        deadline = Deadline.after(clock.now(), 20_000)
        sweep_slot(Pass(gate.world.engine, Tick(0, (0,), clock.now()), clock.now(), deadline, "tick/1"), slot)
        assert gate.held_by() == []
        assert gate.simulation.status(second) is Status.DISPATCHED
        gate.let_all_end()


def test_a_place_that_becomes_free_just_before_a_run_is_on_the_list_is_seen_at_once() -> None:
    with one_place() as gate:
        first, second = gate.submit(), gate.submit()
        started = gate.started(first)
        gate.start(second, Faults(0, Fault.MEANWHILE, lambda: gate.finish(started), named="move to PENDING"))
        assert gate.simulation.status(second) is Status.DISPATCHED
        gate.let_all_end()


def test_a_run_that_comes_to_the_list_long_after_its_flag_flags_the_gate_again() -> None:
    with one_place() as gate:
        first, second = gate.submit(), gate.submit()
        started = gate.started(first)

        def stopped() -> None:
            gate.keep(started)
            gate.look()
            gate.look()
            assert not gate.state().is_flagged

        gate.start(second, Faults(0, Fault.MEANWHILE, stopped, named="move to PENDING"))
        assert gate.simulation.status(second) is Status.PENDING
        assert gate.state().is_flagged
        gate.finish(started)
        gate.let_all_end()


def test_a_run_that_does_not_use_its_instant_of_a_rate_wakes_the_next_one() -> None:
    """An instant every 100 seconds: the second run has reserved one, and the third is on the list."""
    with one_place() as gate:
        gate.world.gates.put(GATE.tenant, GATE.name, GateLimits(per_second=0.01))
        first, second, third = gate.submit(), gate.submit(), gate.submit()
        gate.work(first)
        assert isinstance(gate.start(second), Done)
        gate.waits(third)
        gate.simulation.clock.sleep_until(gate.simulation.stored(second).due_at)
        gate.receive()

        def cancelled() -> None:
            cancel_job(gate.world.engine, GATE.tenant, second.run_id)

        gate.start(second, Faults(0, Fault.MEANWHILE, cancelled, named="move to RUNNING"))
        assert gate.simulation.status(second) is Status.CANCELLED
        assert gate.simulation.status(third) is Status.DISPATCHED


def test_a_worker_that_was_stopped_before_its_start_does_not_start_after_its_place_was_freed() -> None:
    """Fence, then free: the start of the stopped worker is refused, and its run starts when it is its turn."""
    with one_place() as gate:
        first, second = gate.submit(), gate.submit()
        others: list[Started] = []

        def meanwhile() -> None:
            gate.start(second)
            gate.simulation.clock.advance(33)
            gate.look()
            gate.receive()
            others.extend(one for run in (first, second) if isinstance(one := gate.start(run), Started))

        faults = Faults(START.index("move to RUNNING"), Fault.MEANWHILE, meanwhile)
        received = gate.messages[first.run_id]
        assert isinstance(gate.start(first, faults), Done), received
        assert len(others) == 1
        assert len(gate.held_by()) == 1
        gate.finish(others[0])
        gate.let_all_end()


def test_a_worker_that_was_stopped_longer_than_its_lease_gives_back_its_own_place_only() -> None:
    with one_place() as gate:
        first = gate.submit()
        stopped = gate.started(first)
        gate.simulation.clock.advance(33)
        assert gate.start(first) is not None  # the message comes again, and the attempt is taken back
        gate.receive()
        again = gate.started(first)
        gate.finish(stopped)
        assert gate.held_by() == [first.run_id]
        assert gate.simulation.stored(first).attempt_token == again.run.attempt_token
        gate.finish(again)
        gate.let_all_end()
        assert gate.attempts(first) == [2]


def test_a_worker_that_was_stopped_after_it_read_the_job_asks_the_gates_that_the_job_names_then() -> None:
    with one_place() as gate:
        run = gate.submit()

        def stopped(*given: Any, **named: Any) -> Any:
            checked = check_before_start(*given, **named)
            gate.simulation.clock.advance(60)
            return checked

        with mock.patch.object(start_run, "check_before_start", stopped):
            assert isinstance(gate.start(run), Redeliver)
        assert gate.held_by() == []
        gate.work(run)
        gate.let_all_end()
        assert gate.attempts(run) == [1]


def test_a_duplicate_message_takes_no_second_place() -> None:
    with one_place() as gate:
        first, second = gate.submit(), gate.submit()
        started = gate.started(first)
        gate.start(first)
        gate.start(first)
        assert gate.held_by() == [first.run_id]
        gate.waits(second)
        gate.start(second)  # the message of the run that waits comes again
        assert gate.simulation.status(second) is Status.PENDING
        gate.finish(started)
        gate.let_all_end()
        assert gate.attempts(first, second) == [1, 1]


def test_a_run_that_is_parked_while_a_look_leaves_is_not_forgotten() -> None:
    """The flag of the run is newer than the one that the look has read, so the look must not take it away."""
    with one_place() as gate:
        first, second = gate.submit(), gate.submit()
        started = gate.started(first)
        gate.waits(second)
        gate.finish(started)
        gate.receive()
        started = gate.started(second)
        gate.keep(started)
        leaves = Faults(0, Fault.MEANWHILE, lambda: gate.waits(gate.submit()), named="change gate")
        gate.look()  # the flag is not old enough yet
        gate.look(leaves)
        assert gate.simulation.status(gate.runs[-1]) is Status.PENDING
        assert gate.state().is_flagged
        gate.finish(started)
        gate.let_all_end()


def test_a_look_leaves_a_fresh_flag_to_the_run_that_is_on_its_way_to_the_list() -> None:
    with one_place() as gate:
        first, second = gate.submit(), gate.submit()
        started = gate.started(first)
        gate.keep(started)
        gate.waits(gate.submit())
        cancel_job(gate.world.engine, GATE.tenant, gate.runs.pop().run_id)
        gate.simulation.clock.sleep_until((gate.state().due_at or 0) - 5_001)
        gate.start(second, Faults(0, Fault.MEANWHILE, gate.look, named="move to PENDING"))
        assert gate.simulation.status(second) is Status.PENDING
        assert gate.state().is_flagged
        gate.finish(started)
        gate.let_all_end()

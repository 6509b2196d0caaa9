"""A crash, a lost reply or an outage at each effect of a PUT or DELETE of a gate, while runs wait there."""

from collections.abc import Callable
from contextlib import suppress

import pytest

from onthedot.core.errors import Unavailable
from onthedot.core.slots import BUCKET_MS
from onthedot.engine import Engine
from onthedot.gates.limits import GateLimits
from onthedot.gates.manage import delete_gate, put_gate
from tests.scenarios.gates.one_place import GATE, OnePlace, one_place
from tests.scenarios.kits.faults import Crash, Fault, Faults
from tests.scenarios.kits.simulation import NEVER

WAITING = 3
Change = Callable[[Engine], None]


def put(limits: GateLimits) -> Change:
    return lambda engine: put_gate(engine, GATE.tenant, GATE.name, limits)


CHANGES: dict[str, Change] = {
    "raise": put(GateLimits(in_flight=3)),
    "lower": put(GateLimits(in_flight=1, per_second=2)),
    "pause": put(GateLimits(in_flight=1, paused=True)),
    "delete": lambda engine: delete_gate(engine, GATE.tenant, GATE.name),
}
FAULTS = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.LOST_REPLY, Fault.AWAY)


def change_while_runs_wait(gate: OnePlace, change: Change, faults: Faults) -> None:
    """Change the gate while one run has its place and others wait. The running one ends meanwhile."""
    first, *others = [gate.submit() for _ in range(WAITING + 1)]
    started = gate.started(first)
    for run in others:
        gate.waits(run)
    gate.keep(started, minutes=1)
    with suppress(Crash, Unavailable):
        change(gate.simulation.engine(faults))
    gate.finish(started)


def effects_of(change: Change) -> int:
    with one_place() as gate:
        counted = Faults()
        change_while_runs_wait(gate, change, counted)
        return len(counted.seen)


CASES = [(name, at, fault) for name, change in CHANGES.items() for at in range(effects_of(change)) for fault in FAULTS]


def test_a_change_has_effects_before_and_after_its_write() -> None:
    assert {name for name, at, _ in CASES if at >= 1} == set(CHANGES)


def test_a_tick_looks_soon_when_the_api_dies_just_after_it_raised_a_limit() -> None:
    """While a gate is paused, looks are rare. The flag comes before the write, so the next one is near then."""
    with one_place() as gate:
        CHANGES["pause"](gate.simulation.engine(NEVER))
        gate.waits(gate.submit())
        gate.look()
        assert (gate.state().due_at or 0) > gate.simulation.clock.now() + 30 * BUCKET_MS
        with suppress(Crash):
            CHANGES["raise"](gate.simulation.engine(Faults(0, Fault.CRASH_AFTER, named="put gate")))
        gate.let_all_end()


@pytest.mark.parametrize(("name", "at", "fault"), CASES, ids=[f"{n}, {f} effect {a}" for n, a, f in CASES])
def test_no_run_is_lost_and_no_limit_is_broken_by_a_change_that_fails(name: str, at: int, fault: Fault) -> None:
    with one_place() as gate:
        change_while_runs_wait(gate, CHANGES[name], Faults(at, fault))
        limits = gate.world.gates.find(GATE.tenant, GATE.name)
        if limits is not None and limits.paused:
            gate.simulation.let_pass(5 * 60)
            CHANGES["raise"](gate.simulation.engine(NEVER))
        gate.let_all_end()

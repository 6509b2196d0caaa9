"""Runs that wait at gates and attempts that have places there, as workers leave them."""

from typing import Any

from onthedot.core.choices import Priority
from onthedot.core.gate_names import GateId, waiting_slot
from onthedot.core.ids import fresh_generation
from onthedot.core.ports import Moved
from onthedot.core.records import Record, Status
from onthedot.gates import run_moves
from onthedot.gates.flag import flag_gate
from onthedot.gates.state import Holder
from tests.builders import World, a_run


def stored(world: World, run_id: str) -> Record:
    run = world.store.get(run_id)
    assert run is not None
    return run


def park(world: World, run_id: str, named: str, tenant: str = "acme") -> Record:
    """Put a run that was sent on the waiting list of a gate. Its message stays in the queue, and is void."""
    run, gate = stored(world, run_id), GateId.of(tenant, named)
    flag_gate(world.engine, gate, run.priority, world.clock.now())
    slot = waiting_slot(gate, run.priority, 0)
    now = world.clock.now()
    move = run_moves.wait(run_id, run.generation, slot, now, gate=named, fresh_generation=fresh_generation())
    outcome = world.store.move(move)
    assert isinstance(outcome, Moved)
    assert outcome.run is not None
    return outcome.run


def let_wait(  # noqa: PLR0917 - what differs between the runs of tests
    world: World,
    gate: GateId,
    count: int,
    since_s: int,
    priority: Priority = Priority.MEDIUM,
    part: int = 0,
    **fields: Any,
) -> list[Record]:
    """Flag the gate, and store runs on its list that have waited there since then, one second after the other."""
    flag_gate(world.engine, gate, priority, world.clock.now())
    new = [
        a_run(world.clock).due_in(number - since_s).of_priority(priority).having(**fields) for number in range(count)
    ]
    slot = waiting_slot(gate, priority, part)
    return [run.standing(Status.PENDING, slot).stored_in(world.store) for run in new]


def hold(world: World, named: str, token: str = "t", run_id: str = "job_x", tenant: str = "acme") -> Holder:
    """Give a place of a small gate to an attempt."""
    holder = Holder(token, "g", world.clock.now(), run_id)
    answer = world.engine.gates.take(GateId.of(tenant, named), 0, holder, room=8, newcomer=False, capacity=None)
    assert answer.done
    return holder


def status_and_slot(world: World, run_id: str) -> tuple[str, str]:
    run = stored(world, run_id)
    return str(run.status), (run.slot or "").split("#")[0]

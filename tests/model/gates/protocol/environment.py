"""Steps that no process makes: runs are created or skipped, the index catches up, and time passes."""

from typing import Final

from tests.model.gates.explorer import Kind
from tests.model.gates.protocol.draft import Draft, Made, World
from tests.model.gates.protocol.state import FRESH, NONE, OLD, WATCH, Message, Process, State

PLAIN: Final = Kind.PLAIN


def environment(world: World, state: State) -> Made:
    for number in range(len(state.runs)):
        yield from _of_run(world, state, number)
    for number, gate in enumerate(state.gates):
        if gate.slot == FRESH and world.rules.grace and _may_get_old(world, state, number):
            d = Draft(world, state)
            d.gate(number, slot=OLD)
            yield f"the flag of gate {number} gets old", PLAIN, d


def _of_run(world: World, state: State, number: int) -> Made:
    run = state.runs[number]
    if run.status == "N":
        yield from _created(world, state, number)
    if run.lag:
        d = Draft(world, state)
        d.run(number, lag=0, shown=0)
        yield f"the index catches up with run {number}", PLAIN, d
    if run.status == "D" and run.woken >= 0 and state.left.skips:
        d = Draft(world, state)
        d.left = d.left._replace(skips=d.left.skips - 1)
        d.run(number, status="E", place=NONE)
        yield f"run {number}, which was woken, is cancelled", Kind.FAULT, d
    lives = any(p.token == run.token and p.pc == "run" and not p.late for p in state.processes)
    if run.status == "R" and run.lease and not lives:
        d = Draft(world, state)
        d.run(number, lease=False)
        yield f"the lease of run {number} ends", PLAIN, d


def _created(world: World, state: State, number: int) -> Made:
    d = Draft(world, state)
    d.run(number, status="D", place=WATCH)
    d.messages.append(Message(number, True, NONE))
    yield f"run {number} is created and sent", PLAIN, d
    if state.left.crashes and not world.config.faults_at:
        d = Draft(world, state)
        d.run(number, status="D", place=WATCH)
        d.left = d.left._replace(crashes=d.left.crashes - 1)
        yield f"run {number} is created, its creator CRASHES before the send", Kind.FAULT, d


def _may_get_old(world: World, state: State, gate: int) -> bool:
    unseen = any(run.place == gate and run.lag == 1 for run in state.runs)
    parking = any(p.pc == "park" and p.gate == gate and not p.late for p in state.processes)
    return not unseen and not (parking and world.rules.grace == 2)


def faults(world: World, state: State, me: int, p: Process) -> Made:
    if p.pc == "idle" or (world.config.faults_at and p.pc not in world.config.faults_at):
        return
    if state.left.crashes:
        d = Draft(world, state)
        d.left = d.left._replace(crashes=d.left.crashes - 1)
        _message_back(d, p)
        d.processes[me] = Process()
        yield f"CRASHES (at {p.pc})", Kind.FAULT, d
    if me < world.config.workers and not p.late and state.left.stops:
        d = Draft(world, state)
        d.left = d.left._replace(stops=d.left.stops - 1)
        _message_back(d, p)
        d.process(me, late=True, has_message=False)
        yield f"IS STOPPED beyond its lease (at {p.pc})", Kind.FAULT, d


def _message_back(d: Draft, p: Process) -> None:
    if p.has_message:
        d.messages.append(Message(p.run, p.current, p.woken))

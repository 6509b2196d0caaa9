"""The steps of a worker whose run found no place."""

from typing import Final

from tests.model.gates.explorer import Kind
from tests.model.gates.protocol.draft import Draft, Made, World, with_gate
from tests.model.gates.protocol.state import NONE, Message, Process, State, is_free, list_reads
from tests.model.gates.protocol.worker import take_back

PLAIN: Final = Kind.PLAIN


def give_run_back(world: World, state: State, me: int, p: Process) -> Made:
    """Send a run that was taken over without a message and found no place."""
    d = Draft(world, state)
    d.process(me, pc="send", send=(Message(p.run, p.current, p.woken),), gate=NONE, token=0, order=(), limits=())
    yield f"has no message of run {p.run}, gives it to another worker", PLAIN, d


def flag(world: World, state: State, me: int, p: Process) -> Made:
    d = Draft(world, state)
    label = f"flags gate {p.gate}"
    if world.rules.skips_old and state.gates[p.gate].slot:
        label = f"sees that gate {p.gate} has a flag"
    else:
        d.flag(p.gate)
    d.process(me, pc="park" if world.rules.flag_first else "look again", late=False)
    yield label, PLAIN, d


def park(world: World, state: State, me: int, p: Process) -> Made:
    """Put the run on the list. A refusal shows the record, and the worker acts upon it."""
    d = Draft(world, state)
    run = state.runs[p.run]
    if run.status == "D" and p.current:
        d.new_generation(p.run)
        d.run(p.run, status="P", woken=NONE)
        d.place(p.run, p.gate, late=p.late)
        passes = world.rules.pass_on and p.woken >= 0 and p.woken != p.gate
        d.process(me, pc="look again" if world.rules.flag_first else "flag", token=0, order=())
        d.process(me, wakes=with_gate(p.wakes, p.woken) if passes else p.wakes)
        yield f"PARKS run {p.run} on the list of gate {p.gate}", Kind.PARK, d
    elif run.status == "P" and world.rules.again_flag:
        d.process(me, pc="flag again", token=0, order=(), gate=run.place)
        yield f"cannot park run {p.run}: it waits at gate {run.place}", PLAIN, d
    elif run.status == "R" and p.current and not run.lease:
        take_back(d, me, p.run)
        yield f"cannot park run {p.run}: takes its lost attempt back", PLAIN, d
    else:
        d.process(me, pc="wake", token=0, order=(), gate=NONE)
        yield f"cannot park run {p.run}: it has moved", PLAIN, d


def look_again(world: World, state: State, me: int, p: Process) -> Made:
    """Look whether a place is free after all, and go on if no run is before the own one."""
    d = Draft(world, state)
    if world.rules.late_flag and p.late:
        d.process(me, pc="flag again")
        yield "sees that it was late", PLAIN, d
        return
    if not is_free(state, p.gate, p.limits) or not world.rules.second_look:
        d.process(me, pc="wake", gate=NONE)
        yield f"looks again at gate {p.gate}: no", PLAIN, d
        return
    before = [a.run for a in list_reads(state, p.gate) if 0 <= a.run < p.run]
    if before:
        d.process(me, pc="wake", gate=NONE)
        yield f"looks again at gate {p.gate}: a place is free, another is first", PLAIN, d
    if all(state.runs[number].lag for number in before):
        d = Draft(world, state)
        if state.runs[p.run].place == p.gate:
            d.process(me, pc="send", send=d.wake(p.run, p.gate), gate=NONE)
            yield f"looks again at gate {p.gate}: a place is free, takes run {p.run} off", PLAIN, d
        else:
            d.process(me, pc="wake", gate=NONE)
            yield f"looks again at gate {p.gate}: run {p.run} is gone", PLAIN, d


def flag_again(world: World, state: State, me: int, p: Process) -> Made:
    d = Draft(world, state)
    if state.runs[p.run].place == p.gate:
        d.flag(p.gate)
    d.process(me, pc="look again", late=False)
    yield f"flags gate {p.gate} again", PLAIN, d

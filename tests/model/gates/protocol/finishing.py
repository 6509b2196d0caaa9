"""The steps of a worker whose run has started: it ends, gives its places back, and wakes other runs."""

from typing import Final

from tests.model.gates.explorer import Kind
from tests.model.gates.protocol.draft import Draft, Made, World, with_gate
from tests.model.gates.protocol.state import NONE, WATCH, Message, Process, State, list_reads
from tests.model.gates.protocol.worker import ask

PLAIN: Final = Kind.PLAIN


def run_attempt(world: World, state: State, me: int, p: Process) -> Made:
    """End the attempt, fail it, or extend its lease."""
    run = state.runs[p.run]
    mine = run.status == "R" and run.token == p.token
    following = "release" if p.order else "wake"
    d = Draft(world, state)
    if not mine:
        d.process(me, pc=following)
        yield f"cannot end run {p.run}: it was fenced off", PLAIN, d
        return
    d.run(p.run, status="E", token=0, lease=False, held=())
    d.place(p.run, NONE)
    d.process(me, pc=following)
    yield f"ENDS run {p.run}", PLAIN, d
    if state.left.retries:
        d = Draft(world, state)
        d.left = d.left._replace(retries=d.left.retries - 1)
        d.new_generation(p.run)
        d.run(p.run, status="D", token=0, lease=False, held=(), place=WATCH)
        d.process(me, pc=following if p.order else "send", send=(Message(p.run, True, NONE),))
        yield f"fails run {p.run}: it is tried again", PLAIN, d
    if p.late and not run.lease:
        d = Draft(world, state)
        d.run(p.run, lease=True)
        d.process(me, late=False)
        yield f"extends the lease of run {p.run}", PLAIN, d


def release(world: World, state: State, me: int, p: Process) -> Made:
    """Give back a place after the attempt, or after a refused start."""
    number = p.order[p.taken - 1]
    d = Draft(world, state)
    wakes = with_gate(p.wakes, number) if d.give_back(number, p) else p.wakes
    d.process(me, taken=p.taken - 1, wakes=wakes)
    if p.taken == 1:
        following = "flag again" if p.gate >= 0 else "send" if p.send else "wake"
        d.process(me, pc=following, token=0, order=())
    yield f"gives back its place of gate {number} (run {p.run})", PLAIN, d


def wake(world: World, state: State, me: int, p: Process) -> Made:
    """Wake a run at a gate with a free place, or be done."""
    if not p.wakes:
        yield from _done(world, state, me, p)
        return
    gate, rest = p.wakes[0], p.wakes[1:]
    for answer in list_reads(state, gate):
        d = Draft(world, state)
        if answer.run < 0:
            d.process(me, wakes=rest)
            yield f"reads the list of gate {gate}: {answer.text}, wakes none", PLAIN, d
            continue
        d.process(me, pc="send", send=d.wake(answer.run, gate), wakes=rest)
        yield f"takes run {answer.run} off the list of gate {gate}", PLAIN, d
        if world.config.takes_over and not rest and me < world.config.workers and answer.run not in world.config.dead:
            yield (
                f"takes run {answer.run} off the list of gate {gate} for itself",
                PLAIN,
                _taken_over(world, state, me, answer.run, gate),
            )


def _taken_over(world: World, state: State, me: int, number: int, gate: int) -> Draft:
    d = Draft(world, state)
    d.wake(number, gate)
    d.processes[me] = Process(run=number, current=True, woken=gate, taken_over=True)
    ask(world, state, d, me, number)
    return d


def _done(world: World, state: State, me: int, p: Process) -> Made:
    d = Draft(world, state)
    d.processes[me] = Process()
    yield "is done, deletes its message", PLAIN, d
    copy = Message(p.run, p.current, p.woken)
    if p.late and copy in state.messages:
        d = Draft(world, state)
        d.processes[me] = Process()
        d.messages.remove(copy)
        yield "is done, deletes its message (the visible copy)", PLAIN, d


def send(world: World, state: State, me: int, p: Process) -> Made:
    d = Draft(world, state)
    d.messages.append(p.send[0])
    d.process(me, send=(), pc="wake", taken=0)
    yield f"sends run {p.send[0].run}{' as woken' if p.send[0].woken >= 0 else ''}", PLAIN, d

"""The steps of a tick: the sweep of runs, and the look at a gate. The calls of the API that wake runs use them too."""

from typing import Final

from tests.model.gates.explorer import Kind
from tests.model.gates.protocol import worker
from tests.model.gates.protocol.draft import Draft, Made, World, is_limited
from tests.model.gates.protocol.state import IDLE, NONE, OLD, Holder, Message, Process, State, list_reads

PLAIN: Final = Kind.PLAIN


def sweep(world: World, state: State, me: int, p: Process) -> Made:
    """Begin one piece of a tick's work."""
    for number, run in enumerate(state.runs):
        if run.status == "D" and not _is_on_its_way(world, state, number):
            d = Draft(world, state)
            d.messages.append(Message(number, True, run.woken if world.rules.woken_stored else NONE))
            yield f"sweeps run {number}: sends it again", PLAIN, d
        if run.status == "R" and not run.lease:
            d = Draft(world, state)
            d.process(me, run=number)
            worker.take_back(d, me, number)
            yield f"sweeps run {number}: its attempt is lost", PLAIN, d
    for number, gate in enumerate(state.gates):
        if gate.slot:
            look = begin_look(number, is_old=gate.slot == OLD)
            for label, kind, d in look_at_holders(world, state, me, look):
                if d.processes[me] is not state.processes[me]:
                    yield f"looks at gate {number}: {label}", kind, d


def begin_look(gate: int, *, is_old: bool) -> Process:
    """Return the process of a look. `current` says whether the flag was old when it was read."""
    return Process("holders", current=is_old, gate=gate, same=True)


def _is_on_its_way(world: World, state: State, number: int) -> bool:
    if any(m.run == number and m.current for m in state.messages):
        return True
    if any(p.send and p.send[0].run == number and p.send[0].current for p in state.processes):
        return True
    workers = state.processes[: world.config.workers]
    return any(p.run == number and p.current and p.pc != "idle" and not p.late for p in workers)


def look_at_holders(world: World, state: State, me: int, p: Process) -> Made:
    """Find the next holder that is dead. Fence its run first."""
    for holder in state.gates[p.gate].holders:
        d = Draft(world, state)
        found = _fenced(world, state, d, p, holder)
        if found is not None:
            label, message = found
            d.processes[me] = p._replace(pc="remove", token=holder.token, run=holder.run, send=message)
            yield label, PLAIN, d
            return
    d = Draft(world, state)
    gate = state.gates[p.gate]
    room = min(gate.limit - len(gate.holders), len(state.runs))
    if not world.rules.wakes_all and not is_limited(world, state, p.gate):
        room = 0
    d.processes[me] = _after_wakes(world, me, p._replace(pc="look: wake", taken=max(0, room)))
    yield f"gate {p.gate} has {len(gate.holders)} holders of {gate.limit}", PLAIN, d


def _fenced(world: World, state: State, d: Draft, p: Process, holder: Holder) -> tuple[str, tuple[Message, ...]] | None:
    """Move the run of a dead holder. None: the holder lives."""
    run = state.runs[holder.run]
    owner = next((w for w in state.processes if w.token == holder.token and w.pc != "remove"), None)
    if run.status == "R" and run.token == holder.token:
        if run.lease:
            return None
        return f"takes the lost attempt of run {holder.run} back", d.lose(holder.run) if world.rules.fence else ()
    if run.status != "D" or not holder.current:
        return f"finds a dead holder of run {holder.run}", ()
    if owner is not None and not owner.late:
        return None
    message: tuple[Message, ...] = ()
    if world.rules.fence:
        d.new_generation(holder.run)
        d.run(holder.run, woken=NONE)
        if world.rules.fence_to == "list":
            d.run(holder.run, status="P")
            d.place(holder.run, p.gate)
        else:
            message = (Message(holder.run, True, NONE),)
    return f"fences run {holder.run}", message


def remove(world: World, state: State, me: int, p: Process) -> Made:
    d = Draft(world, state)
    holders = state.gates[p.gate].holders
    d.gate(p.gate, holders=tuple(holder for holder in holders if holder.token != p.token))
    d.process(me, pc="look: send" if p.send else "holders", token=0, run=NONE)
    yield f"removes a holder of run {p.run} from gate {p.gate}", PLAIN, d


def send_fenced(world: World, state: State, me: int, p: Process) -> Made:
    d = Draft(world, state)
    d.messages.append(p.send[0])
    d.process(me, send=(), pc="holders")
    yield f"sends run {p.send[0].run}", PLAIN, d


def _after_wakes(world: World, me: int, p: Process) -> Process:
    """Go on as long as there are places. Then a look may take the gate out of its slot."""
    if p.taken:
        return p
    if me < world.helpers and (p.current or not world.rules.grace):
        return p._replace(pc="read list to leave")
    return IDLE


def look_wake(world: World, state: State, me: int, p: Process) -> Made:
    for answer in list_reads(state, p.gate):
        d = Draft(world, state)
        if answer.run >= 0:
            d.processes[me] = p._replace(pc="look: send woken", send=d.wake(answer.run, p.gate), taken=p.taken - 1)
            yield f"takes run {answer.run} off the list of gate {p.gate}", PLAIN, d
        else:
            d.processes[me] = _after_wakes(world, me, p._replace(taken=0))
            yield f"reads the list of gate {p.gate}: {answer.text}, wakes none", PLAIN, d


def send_woken(world: World, state: State, me: int, p: Process) -> Made:
    d = Draft(world, state)
    d.messages.append(p.send[0])
    d.processes[me] = _after_wakes(world, me, p._replace(send=(), pc="look: wake"))
    yield f"sends run {p.send[0].run} as woken", PLAIN, d


def read_to_leave(world: World, state: State, me: int, p: Process) -> Made:
    """Read the list once more: may the gate leave its slot?"""
    for is_empty in {answer.is_empty for answer in list_reads(state, p.gate)}:
        d = Draft(world, state)
        d.processes[me] = p._replace(pc="leave") if is_empty else IDLE
        yield f"reads the list of gate {p.gate}: {'empty' if is_empty else 'not empty'}", PLAIN, d


def leave(world: World, state: State, me: int, p: Process) -> Made:
    """Take the gate out of its slot, unless it was flagged again."""
    d = Draft(world, state)
    label = f"may not take gate {p.gate} out of its slot: it was flagged again"
    if p.same or not world.rules.leave_compares:
        d.gate(p.gate, slot=0)
        label = f"takes gate {p.gate} out of its slot"
    d.processes[me] = IDLE
    yield label, PLAIN, d

"""The steps of a worker until its run has started, or waits."""

from typing import Final

from tests.model.gates.explorer import Kind
from tests.model.gates.protocol.draft import Draft, Made, World, with_gate
from tests.model.gates.protocol.rules import NO_LIMIT
from tests.model.gates.protocol.state import NONE, WATCH, Holder, Message, Process, State, fresh_token, is_free, list_reads

PLAIN: Final = Kind.PLAIN


def receive(world: World, state: State, me: int, p: Process) -> Made:
    """Receive a message."""
    for message in sorted(set(state.messages)):
        if message.run in world.config.dead:
            continue
        for copy in (False, True) if state.left.duplicates else (False,):
            d = Draft(world, state)
            if copy:
                d.left = d.left._replace(duplicates=d.left.duplicates - 1)
            else:
                d.messages.remove(message)
            action = _opened(world, state, d, me, message)
            if action:
                age = "current" if message.current else "old"
                note = f"{', woken' if message.woken >= 0 else ''}{', DELIVERED TWICE' if copy else ''}"
                yield f"receives run {message.run} ({age}{note}): {action}", Kind.FAULT if copy else PLAIN, d


def _opened(world: World, state: State, d: Draft, me: int, message: Message) -> str:
    """Begin to handle a message. An empty text: the message is given back at once."""
    number, current, woken = message
    run = state.runs[number]
    d.process(me, run=number, current=current, woken=woken, has_message=True)
    if run.status == "E":
        d.process(me, pc="wake", wakes=(woken,) if woken >= 0 and world.rules.pass_on else ())
        return "it has ended"
    if current and run.status == "R" and not run.lease:
        take_back(d, me, number)
        return "takes its lost attempt back"
    if current and run.status == "R":
        return ""
    if (current and run.status == "D") or not world.rules.read_first:
        if world.rules.woken_stored and current:
            d.process(me, woken=run.woken)
        return ask(world, state, d, me, number)
    if run.status == "P" and world.rules.again_flag:
        d.process(me, pc="flag again", gate=run.place)
        return f"it waits at gate {run.place}"
    d.process(me, pc="wake")
    return "drops it"


def ask(world: World, state: State, d: Draft, me: int, number: int) -> str:
    """Begin to ask the gates of a run, with the limits as they are now."""
    limits = tuple(gate.limit for gate in state.gates)
    gates = tuple(gate for gate in state.runs[number].gates if limits[gate] < NO_LIMIT)
    if gates and not world.rules.in_order:
        gates = gates[number % len(gates) :] + gates[: number % len(gates)]
    d.process(me, pc="ask" if gates else "start", token=fresh_token(state), order=gates)
    d.process(me, limits=limits if world.config.puts else ())
    return f"asks gates {gates}"


def take_back(d: Draft, me: int, number: int) -> None:
    """Take back the lost attempt of a run, then give back its places."""
    run = d.runs[number]
    d.process(me, pc="release" if run.held else "send", token=run.token, order=run.held, taken=len(run.held))
    d.process(me, gate=NONE, send=d.lose(number))


def take(world: World, state: State, me: int, p: Process) -> Made:
    """Ask one gate for a place."""
    number = p.order[p.taken]
    if not is_free(state, number, p.limits):
        d = Draft(world, state)
        d.process(me, gate=number, same=False, pc=_refused(world, p))
        yield f"is refused by gate {number}: full", PLAIN, d
    elif not state.gates[number].slot or (p.woken >= 0 and world.rules.woken_passes) or p.same:
        yield f"takes a place of gate {number} for run {p.run}", PLAIN, _taken(world, state, me, p)
    else:
        d = Draft(world, state)
        d.process(me, pc="read list", gate=number)
        yield f"is refused by gate {number}: runs wait there", PLAIN, d
        if state.left.overtakes:
            d = _taken(world, state, me, p)
            d.left = d.left._replace(overtakes=d.left.overtakes - 1)
            yield f"takes a place of gate {number} for run {p.run}, OVERTAKES", Kind.FAULT, d


def _taken(world: World, state: State, me: int, p: Process) -> Draft:
    d = Draft(world, state)
    number = p.order[p.taken]
    holders = (*state.gates[number].holders, Holder(p.token, p.run, p.current))
    d.gate(number, holders=tuple(sorted(holders)))
    is_last = p.taken + 1 == len(p.order)
    d.process(me, taken=p.taken + 1, pc="start" if is_last else "ask", same=False)
    d.process(me, over=p.over or len(holders) > _in_force(state, number))
    if p.limits and p.late and world.rules.checks_age:
        d.process(me, pc="release", order=p.order[: p.taken + 1], gate=NONE, over=False)
    elif p.taken == 0:
        d.process(me, late=False)
    return d


def _in_force(state: State, gate: int) -> int:
    """Return the highest limit by which a place may be taken now: until a PUT returns, this is the limit before it."""
    puts = [other.taken for other in state.processes if other.pc == "return put" and other.gate == gate]
    return max([state.gates[gate].limit, *puts])


def _refused(world: World, p: Process) -> str:
    if p.taken:
        return "give back"
    return _after_give_back(world, p)


def _after_give_back(world: World, p: Process) -> str:
    if not p.has_message and not p.late and world.rules.resends:
        return "return"
    return "flag" if world.rules.flag_first else "park"


def read_list(world: World, state: State, me: int, p: Process) -> Made:
    """Read the list after a refusal by the flag alone: does a run wait?"""
    for is_empty in {answer.is_empty for answer in list_reads(state, p.gate)}:
        d = Draft(world, state)
        if not is_empty:
            d.process(me, pc=_refused(world, p))
        elif world.rules.newcomer_reads == "clear":
            d.process(me, pc="clear")
        else:
            d.process(me, pc="ask", same=True)
        yield f"reads the list of gate {p.gate}: {'empty' if is_empty else 'not empty'}", PLAIN, d


def clear(world: World, state: State, me: int, p: Process) -> Made:
    """Take the flag away: a bug."""
    d = Draft(world, state)
    d.gate(p.gate, slot=0)
    d.process(me, pc="ask")
    yield f"takes the flag of gate {p.gate} away", PLAIN, d


def give_back(world: World, state: State, me: int, p: Process) -> Made:
    """Give back the places that it got before it was refused."""
    number = p.order[p.taken - 1]
    d = Draft(world, state)
    wakes = d.give_back(number, p) and world.rules.give_back_wakes
    after = "give back" if p.taken > 1 else _after_give_back(world, p)
    d.process(me, taken=p.taken - 1, pc=after, wakes=with_gate(p.wakes, number) if wakes else p.wakes, over=False)
    yield f"gives back its place of gate {number}", PLAIN, d


def give_run_back(world: World, state: State, me: int, p: Process) -> Made:
    """Send a run that was taken over without a message and found no place."""
    d = Draft(world, state)
    d.process(me, pc="send", send=(Message(p.run, p.current, p.woken),), gate=NONE, token=0, order=(), limits=())
    yield f"has no message of run {p.run}, gives it to another worker", PLAIN, d


def flag(world: World, state: State, me: int, p: Process) -> Made:
    """Flag the gate."""
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
    """Flag the gate at which the run waits once more."""
    d = Draft(world, state)
    if state.runs[p.run].place == p.gate:
        d.flag(p.gate)
    d.process(me, pc="look again", late=False)
    yield f"flags gate {p.gate} again", PLAIN, d


def start(world: World, state: State, me: int, p: Process) -> Made:
    """Start the attempt. A refusal shows the record, and the worker acts upon it."""
    d = Draft(world, state)
    run = state.runs[p.run]
    if run.status == "D" and p.current:
        d.run(p.run, status="R", token=p.token, lease=True, held=tuple(sorted(p.order)), woken=NONE)
        d.process(me, pc="run", late=False, over=False)
        d.breaks = ("S1",) if p.over or any(_is_full(d, gate) for gate in run.gates) else ()
        yield f"STARTS run {p.run}", PLAIN, d
    else:
        waits = run.status == "P" and world.rules.again_flag
        after = "release" if p.taken else "flag again" if waits else "wake"
        d.process(me, pc=after, gate=run.place if waits else NONE, over=False)
        yield f"cannot start run {p.run}", PLAIN, d


def _is_full(d: Draft, gate: int) -> bool:
    """Return whether more attempts run at a gate than any of its limits allows."""
    live = sum(run.status == "R" and run.lease and gate in run.gates for run in d.runs)
    config = d.world.config
    return live > max([config.limits[gate], *(limit for number, limit in config.puts if number == gate)])


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
            yield f"takes run {answer.run} off the list of gate {gate} for itself", PLAIN, _taken_over(
                world, state, me, answer.run, gate
            )


def _taken_over(world: World, state: State, me: int, number: int, gate: int) -> Draft:
    d = Draft(world, state)
    d.wake(number, gate)
    d.processes[me] = Process(run=number, current=True, woken=gate)
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
    """Send a run."""
    d = Draft(world, state)
    d.messages.append(p.send[0])
    d.process(me, send=(), pc="wake", taken=0)
    yield f"sends run {p.send[0].run}{' as woken' if p.send[0].woken >= 0 else ''}", PLAIN, d

"""The steps of a worker until its run has started, or waits."""

from typing import Final

from tests.model.gates.explorer import Kind
from tests.model.gates.protocol.draft import Draft, Made, World, with_gate
from tests.model.gates.protocol.rules import NO_LIMIT
from tests.model.gates.protocol.state import (
    NONE,
    Holder,
    Message,
    Process,
    State,
    fresh_token,
    is_free,
    list_reads,
)

PLAIN: Final = Kind.PLAIN


def receive(world: World, state: State, me: int, p: Process) -> Made:
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
    if p.taken_over and world.rules.resends:
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

"""The calls of users: PUT and DELETE of a gate, PATCH of a run's gates."""

from tests.model.gates.explorer import Kind
from tests.model.gates.protocol.draft import Draft, Made, World
from tests.model.gates.protocol.rules import NO_LIMIT
from tests.model.gates.protocol.state import IDLE, NONE, WATCH, Message, Process, State


def call(world: World, state: State, me: int, p: Process) -> Made:
    if state.left.puts < len(world.config.puts):
        yield _put(world, state, me)
    if state.left.patches < len(world.config.patches):
        number, gates = world.config.patches[state.left.patches]
        if state.runs[number].status in "DP":
            yield f"PATCH run {number}: gates {gates}", Kind.FAULT, _patch(world, state, me, number, gates)


def _put(world: World, state: State, me: int) -> tuple[str, Kind, Draft]:
    """Write the limits. Stricter ones: return when all workers know them. Others: wake as many as there are places."""
    number, limit = world.config.puts[state.left.puts]
    gate = state.gates[number]
    d = Draft(world, state)
    d.left = d.left._replace(puts=d.left.puts + 1)
    d.gate(number, limit=limit)
    free = min(limit - len(gate.holders), len(state.runs))
    if limit < gate.limit:
        d.process(me, pc="return put", gate=number, taken=gate.limit)
    elif gate.slot and free > 0 and (limit < NO_LIMIT or world.rules.wakes_all):
        d.process(me, pc="look: wake", gate=number, taken=free)
    label = f"DELETE gate {number}" if limit >= NO_LIMIT else f"PUT gate {number}: limit {limit}"
    stops = min(gate.limit for gate in state.gates) > 0
    return label, Kind.FAULT if stops else Kind.PLAIN, d


def return_put(world: World, state: State, me: int, p: Process) -> Made:
    """Return a PUT of stricter limits when no worker in time has older ones."""
    limit = state.gates[p.gate].limit
    asking = ("ask", "read list", "clear")
    if not any(w.pc in asking and not w.late and w.limits and w.limits[p.gate] != limit for w in state.processes):
        d = Draft(world, state)
        d.processes[me] = IDLE
        yield f"the PUT of gate {p.gate} returns", Kind.PLAIN, d


def _patch(world: World, state: State, me: int, number: int, gates: tuple[int, ...]) -> Draft:
    d = Draft(world, state)
    d.left = d.left._replace(patches=d.left.patches + 1)
    if world.rules.patch_generation or state.runs[number].status == "P":
        if world.rules.patch_generation:
            d.new_generation(number)
        d.run(number, status="D", woken=NONE)
        d.place(number, WATCH)
        d.process(me, pc="send", send=(Message(number, True, NONE),))
    d.run(number, gates=gates)
    return d

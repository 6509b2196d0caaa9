"""A state that is being changed by one step."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.model.gates.explorer import Kind
from tests.model.gates.protocol.rules import NO_LIMIT, Config, Rules
from tests.model.gates.protocol.state import (
    FRESH,
    IDLE,
    NONE,
    WATCH,
    Holder,
    Message,
    Process,
    State,
)


class World(NamedTuple):
    """The instance and its rules."""

    config: Config
    rules: Rules

    @property
    def helpers(self) -> int:
        """The number of workers and ticks. The API comes after them."""
        return self.config.workers + self.config.ticks


class Draft:
    """A state that is being changed."""

    def __init__(self, world: World, state: State) -> None:
        self.world, self.before = world, state
        self.gates, self.runs = list(state.gates), list(state.runs)
        self.messages, self.processes, self.left = list(state.messages), list(state.processes), state.left
        self.breaks: tuple[str, ...] = ()

    def process(self, me: int, **changes: Any) -> None:
        self.processes[me] = self.processes[me]._replace(**changes)

    def run(self, number: int, **changes: Any) -> None:
        self.runs[number] = self.runs[number]._replace(**changes)

    def gate(self, number: int, **changes: Any) -> None:
        self.gates[number] = self.gates[number]._replace(**changes)

    def new_generation(self, number: int) -> None:
        """Make all references to the run old."""
        self.messages = [m._replace(current=m.current and m.run != number) for m in self.messages]
        for gate, state in enumerate(self.gates):
            if any(holder.run == number and holder.current for holder in state.holders):
                self.gate(gate, holders=tuple(h._replace(current=h.current and h.run != number) for h in state.holders))
        for me, process in enumerate(self.processes):
            if process.run == number and process.current:
                self.process(me, current=False)
            if process.send and process.send[0].run == number:
                self.process(me, send=(process.send[0]._replace(current=False),))

    def place(self, number: int, place: int, *, late: bool = False) -> None:
        """Move the run in the due index. The index may show the old place for a while."""
        run = self.runs[number]
        shown, lag = run.shown, run.lag
        if run.place >= 0:
            shown |= 1 << run.place
        if run.place >= 0 or place >= 0:
            lag = 2 if late else max(lag, 1)
        if self.world.config.lag < 2:
            shown, lag = 0, lag if self.world.config.lag and place >= 0 else 0
        self.run(number, place=place, shown=shown, lag=lag)

    def flag(self, gate: int) -> None:
        """Flag the gate now. Entries that are on its list already are seen before the flag is old."""
        self.gate(gate, slot=FRESH)
        for number, run in enumerate(self.runs):
            if run.place == gate and run.lag == 2:
                self.run(number, lag=1)
        for me, process in enumerate(self.processes):
            if process.same and process.gate == gate:
                self.process(me, same=False)

    def lose(self, number: int) -> tuple[Message]:
        """Take back the attempt of a run, and return the message to send."""
        self.new_generation(number)
        self.run(number, status="D", token=0, lease=False, held=(), woken=NONE)
        self.place(number, WATCH)
        return (Message(number, True, NONE),)

    def wake(self, number: int, gate: int) -> tuple[Message]:
        """Take a run off the list, and return the message to send."""
        self.run(number, status="D", woken=gate)
        self.place(number, WATCH)
        return (Message(number, True, gate),)

    def give_back(self, gate: int, process: Process) -> bool:
        """Remove the own holder, and return whether a run could be woken."""
        state = self.gates[gate]
        by_token = self.world.rules.own_token
        left = tuple(h for h in state.holders if (h.token != process.token if by_token else h.run != process.run))
        self.gate(gate, holders=left)
        limit = process.limits[gate] if process.limits else state.limit
        return state.slot > 0 and len(left) < limit

    def freeze(self) -> State:
        """Return the state. Effects that no process can see are left out, and interchangeable things get one order."""
        self._forget()
        workers = self.world.config.workers
        processes = sorted(self.processes[:workers]) + self.processes[workers:]
        names = {0: 0}
        for number, process in enumerate(processes):
            if process.token:
                processes[number] = process._replace(token=names.setdefault(process.token, len(names)))
        runs = [r._replace(token=names.setdefault(r.token, len(names))) if r.token else r for r in self.runs]
        gates = tuple(g._replace(holders=_renamed(g.holders, names)) if g.holders else g for g in self.gates)
        return State(gates, tuple(runs), tuple(sorted(self.messages)), tuple(processes), self.left)

    def _forget(self) -> None:
        """Drop messages and references on which no process acts any more."""
        if not (self.left.crashes or self.left.stops):
            self.processes = [IDLE if p.pc == "wake" and not p.wakes and not p.late else p for p in self.processes]
        kept = [m for m in self.messages if not self._is_useless(m)]
        old = {m.run: Message(m.run, False, NONE) for m in kept if not m.current}
        self.messages = [m for m in kept if m.current] + list(old.values())
        for me, p in enumerate(self.processes):
            done = p.run >= 0 and p.pc in ("wake", "send") and p.gate < 0
            if done and self._is_useless(Message(p.run, p.current, p.woken)):
                self.process(me, run=NONE, current=False, woken=NONE, has_message=False)

    def _is_useless(self, message: Message) -> bool:
        if self.runs[message.run].status == "E":
            return message.woken < 0 or not message.current
        return not message.current and self.world.rules.read_first and not self.world.rules.again_flag


def _renamed(holders: tuple[Holder, ...], names: dict[int, int]) -> tuple[Holder, ...]:
    known = sorted(holders, key=lambda h: (names.get(h.token, 99), h.run, h.current, h.token))
    return tuple(sorted(h._replace(token=names.setdefault(h.token, len(names))) for h in known))


Made = Iterator[tuple[str, Kind, Draft]]
"""Labels, kinds and drafts of steps."""


def with_gate(wakes: tuple[int, ...], gate: int) -> tuple[int, ...]:
    """Return the gates at which to wake, with one more."""
    return tuple(sorted({*wakes, gate}))


def is_limited(world: World, state: State, gate: int) -> bool:
    """Return whether a gate limits anything now."""
    return state.gates[gate].limit < NO_LIMIT

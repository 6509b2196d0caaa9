"""The model of the protocol, for the explorer."""

from collections.abc import Callable, Iterator
from typing import Final

from tests.model.gates.explorer import Step
from tests.model.gates.protocol import finishing, tick, users, waiting, worker
from tests.model.gates.protocol.draft import Draft, Made, World
from tests.model.gates.protocol.environment import environment, faults
from tests.model.gates.protocol.rules import Config, Rules
from tests.model.gates.protocol.state import IDLE, Gate, Left, Process, Run, State

STEPS: Final[dict[str, Callable[[World, State, int, Process], Made]]] = {
    "ask": worker.take,
    "read list": worker.read_list,
    "clear": worker.clear,
    "give back": worker.give_back,
    "return": waiting.give_run_back,
    "flag": waiting.flag,
    "park": waiting.park,
    "look again": waiting.look_again,
    "flag again": waiting.flag_again,
    "start": worker.start,
    "run": finishing.run_attempt,
    "release": finishing.release,
    "wake": finishing.wake,
    "send": finishing.send,
    "holders": tick.look_at_holders,
    "remove": tick.remove,
    "look: send": tick.send_fenced,
    "look: wake": tick.look_wake,
    "look: send woken": tick.send_woken,
    "read list to leave": tick.read_to_leave,
    "leave": tick.leave,
    "return put": users.return_put,
}


class Protocol:
    def __init__(self, config: Config, rules: Rules) -> None:
        self.world = World(config, rules)
        self.config, self.rules = config, rules

    def initial(self) -> State:
        c = self.config
        gates, runs = tuple(map(Gate, c.limits)), tuple(map(Run, c.runs))
        processes = (IDLE,) * (self.world.helpers + bool(c.puts or c.patches))
        left = Left(c.crashes, c.duplicates, c.stops, c.overtakes, c.skips, c.retries)
        return State(gates, runs, (), processes, left)

    def steps(self, state: State) -> Iterator[Step[State]]:
        for me, process in enumerate(state.processes):
            name, idle = self._who(me)
            step = idle if process.pc == "idle" else STEPS[process.pc]
            yield from _steps(name, step(self.world, state, me, process))
            yield from _steps(name, faults(self.world, state, me, process))
        yield from _steps("", environment(self.world, state))

    def _who(self, me: int) -> tuple[str, Callable[[World, State, int, Process], Made]]:
        if me < self.config.workers:
            return f"W{me} ", worker.receive
        return ("T ", tick.sweep) if me < self.world.helpers else ("API ", users.call)

    def is_end(self, state: State) -> bool:
        return all(run.status == "E" for number, run in enumerate(state.runs) if number not in self.config.dead)

    def broken(self, state: State) -> Iterator[str]:
        for number, gate in enumerate(state.gates):
            tokens = {holder.token for holder in gate.holders}
            if any(r.status == "R" and r.lease and number in r.held and r.token not in tokens for r in state.runs):
                yield "I1"
            if not gate.slot and any(r.place == number and not self._flags(state, n) for n, r in enumerate(state.runs)):
                yield "S4"
        if self._is_at_rest(state):
            yield from self._at_rest(state)

    def _flags(self, state: State, number: int) -> bool:
        """Return whether a worker has still to flag the gate at which a run waits."""
        if any(p.run == number and self._flags_again(p) for p in state.processes):
            return True
        if not self.rules.again_flag:
            return False
        messages = any(m.run == number for m in state.messages)
        return messages or any(p.run == number and p.has_message for p in state.processes)

    def _flags_again(self, p: Process) -> bool:
        is_late = p.late and self.rules.late_flag and p.pc in ("look again", "flag")
        return p.pc == "flag again" or is_late

    def _is_at_rest(self, state: State) -> bool:
        if any(m.current and m.run not in self.config.dead for m in state.messages):
            return False
        return all(p.pc in ("idle", "run") for p in state.processes) and not any(r.lag for r in state.runs)

    def _at_rest(self, state: State) -> Iterator[str]:
        left, c = state.left, self.config
        faults_left = (left.crashes, left.duplicates, left.stops) == (c.crashes, c.duplicates, c.stops)
        is_calm = faults_left and not c.lag and not c.puts
        for number, gate in enumerate(state.gates):
            waiting = sum(run.place == number for run in state.runs)
            if waiting and is_calm and len(gate.holders) < gate.limit:
                yield "S4f"
            if waiting and gate.slot and self._look_fails(state, number, waiting):
                yield "S4b"

    def _look_fails(self, state: State, gate: int, waiting: int) -> bool:
        """Return whether a look that nothing disturbs leaves a free place and wakes no run."""
        me = self.config.workers
        d = Draft(self.world, state)
        d.processes[me] = tick.begin_look(gate, is_old=False)
        now = d.freeze()
        while now.processes[me].pc != "idle":
            now = next(STEPS[now.processes[me].pc](self.world, now, me, now.processes[me]))[2].freeze()
        is_free = len(now.gates[gate].holders) < now.gates[gate].limit
        return is_free and sum(run.place == gate for run in now.runs) == waiting


def _steps(name: str, made: Made) -> Iterator[Step[State]]:
    for label, kind, draft in made:
        yield Step(f"{name}{label}", draft.freeze(), kind, draft.breaks)

"""The keys of a gate: a flagged key stands in the slot of the gate's keys, and only a look at the gate visits it.

A worker that finds no place at a key flags the gate first, then the key, then it puts the run on the key's list. A
look at the gate visits the keys that it sees in their slot. It takes a key out when its flag is old and its list is
empty, and the gate itself when its flag is old and the slot of its keys is empty.

Each key has one place. A worker asks and starts in one step: another model shows how. The due index may show a key or a
run late. Time is as in the other models: a flag gets old only when each worker in time has done its next step and the
index shows it. A worker that is stopped does not keep time from passing. A worker leaves a flag that is younger than
five seconds as it is: in such time this is the same as a new flag, so the model has no step for it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from tests.model.gates.explorer import Kind, Step

FRESH: Final = 1
OLD: Final = 2
SEEN: Final = 0
UNSEEN: Final = 1
UNSEEN_LATE: Final = 2
"""The index does not show it yet, and the worker that wrote it was late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRules:
    """The rules of the protocol. A test switches each of them off."""

    flags_gate: bool = True
    """Whether the gate is flagged before the key."""
    own_age: bool = True
    """Whether the gate is flagged by the age of its own flag. Off: a fresh flag of the key is enough."""
    skips_old: bool = False
    """Whether a flag of any age is left as it is."""
    keys_empty: bool = True
    """Whether the gate leaves its slot only when no key is seen in the slot of its keys."""
    compares: bool = True
    """Whether a flag is taken away only if its time has not changed."""
    grace: bool = True
    """Whether the flag of the gate must be old before it is taken away."""
    late_flag: bool = True
    """Whether a worker that was late flags again."""
    again_flag: bool = True
    """Whether a message whose run stands on a list makes a worker flag again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyConfig:
    runs: tuple[int, ...] = (0, 0)
    workers: int = 2
    crashes: int = 0
    stops: int = 0


class Run(NamedTuple):
    """A run: new, sent, asking, listed, running or ended."""

    status: str = "new"
    is_woken: bool = False
    lag: int = SEEN
    has_old_message: bool = False


class Key(NamedTuple):
    slot: int = 0
    lag: int = SEEN
    is_taken: bool = False


class Process(NamedTuple):
    pc: str = "idle"
    run: int = -1
    key: int = -1
    is_late: bool = False
    is_same: bool = True
    """Whether the flag has still the time that was read."""


class KeyState(NamedTuple):
    gate: Key
    keys: tuple[Key, ...]
    runs: tuple[Run, ...]
    workers: tuple[Process, ...]
    tick: Process
    crashes: int
    stops: int


IDLE: Final = Process()
Moves = Iterator[tuple[str, KeyState, Process]]


class Keys:
    def __init__(self, config: KeyConfig, rules: KeyRules) -> None:
        self.config, self.rules = config, rules

    def initial(self) -> KeyState:
        keys, workers = (Key(),) * (max(self.config.runs) + 1), (IDLE,) * self.config.workers
        runs = (Run(),) * len(self.config.runs)
        return KeyState(Key(), keys, runs, workers, IDLE, self.config.crashes, self.config.stops)

    def is_end(self, state: KeyState) -> bool:
        return all(run.status == "ended" for run in state.runs)

    def broken(self, state: KeyState) -> Iterator[str]:
        for number, run in enumerate(state.runs):
            key = state.keys[self.config.runs[number]]
            if run.status == "listed" and not (key.slot and state.gate.slot) and not self._is_cared_for(state, number):
                yield "S4"

    def _is_cared_for(self, state: KeyState, number: int) -> bool:
        """Return whether a worker has still to flag again for a run."""
        if state.runs[number].has_old_message and self.rules.again_flag:
            return True
        return any(
            worker.run == number and ((worker.is_late and self.rules.late_flag) or worker.pc in ("gate2", "key2"))
            for worker in state.workers
        )

    def steps(self, state: KeyState) -> Iterator[Step[KeyState]]:
        for me, worker in enumerate(state.workers):
            if worker in state.workers[:me]:
                continue
            for label, after, now in getattr(self, f"_{worker.pc}")(state, worker):
                kind = Kind.PARK if label.startswith("PARKS") else Kind.PLAIN
                yield Step(f"W{me} {label}", _with(after, me, now), kind)
            yield from self._faults(state, me, worker)
        yield from self._tick(state)
        yield from self._time(state)

    def _faults(self, state: KeyState, me: int, worker: Process) -> Iterator[Step[KeyState]]:
        if worker.pc in ("idle", "run"):
            return
        if state.crashes:
            after = _message_back(state._replace(crashes=state.crashes - 1), worker)
            yield Step(f"W{me} CRASHES (at {worker.pc})", _with(after, me, IDLE), Kind.FAULT)
        if state.stops and not worker.is_late:
            after = state._replace(stops=state.stops - 1)
            stopped = worker._replace(is_late=True)
            yield Step(f"W{me} IS STOPPED (at {worker.pc})", _with(after, me, stopped), Kind.FAULT)

    def _time(self, state: KeyState) -> Iterator[Step[KeyState]]:
        in_time = [worker for worker in state.workers if not worker.is_late]
        for number, run in enumerate(state.runs):
            if run.status == "new":
                yield Step(f"run {number} is sent", _run(state, number, status="sent"))
            if run.lag:
                yield Step(f"the index shows run {number}", _run(state, number, lag=SEEN))
        for number, key in enumerate(state.keys):
            if key.lag:
                yield Step(f"the index shows key {number}", _key(state, number, lag=SEEN))
            parking = any(w.pc == "park" and w.key == number for w in in_time)
            unseen = any(r.lag == UNSEEN and self.config.runs[n] == number for n, r in enumerate(state.runs))
            if key.slot == FRESH and not parking and not unseen:
                yield Step(f"the flag of key {number} gets old", _key(state, number, slot=OLD))
        busy = any(w.pc in ("key", "key2", "park") for w in in_time)
        if state.gate.slot == FRESH and not busy and not any(key.lag == UNSEEN for key in state.keys):
            yield Step("the flag of the gate gets old", state._replace(gate=Key(OLD)))

    def _idle(self, state: KeyState, worker: Process) -> Moves:
        for number, run in enumerate(state.runs):
            key = self.config.runs[number]
            mine = Process(run=number, key=key)
            if run.has_old_message:
                taken = _run(state, number, has_old_message=False)
                if run.status == "listed" and self.rules.again_flag:
                    yield f"receives the old message of run {number}: it waits", taken, mine._replace(pc="gate2")
                else:
                    yield f"drops the old message of run {number}", taken, IDLE
            if run.status == "sent":
                yield self._asked(state, mine)

    def _asked(self, state: KeyState, mine: Process) -> tuple[str, KeyState, Process]:
        key, run = state.keys[mine.key], state.runs[mine.run]
        if not key.is_taken and (run.is_woken or not key.slot):
            started = _run(_key(state, mine.key, is_taken=True), mine.run, status="running", is_woken=False)
            return f"STARTS run {mine.run}", started, mine._replace(pc="run")
        asking = _run(state, mine.run, status="asking", is_woken=False)
        return (
            f"finds no place for run {mine.run}",
            asking,
            mine._replace(pc="gate" if self.rules.flags_gate else "key"),
        )

    def _run(self, state: KeyState, worker: Process) -> Moves:
        yield f"ends run {worker.run}", _run(_key(state, worker.key, is_taken=False), worker.run, status="ended"), IDLE

    def _gate(self, state: KeyState, worker: Process) -> Moves:
        after = worker._replace(pc="key")
        if state.gate.slot and self.rules.skips_old:
            yield "sees that the gate has a flag", state, after
        elif not self.rules.own_age and state.keys[worker.key].slot == FRESH:
            yield "sees that the key has a fresh flag", state, after
        else:
            yield "flags the gate", _flag_gate(state), after._replace(is_late=False)

    def _key(self, state: KeyState, worker: Process) -> Moves:
        after = worker._replace(pc="park")
        if state.keys[worker.key].slot and self.rules.skips_old:
            yield f"sees that key {worker.key} has a flag", state, after
        else:
            yield f"flags key {worker.key}", self._flag_key(state, worker), after

    def _flag_key(self, state: KeyState, worker: Process) -> KeyState:
        number = worker.key
        key = state.keys[number]
        lag = UNSEEN_LATE if worker.is_late else UNSEEN
        if key.slot:
            lag = min(lag, key.lag) if key.lag else SEEN
        runs = tuple(
            run._replace(lag=min(run.lag, UNSEEN)) if self.config.runs[n] == number else run
            for n, run in enumerate(state.runs)
        )
        tick = state.tick._replace(is_same=False) if state.tick.key == number else state.tick
        return _key(state._replace(runs=runs, tick=tick), number, slot=FRESH, lag=lag)

    def _park(self, state: KeyState, worker: Process) -> Moves:
        lag = UNSEEN_LATE if worker.is_late else UNSEEN
        after = _run(state, worker.run, status="listed", lag=lag)
        yield f"PARKS run {worker.run} on the list of key {worker.key}", after, worker._replace(pc="again")

    def _again(self, state: KeyState, worker: Process) -> Moves:
        """Look again: was it late, and is a place free?"""
        if worker.is_late and self.rules.late_flag:
            yield "sees that it was late", state, worker._replace(pc="gate2")
            return
        is_first = not any(
            run.status == "listed" and self.config.runs[number] == worker.key
            for number, run in enumerate(state.runs[: worker.run])
        )
        mine = state.runs[worker.run].status == "listed"
        if mine and is_first and not state.keys[worker.key].is_taken:
            taken = _run(state, worker.run, status="sent", is_woken=True, lag=SEEN)
            yield f"finds a place, takes run {worker.run} off the list", taken, IDLE
        else:
            yield "finds no place, deletes its message", state, IDLE

    def _gate2(self, state: KeyState, worker: Process) -> Moves:
        yield "flags the gate again", _flag_gate(state), worker._replace(pc="key2", is_late=False)

    def _key2(self, state: KeyState, worker: Process) -> Moves:
        after = self._flag_key(state, worker) if state.runs[worker.run].status == "listed" else state
        yield f"flags key {worker.key} again", after, worker._replace(pc="again")

    def _tick(self, state: KeyState) -> Iterator[Step[KeyState]]:
        look = state.tick
        if look.pc == "idle" and state.gate.slot:
            for number, key in enumerate(state.keys):
                if key.slot and key.lag == SEEN:
                    yield from self._look(state, number)
            if state.gate.slot == OLD or not self.rules.grace:
                yield Step("T looks at the gate", state._replace(tick=Process("keys")))
        elif look.pc != "idle":
            yield self._looked(state, look)
            if state.crashes:
                yield Step("T CRASHES", state._replace(tick=IDLE, crashes=state.crashes - 1), Kind.FAULT)

    def _looked(self, state: KeyState, look: Process) -> Step[KeyState]:
        if look.pc == "list":
            after = IDLE if self._seen(state, look.key) else look._replace(pc="clear")
            return Step(f"T reads the list of key {look.key}", state._replace(tick=after))
        if look.pc == "clear":
            return self._cleared(state, f"key {look.key}", _key(state, look.key, slot=0, lag=SEEN))
        if look.pc == "leave":
            return self._cleared(state, "the gate", state._replace(gate=Key()))
        is_empty = not any(key.slot and key.lag == SEEN for key in state.keys) or not self.rules.keys_empty
        after = look._replace(pc="leave") if is_empty else IDLE
        return Step("T reads the slot of the keys", state._replace(tick=after))

    def _cleared(self, state: KeyState, name: str, cleared: KeyState) -> Step[KeyState]:
        if state.tick.is_same or not self.rules.compares:
            return Step(f"T takes {name} out of its slot", cleared._replace(tick=IDLE))
        return Step(f"T sees that {name} was flagged again", state._replace(tick=IDLE))

    def _seen(self, state: KeyState, key: int) -> list[int]:
        return [
            number
            for number, run in enumerate(state.runs)
            if run.status == "listed" and run.lag == SEEN and self.config.runs[number] == key
        ]

    def _look(self, state: KeyState, number: int) -> Iterator[Step[KeyState]]:
        waiting = self._seen(state, number)
        if waiting and not state.keys[number].is_taken:
            woken = _run(state, waiting[0], status="sent", is_woken=True)
            yield Step(f"T looks at key {number}: wakes run {waiting[0]}", woken)
        elif state.keys[number].slot == OLD:
            yield Step(f"T looks at key {number}", state._replace(tick=Process("list", key=number)))


def _run(state: KeyState, number: int, **changes: Any) -> KeyState:
    run = state.runs[number]._replace(**changes)
    return state._replace(runs=(*state.runs[:number], run, *state.runs[number + 1 :]))


def _key(state: KeyState, number: int, **changes: Any) -> KeyState:
    key = state.keys[number]._replace(**changes)
    return state._replace(keys=(*state.keys[:number], key, *state.keys[number + 1 :]))


def _with(state: KeyState, me: int, worker: Process) -> KeyState:
    return state._replace(workers=tuple(sorted((*state.workers[:me], worker, *state.workers[me + 1 :]))))


def _flag_gate(state: KeyState) -> KeyState:
    """Flag the gate. A key that a late worker wrote before is seen before this flag is old."""
    keys = tuple(key._replace(lag=min(key.lag, UNSEEN)) for key in state.keys)
    tick = state.tick._replace(is_same=False) if state.tick.key < 0 else state.tick
    return state._replace(gate=Key(FRESH), keys=keys, tick=tick if tick.pc != "idle" else IDLE)


def _message_back(state: KeyState, worker: Process) -> KeyState:
    """Return the state in which the message of a worker that crashed is visible again."""
    if state.runs[worker.run].status == "asking":
        return _run(state, worker.run, status="sent")
    if state.runs[worker.run].status == "listed":
        return _run(state, worker.run, has_old_message=True)
    return state

"""The rate of a gate: strict at the start, and an instant for each run that comes too soon.

The gate has two cursors. `next_start` is the GCRA of the starts: a worker moves it by compare-and-set just before the
start, and that instant is the time of the start in the record. `next_instant` is the next instant that no run has
reserved. It is advice: a run that comes too soon is sent again for its instant, and may come too soon again.

Time goes in ticks. Cursors and instants are kept as ticks from now, so that the model has no absolute time. The gate
has places too. One step takes a place, and one step repairs the place and the run of a worker that crashed: the model
of the protocol shows how.

Properties: R: no window has more starts than the burst and the rate allow. H: a run with a reserved instant holds no
place. O: a newcomer does not take the start of a run with a reserved instant. S1, S2 and S5 as in the protocol.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from tests.model.gates.explorer import Kind, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class RateRules:
    """The rules of the protocol. A test switches each of them off."""

    compares: bool = True
    """Whether `next_start` moves only if it has not changed since it was read."""
    records_instant: bool = True
    """Whether the start has the time for which `next_start` was moved, not the time of the write after it."""
    gives_back: bool = True
    """Whether a run that comes too soon gives its place back before it reserves an instant."""
    respects_instants: bool = True
    """Whether a newcomer reserves an instant too while runs with earlier instants are on their way."""
    sweeps: bool = True
    """Whether a tick sends a run that has an instant and was not sent."""
    wakes_for_places: bool = True
    """Whether a look takes a run off the list only when a place is free."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateConfig:
    runs: int = 2
    places: int = 2
    burst: int = 1
    interval: int = 2
    """Ticks between two starts."""
    horizon: int = 4
    """Ticks ahead for which an instant may be reserved. A run that would get a later one goes on the waiting list."""
    workers: int = 2
    crashes: int = 0


class Run(NamedTuple):
    """A run: new, sent, asking, listed, reserved, running or ended."""

    status: str = "new"
    instant: int = 0
    is_sent: bool = False
    is_woken: bool = False


class Asker(NamedTuple):
    """A worker, or the tick that looks at the gate."""

    pc: str = "idle"
    run: int = -1
    has_place: bool = False
    read: int = 0
    """The cursor as it was read."""
    at: int = 0
    """The instant that was reserved."""


class RateState(NamedTuple):
    next_start: int
    next_instant: int
    is_flagged: bool
    orphans: int
    """Places of workers that crashed."""
    runs: tuple[Run, ...]
    workers: tuple[Asker, ...]
    tick: Asker
    starts: tuple[int, ...]
    """The ages of the starts, as the records will have them."""
    crashes: int


IDLE: Final = Asker()
Moves = Iterator[tuple[str, "RateState", Asker]]


class Rates:
    def __init__(self, config: RateConfig, rules: RateRules) -> None:
        self.config, self.rules = config, rules
        self.slack = (config.burst - 1) * config.interval

    def initial(self) -> RateState:
        runs, workers = (Run(),) * self.config.runs, (IDLE,) * self.config.workers
        return RateState(0, 0, False, 0, runs, workers, IDLE, (), self.config.crashes)

    def is_end(self, state: RateState) -> bool:
        return all(run.status == "ended" for run in state.runs) and not state.orphans

    def broken(self, state: RateState) -> Iterator[str]:
        starts = sorted(state.starts, reverse=True)
        for first, older in enumerate(starts):
            for last in range(first, len(starts)):
                if last - first + 1 > self.config.burst + (older - starts[last]) // self.config.interval:
                    yield "R"
        if any(w.has_place and state.runs[w.run].status == "reserved" for w in state.workers):
            yield "H"

        if self._held(state) > self.config.places:
            yield "S1"

    def _held(self, state: RateState) -> int:
        return state.orphans + sum(worker.has_place for worker in state.workers)

    def steps(self, state: RateState) -> Iterator[Step[RateState]]:
        for me, worker in enumerate(state.workers):
            if worker in state.workers[:me]:
                continue
            for label, after, now in getattr(self, f"_{worker.pc}")(state, worker):
                breaks = ("O",) if now.pc == "place" and self._overtakes(state, worker) else ()
                yield Step(f"W{me} {label}", _with(after, me, now), _kind(label), breaks)
            if worker.pc != "idle" and state.crashes:
                yield Step(f"W{me} CRASHES (at {worker.pc})", _with(_crashed(state, worker), me, IDLE), Kind.FAULT)
        yield from self._tick(state)
        yield from self._environment(state)

    def _overtakes(self, state: RateState, worker: Asker) -> bool:
        """Return whether a worker may start a newcomer while runs with reserved instants are on their way."""
        is_ahead = state.next_instant > 0 and any(run.status == "reserved" for run in state.runs)
        return is_ahead and not state.runs[worker.run].is_woken

    def _environment(self, state: RateState) -> Iterator[Step[RateState]]:
        yield Step("time passes", _later(state, self.config))
        for number, run in enumerate(state.runs):
            if run.status == "new":
                yield Step(f"run {number} is sent", _run(state, number, status="sent"))
            if run.status == "reserved" and run.is_sent and run.instant == 0:
                yield Step(f"the instant of run {number} comes", _run(state, number, status="sent", is_sent=False))
            if run.status == "reserved" and not run.is_sent and self.rules.sweeps and not self._sends(state, number):
                yield Step(f"the sweep sends run {number}", _run(state, number, is_sent=True))
            if run.status == "running" and not any(w.run == number and w.pc == "run" for w in state.workers):
                free = state._replace(orphans=state.orphans - 1)
                yield Step(f"the attempt of run {number} is lost", _run(free, number, status="sent"))
        orphans = state.orphans - sum(
            run.status == "running" and not any(w.run == number and w.pc == "run" for w in state.workers)
            for number, run in enumerate(state.runs)
        )
        if orphans > 0:
            yield Step("a look frees a dead place", state._replace(orphans=state.orphans - 1))

    def _sends(self, state: RateState, number: int) -> bool:
        return any(p.pc == "send" and p.run == number for p in (*state.workers, state.tick))

    def _idle(self, state: RateState, worker: Asker) -> Moves:
        for number, run in enumerate(state.runs):
            if run.status == "sent":
                asking = _run(state, number, status="asking")
                yield f"receives run {number}{' as woken' if run.is_woken else ''}", asking, Asker("ask", number)

    def _ask(self, state: RateState, worker: Asker) -> Moves:
        is_woken = state.runs[worker.run].is_woken
        overtakes = not is_woken and state.next_instant > 0 and self.rules.respects_instants
        if state.is_flagged and not is_woken:
            yield "sees that runs wait", state, worker._replace(pc="park")
        elif state.next_start > self.slack or overtakes:
            yield from self._too_soon(state, worker)
        else:
            yield "sees that the rate allows a start", state, worker._replace(pc="place")

    def _too_soon(self, state: RateState, worker: Asker) -> Moves:
        if worker.has_place and self.rules.gives_back:
            yield "comes too soon, gives its place back", state, worker._replace(pc="ask", has_place=False)
            return
        instant = max(state.next_instant, state.next_start - self.slack)
        if instant > self.config.horizon:
            yield "comes too soon, all instants are reserved", state, worker._replace(pc="park")
        else:
            yield "comes too soon", state, worker._replace(pc="reserve", read=state.next_instant, at=instant)

    def _reserve(self, state: RateState, worker: Asker) -> Moves:
        if state.next_instant != worker.read:
            yield "cannot reserve an instant", state, worker._replace(pc="ask", read=0, at=0)
            return
        after = state._replace(next_instant=worker.at + self.config.interval)
        yield f"reserves an instant in {worker.at} ticks", after, worker._replace(pc="move", read=0)

    def _move(self, state: RateState, worker: Asker) -> Moves:
        after = _run(state, worker.run, status="reserved", instant=worker.at, is_woken=True)
        yield f"RESCHEDULES run {worker.run}", after, worker._replace(pc="send", at=0)

    def _send(self, state: RateState, worker: Asker) -> Moves:
        yield f"sends run {worker.run} for its instant", _run(state, worker.run, is_sent=True), IDLE

    def _place(self, state: RateState, worker: Asker) -> Moves:
        if self._held(state) < self.config.places:
            yield "takes a place", state, worker._replace(pc="rate", has_place=True)
        else:
            yield "finds no place", state, worker._replace(pc="park")

    def _rate(self, state: RateState, worker: Asker) -> Moves:
        if state.next_start > self.slack:
            yield from self._too_soon(state, worker)
        else:
            yield "reads next_start", state, worker._replace(pc="set", read=state.next_start)

    def _set(self, state: RateState, worker: Asker) -> Moves:
        if state.next_start != worker.read and self.rules.compares:
            yield "cannot move next_start", state, worker._replace(pc="rate", read=0)
            return
        after = state._replace(next_start=worker.read + self.config.interval)
        if self.rules.records_instant:
            after = _started(after)
        yield "moves next_start", after, worker._replace(pc="start", read=0)

    def _start(self, state: RateState, worker: Asker) -> Moves:
        after = _run(state, worker.run, status="running", is_woken=False)
        if not self.rules.records_instant:
            after = _started(after)
        yield f"STARTS run {worker.run}", after, worker._replace(pc="run")

    def _run(self, state: RateState, worker: Asker) -> Moves:
        after = _run(state, worker.run, status="ended")
        waiting = next((n for n, run in enumerate(after.runs) if run.status == "listed"), None)
        if waiting is not None:
            after = _run(after, waiting, status="sent", is_woken=True)
        yield f"ends run {worker.run}, wakes {waiting}", after, IDLE

    def _park(self, state: RateState, worker: Asker) -> Moves:
        after = _run(state._replace(is_flagged=True), worker.run, status="listed", is_woken=False)
        yield f"PARKS run {worker.run}", after, IDLE

    def _tick(self, state: RateState) -> Iterator[Step[RateState]]:
        """Look at the gate: reserve an instant, then take the first run off the list for it."""
        look = state.tick
        if look.pc == "send":
            sent = _run(state, look.run, is_sent=True)._replace(tick=IDLE)
            yield Step(f"the look sends run {look.run} for its instant", sent)
        elif look.pc == "wake":
            yield Step("the look takes the first run off the list", self._woken(state))
        elif state.is_flagged:
            yield from self._look(state)
        if look.pc != "idle" and state.crashes:
            crashed = state._replace(tick=IDLE, crashes=state.crashes - 1)
            yield Step(f"the look CRASHES (at {look.pc})", crashed, Kind.FAULT)

    def _look(self, state: RateState) -> Iterator[Step[RateState]]:
        instant = max(state.next_instant, state.next_start - self.slack)
        if not any(run.status == "listed" for run in state.runs):
            yield Step("the look takes the flag away", state._replace(is_flagged=False))
        elif instant <= self.config.horizon and (
            self._held(state) < self.config.places or not self.rules.wakes_for_places
        ):
            cursor = instant + self.config.interval
            reserved = state._replace(next_instant=cursor, tick=Asker("wake", at=instant))
            yield Step(f"the look reserves an instant in {instant} ticks", reserved)

    def _woken(self, state: RateState) -> RateState:
        waiting = next((n for n, run in enumerate(state.runs) if run.status == "listed"), None)
        if waiting is None:
            return state._replace(tick=IDLE)
        after = _run(state, waiting, status="reserved", instant=state.tick.at, is_woken=True, is_sent=False)
        return after._replace(tick=Asker("send", waiting))


def _kind(label: str) -> Kind:
    return Kind.PARK if label.startswith(("PARKS", "RESCHEDULES")) else Kind.PLAIN


def _run(state: RateState, number: int, **changes: Any) -> RateState:
    run = state.runs[number]._replace(**changes)
    if run.status == "ended":
        run = Run("ended")
    return state._replace(runs=(*state.runs[:number], run, *state.runs[number + 1 :]))


def _with(state: RateState, me: int, worker: Asker) -> RateState:
    return state._replace(workers=tuple(sorted((*state.workers[:me], worker, *state.workers[me + 1 :]))))


def _started(state: RateState) -> RateState:
    return state._replace(starts=(0, *state.starts))


def _crashed(state: RateState, worker: Asker) -> RateState:
    """Return the state in which the worker's message is visible again, and its place has no worker."""
    after = state._replace(crashes=state.crashes - 1, orphans=state.orphans + worker.has_place)
    asking = state.runs[worker.run].status == "asking"
    return _run(after, worker.run, status="sent") if asking else after


def _later(state: RateState, config: RateConfig) -> RateState:
    """Return the state one tick later. Starts are forgotten when no window with them can be too full."""
    span = config.interval * (config.runs + 1)

    def older(asker: Asker) -> Asker:
        return asker._replace(read=max(asker.read - 1, 0), at=max(asker.at - 1, 0))

    return state._replace(
        next_start=max(state.next_start - 1, 0),
        next_instant=max(state.next_instant - 1, 0),
        runs=tuple(run._replace(instant=max(run.instant - 1, 0)) for run in state.runs),
        workers=tuple(sorted(map(older, state.workers))),
        tick=older(state.tick),
        starts=tuple(age + 1 for age in state.starts if age < span),
    )

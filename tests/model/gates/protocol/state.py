"""The state of the model: gates, runs, messages and processes."""

from typing import Final, NamedTuple

NONE: Final = -1
WATCH: Final = -2
"""The place of a run that is in a watch slot."""
FRESH: Final = 1
OLD: Final = 2


class Holder(NamedTuple):
    token: int
    run: int
    current: bool
    """Whether it names the present generation of the run."""


class Gate(NamedTuple):
    limit: int
    holders: tuple[Holder, ...] = ()
    slot: int = 0
    """0: not flagged. Else the age of the flag."""


class Run(NamedTuple):
    gates: tuple[int, ...]
    status: str = "N"
    """N: new. D: dispatched. P: pending, on a list. R: running. E: ended."""
    token: int = 0
    lease: bool = False
    place: int = NONE
    """The gate of its list, WATCH or NONE."""
    lag: int = 0
    shown: int = 0
    held: tuple[int, ...] = ()
    woken: int = NONE


class Message(NamedTuple):
    run: int
    current: bool
    woken: int


class Process(NamedTuple):
    """A worker, a tick or a call of the API."""

    pc: str = "idle"
    run: int = NONE
    current: bool = False
    woken: int = NONE
    token: int = 0
    taken: int = 0
    """The number of places that it has. Of a look: the number of runs to wake."""
    gate: int = NONE
    same: bool = False
    """Of a worker: it read an empty list. Of a look: the flag has not changed since it was read."""
    wakes: tuple[int, ...] = ()
    """The gates at which it has still to wake a run."""
    late: bool = False
    has_message: bool = False
    taken_over: bool = False
    """Whether it took its run over, so that the run has no message."""
    send: tuple[Message, ...] = ()
    order: tuple[int, ...] = ()
    limits: tuple[int, ...] = ()
    """The limits as it learned them. Empty: they do not change in this instance."""
    over: bool = False
    """Whether it got a place above the limits that were in force."""


class Left(NamedTuple):
    """The faults that may still happen, and the changes by users that were done."""

    crashes: int
    duplicates: int
    stops: int
    overtakes: int
    skips: int
    retries: int
    puts: int = 0
    patches: int = 0


class State(NamedTuple):
    gates: tuple[Gate, ...]
    runs: tuple[Run, ...]
    messages: tuple[Message, ...]
    processes: tuple[Process, ...]
    left: Left


IDLE: Final = Process()


def is_free(state: State, gate: int, limits: tuple[int, ...] = ()) -> bool:
    """Return whether a gate has a free place, by the limits that a process knows."""
    limit = limits[gate] if limits else state.gates[gate].limit
    return len(state.gates[gate].holders) < limit


def fresh_token(state: State) -> int:
    used = {p.token for p in state.processes} | {r.token for r in state.runs}
    used |= {holder.token for gate in state.gates for holder in gate.holders}
    return next(token for token in range(1, 99) if token not in used)


class ListRead(NamedTuple):
    """An answer that a read of a waiting list may give, with the first compare-and-set that succeeds."""

    run: int = NONE
    """The run that can be taken off. NONE: none."""
    is_empty: bool = False

    @property
    def text(self) -> str:
        return "empty" if self.is_empty else "not empty"


def list_reads(state: State, gate: int) -> list[ListRead]:
    """Return all answers that a read of the waiting list may give."""
    answers = []
    for number, run in enumerate(state.runs):
        if run.place == gate:
            answers.append(ListRead(number))
            if not run.lag:
                return answers
    answers.append(ListRead(is_empty=True))
    if any(run.shown >> gate & 1 for run in state.runs):
        answers.append(ListRead())
    return answers

"""The state of a gate or of one key of it: holders and their pages, the rate, the flag, repairs."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any, Final

from onthedot.core.choices import Priority
from onthedot.core.gate_names import QUEUE, TENANT, TURN, GateId
from onthedot.core.lifecycle import CLOCK_MARGIN_MS, lease_is_over
from onthedot.core.records import Record, Status
from onthedot.core.slots import DECISION_MS
from onthedot.gates.limits import GateLimits

PAGE: Final = 8
"""The places of a page. When all are taken, the state is still below 1 KB, unless the gate's name is long."""
_STAMPED: Final = re.compile(r"job_([a-z0-9]+)\.(\d{15})(-.*)?")
_WHOLE: Final = "="
"""Stands before a run's id that is not shortened."""
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True, order=True)
class Holder:
    """An attempt that has a place at a gate, or is about to start.

    A stored holder that cannot be read has no run, and its text as token. It has its place until it is given back.
    """

    token: str
    """The attempt token of the start."""
    generation: str
    at: int
    """The time at which it got the place."""
    run_id: str

    @property
    def text(self) -> str:
        """The holder as one text, as short as possible: a larger gate makes each write cost more."""
        if not self.run_id:
            return self.token
        return f"{self.token}/{self.generation}/{_to_base36(self.at)}/{_shorter(self.run_id)}"

    @classmethod
    def read(cls, text: str) -> "Holder":
        try:
            token, generation, at, run_id = text.split("/", 3)
            holder = cls(token, generation, int(at, 36), _longer(run_id))
        except ValueError:
            return cls(text, "", 0, "")
        return holder if holder.text == text else cls(text, "", 0, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class GateState:
    """The stored state of a gate or of one key. A gate that nothing has asked yet has the state `GateState()`."""

    holders: frozenset[Holder] = frozenset()
    """The holders of page 0."""
    capacity: int | None = None
    """The limit for which the pages are laid out. None: page 0 is the only one."""
    slot: str | None = None
    """The watch slot in which a tick looks at the gate, or the slot of the gate's keys. None: no run waits."""
    due_at: int | None = None
    """The time of the next look. The due index orders by it."""
    flagged_at: int | None = None
    """The time of the last flag."""
    priorities: frozenset[Priority] = frozenset()
    """The priorities of the runs that may wait."""
    parts: int | None = None
    """Number of parts of each waiting list, more than 1 when many runs wait. None: 1."""
    next_start: int | None = None
    """Of a gate with a rate, in microseconds: the time at which its starts would be spread evenly again (GCRA)."""
    next_instant: int | None = None
    """Of a gate with a rate, in microseconds: the next instant that no run has reserved."""

    @property
    def is_flagged(self) -> bool:
        """Whether runs may wait. Then a newcomer must not overtake them."""
        return self.slot is not None


CHANGEABLE: Final = frozenset(f.name for f in fields(GateState)) - {"holders", "priorities"}
"""The fields that a change can set. All but the slot are integers."""


@dataclass(frozen=True, slots=True)
class GateChange:
    """A compare-and-set on the state of a gate. Holders change by `GateStore.take` and `give_back` only."""

    equals: Mapping[str, Any] = field(default_factory=dict)
    """Fields and the values that they must have. None: the field has no value."""
    above: Mapping[str, int] = field(default_factory=dict)
    """Integer fields and the values that they must exceed. A field without a value does not."""
    sets: Mapping[str, Any] = field(default_factory=dict)
    """Fields and their new values. None removes the value."""
    increments: Mapping[str, int] = field(default_factory=dict)
    """Integer fields that have a value, and the numbers to add."""
    priorities: frozenset[Priority] = frozenset()
    """The priorities to add."""
    forget_priorities: bool = False
    """Whether to remove all priorities."""

    def __post_init__(self) -> None:
        named = {*self.equals, *self.above, *self.sets, *self.increments}
        if not CHANGEABLE.issuperset(named):
            raise ValueError(f"a change of a gate cannot name {sorted(named - CHANGEABLE)}")


def _shorter(run_id: str) -> str:
    """Return the id of a stamped run, which is long, without what all of them have, and with a shorter time."""
    stamped = _STAMPED.fullmatch(run_id)
    return f"{stamped[1]}.{_to_base36(int(stamped[2]))}{stamped[3] or ''}" if stamped else _WHOLE + run_id


def _longer(short: str) -> str:
    """Return the id that `_shorter` shortened."""
    if short.startswith(_WHOLE):
        return short.removeprefix(_WHOLE)
    job, _, tail = short.partition(".")
    time, dash, why = tail.partition("-")
    return f"job_{job}.{int(time, 36):015d}{dash}{why}"


def _to_base36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits or "0"


@dataclass(frozen=True, slots=True)
class GateAnswer:
    """The answer to a conditional write on a gate."""

    done: bool
    """Whether the write happened, now or by an earlier try whose reply was lost."""
    state: GateState
    """The state after the write, or the state that refused it. Of a page other than 0 it has the holders only."""


STARTED_AFTER_MS: Final = DECISION_MS + CLOCK_MARGIN_MS
"""An attempt starts at most this long after it has got its place."""


class Repair(Enum):
    """The step that a holder needs. A place is freed only after a write has made sure that the attempt cannot start."""

    KEEP = "keep"
    """The attempt runs, or is about to start."""
    LOSE = "lose"
    """The attempt is lost: end it, then free the place."""
    FENCE = "fence"
    """The attempt has not started in time: give the run a new generation, then free the place."""
    FREE = "free"
    """The attempt has ended, or can never start: free the place."""


def decide(holder: Holder, run: Record | None, now: int) -> Repair:
    """Decide by the run of the holder, as it is now. None: the run is gone."""
    if run is None or run.generation != holder.generation:
        return Repair.FREE
    if run.status is Status.RUNNING and run.attempt_token == holder.token:
        return Repair.LOSE if lease_is_over(run, now) else Repair.KEEP
    if run.status is Status.DISPATCHED:
        return Repair.FENCE if holder.at + STARTED_AFTER_MS < now else Repair.KEEP
    return Repair.FREE


def why_refused(gate: GateId, limits: GateLimits | None, state: GateState) -> str | None:
    """Return why the run has to wait, by the state that refused it. None: the name of the gate says it."""
    if limits is None or gate.name in (QUEUE, TURN):
        return None
    whose = "the tenant" if gate.name == TENANT else "the gate"
    if limits.is_stopped:
        return f"{whose} was paused" if limits.paused else f"{whose} let nothing start"
    if limits.in_flight is not None and state.capacity is not None:
        return f"its {limits.in_flight:,} places were in use, or other runs waited before it"
    if limits.in_flight is not None and len(state.holders) >= limits.in_flight:
        places = (
            "1 of 1 place was" if limits.in_flight == 1 else f"{len(state.holders)} of {limits.in_flight} places were"
        )
        return f"{places} in use{_longest(state)}"
    return "other runs waited before it"


def _longest(state: GateState) -> str:
    """Name the run that had its place longest. A holder that cannot be read has no run."""
    runs = sorted((holder.at, holder.run_id) for holder in state.holders if holder.run_id)
    return f", the longest by {runs[0][1]}" if runs else ""

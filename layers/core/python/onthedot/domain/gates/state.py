"""The state of a gate, or of one key of it: its holders, and the runs that may wait there.

The attempts that have a place are its *holders*. They are kept in pages of a few holders each, because DynamoDB's price
of a write grows with the size of the item. Page 0 is a part of the state itself.

While runs may wait, the gate is *flagged*: it has a slot, in which a tick looks at it. A flag has a time. A run goes on
the waiting list at most 30 seconds after that time. A tick takes the flag away only when its time is older and the list
is empty. So no run waits at a gate at which no tick looks.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

from onthedot.domain.runs.records import Priority

PAGE: Final = 8
"""Places of one page: so many holders and the rest of the state are less than 1 KB, unless the gate's name is long."""
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
        """The holder as one text, as short as possible: a larger gate makes each write dearer."""
        if not self.run_id:
            return self.token
        return f"{self.token}/{self.generation}/{_to_base36(self.at)}/{_shorter(self.run_id)}"

    @classmethod
    def read(cls, text: str) -> "Holder":
        """Return the holder from its `text`."""
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
    fire_at: int | None = None
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

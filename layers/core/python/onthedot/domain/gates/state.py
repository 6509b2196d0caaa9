"""The state of a gate, or of one key of it: its holders, and the runs that may wait there.

The attempts that have a place are its *holders*. They are kept in pages of a few holders each, because DynamoDB's price
of a write grows with the size of the item. Page 0 is a part of the state itself.

While runs may wait, the gate is *flagged*: it has a slot, in which a tick looks at it. A flag has a time. A run goes on
the waiting list at most 30 seconds after that time. A tick takes the flag away only when its time is older and the list
is empty. So no run waits at a gate at which no tick looks.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

from onthedot.domain.runs.records import Priority

PAGE: Final = 8
"""Places of one page: so many holders and the rest of the state are less than 1 KB."""


@dataclass(frozen=True, slots=True, order=True)
class Holder:
    """An attempt that has a place at a gate, or is about to start."""

    token: str
    """The attempt token of the start."""
    generation: str
    at: int
    """The time at which it got the place."""
    run_id: str

    @property
    def text(self) -> str:
        return f"{self.token}/{self.generation}/{self.at}/{self.run_id}"

    @classmethod
    def read(cls, text: str) -> "Holder":
        token, generation, at, run_id = text.split("/", 3)
        return cls(token, generation, int(at), run_id)


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

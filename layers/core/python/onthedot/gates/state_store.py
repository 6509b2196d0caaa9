"""The states of gates: an item for each page of a gate or key. Every write is one update, and keeps it for some weeks.

Holders are a set of texts, to which several workers can add at once. A flagged gate is in the index of due runs,
because its item has a slot and a fire time.
"""

from collections.abc import Sequence
from typing import Any, Final

from onthedot.core.choices import Priority
from onthedot.core.gate_names import GateId
from onthedot.core.items import (
    EXPIRES_AT,
    KNOWN_FORMAT,
    AnyOf,
    Change,
    Check,
    Condition,
    Item,
    Items,
    Value,
    Values,
    above,
    absent,
    equals,
    exists,
    fewer,
    whole,
)
from onthedot.core.ports import Clock
from onthedot.core.schema import DUE, GATE_PREFIX, gate_key
from onthedot.gates.limit_store import GateLimitsStore
from onthedot.gates.state import GateAnswer, GateChange, GateState, Holder

_DAY: Final = 24 * 3600
KEPT_DAYS: Final = 30
"""Days after the last write of a gate's state. No attempt runs that long, and a flagged gate is written every hour."""
_HOLDERS: Final = "h"
_PRIORITIES: Final = "p"
NEXT_START: Final = "s"
_NAMES: Final = {
    "slot": DUE.partition_key,
    "capacity": "c",
    "due_at": DUE.sort_key,
    "flagged_at": "f",
    "parts": "n",
    "next_start": NEXT_START,
    "next_instant": "i",
}
"""The names of the values of a state. They are short, so that 8 holders and the rest are less than 1 KB."""
_LETTERS: Final = {priority.value[0]: priority for priority in Priority}


class GateStore(GateLimitsStore):
    """The limits and the states of gates. Every call about a state is about one item, and all reads are consistent."""

    def __init__(self, items: Items, clock: Clock, *, remembers: bool = False) -> None:
        super().__init__(items, clock, remembers=remembers)
        self._clock = clock

    def read(self, gate: GateId) -> GateState:
        return self._read(gate, 0)

    def pages(self, gate: GateId) -> Sequence[frozenset[Holder]]:
        """Return the holders of all pages, page 0 first. A page without holders may be missing at the end."""
        items = whole(self._items.query, GATE_PREFIX + gate.text)
        pages = {int(item.key.sort): _state(item).holders for item in items}
        return [pages.get(page, frozenset()) for page in range(max(pages, default=0) + 1)]

    def take(
        self, gate: GateId, page: int, holder: Holder, *, room: int, newcomer: bool, capacity: int | None
    ) -> GateAnswer:
        """Add a holder to a page if the page has less than `room` holders.

        Page 0 also expects its `capacity`, and for a newcomer that the gate is not flagged. A holder that is there
        already counts as added: the reply to an earlier try was lost.
        """
        return self.take_all(gate, page, [holder], room=room, newcomer=newcomer, capacity=capacity)

    def take_all(
        self, gate: GateId, page: int, holders: Sequence[Holder], *, room: int, newcomer: bool, capacity: int | None
    ) -> GateAnswer:
        """Add all these holders to a page, or none of them."""
        wanted = frozenset(holders)
        if room < len(wanted):  # the condition lets the first holders in
            state = self._read(gate, page)
            return GateAnswer(wanted <= state.holders, state)
        condition: list[Check | AnyOf] = [fewer(_HOLDERS, room - len(wanted) + 1)]
        if page == 0:
            condition.append(equals(_NAMES["capacity"], capacity))
            if newcomer:
                condition.append(absent(_NAMES["slot"]))
        added = {_HOLDERS: frozenset(holder.text for holder in wanted)}
        answer = self._write(gate, page, Change(adds=added), condition)
        return GateAnswer(answer.done or wanted <= answer.state.holders, answer.state)

    def give_back(self, gate: GateId, page: int, holder: Holder) -> GateState:
        """Remove this very holder, and return the state after it. Nothing changes when it is not there."""
        return self.give_back_all(gate, page, [holder])

    def give_back_all(self, gate: GateId, page: int, holders: Sequence[Holder]) -> GateState:
        """Remove these holders, and return the state after it."""
        gone = {_HOLDERS: frozenset(holder.text for holder in holders)}
        return self._write(gate, page, Change(takes=gone), ()).state

    def change(self, gate: GateId, change: GateChange) -> GateAnswer:
        """Apply a change to the state, whole or not at all. A missing state is `GateState()`.

        A caller whose reply was lost sees its own change as a refusal. Changes are such that this does no harm.
        """
        condition = [equals(_NAMES[name], value) for name, value in change.equals.items()]
        condition += [above(_NAMES[name], bound) for name, bound in change.above.items()]
        condition += [exists(_NAMES[name]) for name in change.increments]
        return self._write(gate, 0, _change_of(change), condition)

    def _write(self, gate: GateId, page: int, change: Change, condition: Condition) -> GateAnswer:
        # Each write keeps the item, also one that gives a place back at a gate without an item.
        kept = Change({**change.sets, EXPIRES_AT: expires_at(self._clock.now())}, change.adds, change.takes)
        done, item = self._items.update(gate_key(gate.text, page), kept, [*condition, KNOWN_FORMAT])
        return GateAnswer(done, GateState() if item is None else _state(item))

    def _read(self, gate: GateId, page: int) -> GateState:
        item = self._items.get(gate_key(gate.text, page))
        return GateState() if item is None else _state(item)


def expires_at(now: int) -> int:
    """Return the end of the last day, in epoch seconds, on which a state that is written now is kept."""
    return (now // 1000 // _DAY + KEPT_DAYS + 1) * _DAY


def _change_of(change: GateChange) -> Change:
    sets: dict[str, Value | None] = {_NAMES[name]: value for name, value in change.sets.items()}
    adds: dict[str, int | frozenset[str]] = {_NAMES[name]: number for name, number in change.increments.items()}
    letters = frozenset(priority.value[0] for priority in change.priorities)
    if change.forget_priorities:
        sets[_PRIORITIES] = letters or None
    elif letters:
        adds[_PRIORITIES] = letters
    return Change(sets, adds)


def _state(item: Item) -> GateState:
    """Return the state from its item. What cannot be read counts as missing, except a holder, which has its place.

    Raise Unavailable when a newer version wrote it.
    """
    item.refuse_newer("the gate")
    values = item.values
    plain: dict[str, Any] = {name: _value(values, name, str if name == "slot" else int) for name in _NAMES}
    return GateState(
        **plain,
        holders=frozenset(map(Holder.read, _set(values, _HOLDERS))),
        priorities=frozenset(_LETTERS[letter] for letter in _set(values, _PRIORITIES) if letter in _LETTERS),
    )


def _value(values: Values, name: str, kind: type) -> Value | None:
    value = values.get(_NAMES[name])
    return value if isinstance(value, kind) else None


def _set(values: Values, name: str) -> frozenset[str]:
    value = values.get(name)
    return value if isinstance(value, frozenset) else frozenset()

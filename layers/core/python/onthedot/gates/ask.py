"""Ask the gates of a run for their places before it starts.

The places are taken in one order. If one gate refuses, the places of the others are given back. The rates are counted
last, at the very moment of the start.
"""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from onthedot.core.engine import Permit
from onthedot.core.errors import Unavailable
from onthedot.core.patience import ASK_MS
from onthedot.core.ports import RunMessage
from onthedot.engine import Engine
from onthedot.gates import places, rate
from onthedot.gates.give_back import ASKED, NO_PAGE, give_back
from onthedot.gates.limited import LimitedGate, SeenGate, limited_gates
from onthedot.gates.state import GateState, Holder
from onthedot.gates.waiting import is_list_empty
from onthedot.gates.wake import reserve_instants

TRIES: Final = 4
BATCH_MS: Final = 50
"""The runs of a batch ask their gates within about this time."""
_CHANCE: Final = random.Random()  # noqa: S311 - it spreads attempts over pages
_OFFSET: Final = _CHANCE.random()
_GOLDEN: Final = 0.6180339887498949
"""Multiples of it, without their integers, are spread evenly."""


@dataclass(frozen=True, slots=True)
class TooSoon:
    at: SeenGate
    instant: int
    """The time for which the run is to be sent again. It has reserved this instant, or had reserved an earlier one."""


@dataclass(slots=True)
class Asking:
    engine: Engine
    message: RunMessage
    token: str
    gates: Sequence[LimitedGate]
    now: int
    newcomer: bool
    """Whether the run was neither woken nor has it reserved an instant."""
    near_ms: int
    held: list[str] = field(default_factory=list)

    @property
    def holder(self) -> Holder:
        return Holder(self.token, self.message.generation, self.now, self.message.run_id)

    def give_back(self) -> None:
        give_back(self.engine, self.message.tenant, self.held, self.holder)
        self.held.clear()


def ask_gates(
    engine: Engine, message: RunMessage, named: Iterable[str], token: str, near_ms: int
) -> Permit | SeenGate | TooSoon | None:
    """Ask the gates that the run names and its tenant's own. None: no answer in time, try again. Raise Unavailable.

    A gate: the run must wait there. `near_ms` is how long the worker can wait for the rate of a gate.
    """
    newcomer = message.woken is None
    first = engine.clock.now()
    for _ in range(TRIES):
        began = engine.clock.now()
        if began - first > ASK_MS + near_ms:
            break  # this process was stopped, and the job may name other gates now
        gates = limited_gates(engine, message.tenant, named)
        asking = Asking(engine, message, token, gates, engine.clock.now(), newcomer, near_ms)
        refusal = _ask(asking)
        if isinstance(refusal, TooSoon) and refusal.instant - asking.now <= near_ms:
            engine.clock.sleep_until(refusal.instant)
            newcomer = False
            continue
        if refusal is not None:
            return refusal
        # The start is later than the end of each attempt whose place this one has got.
        starts_at = engine.clock.now()
        if starts_at - began <= ASK_MS and _count_starts(asking, starts_at):
            held = (*asking.held, f"{ASKED}{asking.now}") if asking.held else ()
            return Permit(starts_at, token, held)
        asking.give_back()
    return None


def _ask(asking: Asking) -> SeenGate | TooSoon | None:
    """Ask all gates. Return the first refusal, with nothing held. Raise Unavailable, with nothing held."""
    try:
        refusal = _refused(asking)
        return _with_instant(asking, refusal) if isinstance(refusal, TooSoon) else refusal
    except Unavailable:
        asking.give_back()
        raise


def _with_instant(asking: Asking, refusal: TooSoon) -> TooSoon | SeenGate:
    """Reserve an instant for a run that came too soon. If all near ones are taken, it waits on the list.

    A run that has reserved one already and is a little too soon waits for that little while.
    """
    if not asking.newcomer and refusal.instant - asking.now <= asking.near_ms:
        return refusal
    instants = reserve_instants(asking.engine, refusal.at, 1)
    return TooSoon(refusal.at, instants[0]) if instants else refusal.at


def _refused(asking: Asking) -> SeenGate | TooSoon | None:
    """Ask for the rates, then for the places. Return the first refusal, with nothing held."""
    for each in asking.gates:
        if each.limits.is_stopped:
            return each.seen(asking.engine.gates.read(each.gate))
    for each in asking.gates:
        refusal = _refused_by_rate(asking, each)
        if refusal is not None:
            return refusal
    for each in asking.gates:
        if each.limits.in_flight is None:
            continue
        state = _take_place(asking, each, each.limits.in_flight)
        if state is not None:
            asking.give_back()
            return each.seen(state)
    return None


def _refused_by_rate(asking: Asking, each: LimitedGate) -> SeenGate | TooSoon | None:
    if each.limits.per_second is None:
        return None
    state = asking.engine.gates.read(each.gate)
    if asking.newcomer and state.is_flagged and not is_list_empty(asking.engine, each.seen(state)):
        return each.seen(state)
    not_before = rate.too_soon(each.limits, state, asking.now, newcomer=asking.newcomer)
    return None if not_before is None else TooSoon(each.seen(state), not_before)


def _take_place(asking: Asking, each: LimitedGate, limit: int) -> GateState | None:
    newcomer = asking.newcomer
    for _ in range(TRIES):
        page, state = _take(asking, each, limit, newcomer=newcomer)
        if page is not None:
            asking.held.append(f"{page}#{each.gate.named}")
            return None
        if not newcomer or not state.is_flagged:
            return state
        if not is_list_empty(asking.engine, each.seen(state)):
            return state
        # Runs waited a moment ago, and none is waiting now. The flag stays: a run may be on its way to the list.
        newcomer = False
    return state


def _take(asking: Asking, each: LimitedGate, limit: int, *, newcomer: bool) -> tuple[int | None, GateState]:
    """Take a place of some page. Return the page, or None with the state that refused it."""
    gates, gate, holder = asking.engine.gates, each.gate, asking.holder
    capacity = places.layout(limit)
    if gate.is_key and (full := _full_key(asking, each, limit, newcomer=newcomer)) is not None:
        return None, full
    if capacity is None:
        answer = gates.take(gate, 0, holder, room=limit, newcomer=newcomer, capacity=None)
        if answer.done or answer.state.capacity is None:
            return (0 if answer.done else None), answer.state
        state = answer.state
    else:
        state = gates.read(gate)
    if newcomer and state.is_flagged:
        return None, state
    for _ in range(TRIES):
        if not places.is_larger(state.capacity, limit):
            break
        state = gates.change(gate, places.lay_out(state, limit)).state
    else:
        return None, state  # another process lays the pages out for other limits at the same time
    # If the limit was lowered, the pages may have too many holders for it.
    pages = [] if state.capacity == capacity else gates.pages(gate)
    if places.fits(limit, pages):
        return _take_any_page(asking, each, limit, state)
    room = places.room_on_first_page(limit, pages)
    answer = gates.take(gate, 0, holder, room=room, newcomer=newcomer, capacity=state.capacity)
    return (0 if answer.done else None), answer.state


def _full_key(asking: Asking, each: LimitedGate, limit: int, *, newcomer: bool) -> GateState | None:
    """Return the state of a key at which the run must wait. None: there may be a place.

    A run that waits at a key flags the gate and the key. A read here saves it the refused write.
    """
    state = asking.engine.gates.read(each.gate)
    is_full = state.capacity is None and len(state.holders) >= limit
    return state if is_full or (newcomer and state.is_flagged) else None


def _take_any_page(asking: Asking, each: LimitedGate, limit: int, state: GateState) -> tuple[int | None, GateState]:
    gates, gate, holder = asking.engine.gates, each.gate, asking.holder
    page = places.page_of(limit, _share(asking.now))
    for _ in range(TRIES):
        answer = gates.take(gate, page, holder, room=places.room(limit, page), newcomer=False, capacity=state.capacity)
        if answer.done:
            return page, state
        held = gates.pages(gate)
        rooms = range(places.page_count(limit))
        free = [one for one in rooms if one >= len(held) or len(held[one]) < places.room(limit, one)]
        if not free:
            return None, state
        page = _CHANCE.choice(free)
    return None, state


def _share(now: int) -> float:
    """Return a number from 0 to 1 for the choice of a page.

    The runs of one batch get one of two numbers, so that their places are asked for together.
    """
    return (_OFFSET + (now // BATCH_MS * 2 + _CHANCE.randrange(2)) * _GOLDEN) % 1


def _count_starts(asking: Asking, at: int) -> bool:
    """Count a start at this time at each gate with a rate. Return False when another start came first.

    A worker that was stopped since `at` counts nothing. Starts of others meanwhile would look to it as if they were
    made under slower limits.
    """
    for each in asking.gates:
        if each.limits.per_second is None:
            continue
        state = asking.engine.gates.read(each.gate)
        for _ in range(TRIES):
            is_late = asking.engine.clock.now() - at > ASK_MS
            if is_late or rate.too_soon(each.limits, state, at, newcomer=False) is not None:
                return False
            answer = asking.engine.gates.change(each.gate, rate.start(each.limits, state, at))
            if answer.done:
                if answer.state.is_flagged and each.limits.in_flight is None:
                    asking.held.append(f"{NO_PAGE}#{each.gate.named}")
                break
            state = answer.state
        else:
            return False
    return True

"""Wake runs that wait at a gate: take them off the list and send them.

A woken run holds no place on its way. It asks all its gates again, and passes the flag of each. So a run whose pool has
no worker keeps no place from others. All this may fail at any point: a run that was taken off and not sent is in a
watch slot, and a run that was not taken off is found by the next look.
"""

import logging
import random
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import cycle
from typing import Final, TypeVar

from onthedot.core import patience
from onthedot.core.choices import Priority
from onthedot.core.engine import Accept
from onthedot.core.errors import OnthedotError, Unavailable, UnreadableRecord
from onthedot.core.gate_names import TURN, GateId, keys_slot, turns
from onthedot.core.ids import fresh_generation
from onthedot.core.outcomes import is_written
from onthedot.core.pools import PoolKind
from onthedot.core.ports import Deadline, RunMessage, SlotEntry
from onthedot.core.send import message_for
from onthedot.core.set_aside import fault_of, misplaced, set_aside
from onthedot.core.start import skip_expired
from onthedot.core.start_window import is_over
from onthedot.engine import Engine
from onthedot.gates import places, rate, run_moves
from onthedot.gates.flag import FRESH_MS
from onthedot.gates.limited import SeenGate, is_turn_free, limits_of, see
from onthedot.gates.state import GateChange, GateState
from onthedot.gates.waiting import SET_ASIDE_MS, first_waiting
from onthedot.workers.records import WorkerStatus

AT_ONCE: Final = 100
"""The most runs that are taken off a list together."""
ALL: Final = 10_000
"""Runs that are woken by one call at a gate that no longer limits anything."""
LAG_MS: Final = 150
"""How long to wait before a list that seems empty is read once more: the index may lag."""
MOST_AMONG: Final = 10
MOST_TRIED: Final = 200
"""Runs that were tried already and that the index may still show."""
WIDER: Final = 4
"""How many times as many runs to choose from, after the chosen ones were gone."""
MOST_UNSERVED: Final = 10
"""The most runs of pools without a worker that the end of an attempt wakes."""
MOST_UNSERVED_OF_LOOK: Final = 1_000
"""The most runs of pools without a worker that a look wakes, to get to the runs behind them."""
RESERVE_TRIES: Final = 5
FEW_KEYS: Final = 10
"""More keys than this are visited side by side."""
VISITORS: Final = 16

ReturnedPlace = tuple[int, GateState]
"""The page of a place that was given back, and the state after that: of a page other than 0, its holders only."""
Visited = TypeVar("Visited")
_LOG: Final = logging.getLogger(__name__)
_CHANCE: Final = random.Random()  # noqa: S311 - it keeps processes apart that wake runs at the same moment


def wake_next(
    engine: Engine, gate: GateId, returned: ReturnedPlace | None = None, accept: Accept | None = None
) -> bool:
    """Wake one run if a place is free at the gate. Raise Unavailable.

    `returned` is the place that the caller has just given back. Return False if no run is shown on the list, and
    one may have gone there just now: the index may lag, and the caller should try once more after `LAG_MS`.
    """
    state = returned[1] if returned is not None and returned[0] == 0 else engine.gates.read(gate)
    if not state.is_flagged:
        return True
    seen = SeenGate(gate, limits_of(engine, gate), state)
    free = free_places(engine, seen, returned)
    if not free:
        return True
    now = engine.clock.now()
    # Attempts that end together wake different runs: each one takes any of the first, which all have a place.
    deadline = Deadline.after(now, patience.SEND_MS)
    woken = _wake(engine, seen, 1, deadline, among=min(free, MOST_AMONG), most_unserved=MOST_UNSERVED, accept=accept)
    return bool(woken) or now - (state.flagged_at or 0) > FRESH_MS


def forget_instants(engine: Engine, gate: GateId, state: GateState) -> None:
    """Let the next runs reserve instants of a new rate, and not after all instants of the old one."""
    if state.next_instant is not None and state.next_instant > engine.clock.now() * 1000:
        forget = GateChange(equals={"next_instant": state.next_instant}, sets={"next_instant": None})
        engine.gates.change(gate, forget)


def wake_waiting(engine: Engine, gate: GateId, deadline: Deadline) -> int:
    """Wake all runs that may go on at a gate and at its keys, because its limits were raised or it was deleted."""

    def wake_key(key: GateId) -> int:
        if not deadline.allows(engine.clock.now()):
            return 0
        try:
            forget_instants(engine, key, engine.gates.read(key))
            return wake_free(engine, key, deadline)
        except OnthedotError as error:
            _LOG.warning("left_to_a_pass", extra={"gate": key.text, "error": str(error)})
            return 0

    woken = wake_free(engine, gate, deadline)
    cursor: str | None = None
    while not gate.is_key and deadline.allows(engine.clock.now()):
        page = engine.store.read_slot(keys_slot(gate), cursor)
        woken += sum(visit_keys([GateId.read(entry.run_id) for entry in page.items], wake_key))
        cursor = page.cursor
        if cursor is None:
            break
    return woken


def visit_keys(keys: Sequence[GateId], visit: Callable[[GateId], Visited]) -> list[Visited]:
    """Visit keys, many of them side by side. Return what the visits return."""
    if len(keys) <= FEW_KEYS:
        return [visit(key) for key in keys]
    with ThreadPoolExecutor(VISITORS) as visitors:
        return list(visitors.map(visit, keys))


def wake_free(engine: Engine, gate: GateId, deadline: Deadline) -> int:
    """Wake as many runs as there are places. At a gate without limits all of them go on, until the time is over."""
    total = 0
    while deadline.allows(engine.clock.now()):
        seen = see(engine, gate)
        free = free_places(engine, seen) if seen.state.is_flagged else 0
        woken = _wake(engine, seen, free, deadline, among=free, most_unserved=MOST_UNSERVED_OF_LOOK) if free else 0
        total += woken
        if not woken or seen.limits is not None:
            break
    return total


def free_places(engine: Engine, seen: SeenGate, returned: ReturnedPlace | None = None) -> int:
    """Return how many runs may be woken at the gate now.

    After a place was given back, one page shows enough. So the end of an attempt does not read all pages of a gate.
    """
    limits, state = seen.limits, seen.state
    if limits is None:
        return ALL
    if limits.is_stopped:
        return 0
    if seen.gate.name == TURN:
        return int(is_turn_free(engine, seen.gate))
    free = ALL
    if limits.per_second is not None:
        free = min(free, rate.free_instants(limits, state, engine.clock.now()))
    if limits.in_flight is not None and free:
        capacity = places.layout(limits.in_flight)
        if returned is not None and capacity is not None and state.capacity == capacity:
            page, after = returned
            return min(free, max(0, places.room(capacity, page) - len(after.holders)))
        has_pages = state.capacity is not None or capacity is not None
        pages = engine.gates.pages(seen.gate) if has_pages else [state.holders]
        free = min(free, places.free(limits.in_flight, pages))
    return max(free, 0)


def _wake(
    engine: Engine,
    seen: SeenGate,
    count: int,
    deadline: Deadline,
    *,
    among: int,
    most_unserved: int,
    accept: Accept | None = None,
) -> int:
    """Take up to `count` runs off the lists, any `among` the first, and send them. Return how many can be started.

    A run of a pool without a worker is woken too, and the next one after it. The runs of each priority go in the order
    of their fire times.
    """
    woken = unserved = 0
    tried: set[str] = set()
    while (missing := count + unserved - woken) > 0 and unserved <= most_unserved:
        chosen = _choose(engine, seen, missing + unserved, among, tried)
        if not chosen or not deadline.allows(engine.clock.now()):
            break
        lonely = _unserved(engine, chosen)
        served = [entry for entry in chosen if entry.run_id not in lonely][:missing]
        chosen = [entry for entry in chosen if entry.run_id in lonely or entry in served]
        tried.update(entry.run_id for entry in chosen)
        taken = _take_off(engine, seen, _not_expired(engine, chosen, deadline), lonely, deadline)
        if taken is None:
            break
        # Each round is sent separately: so a process that dies leaves few runs unsent, and none is sent late.
        _send(engine, taken, accept, deadline)
        if not taken:
            among *= WIDER  # others wake runs here too, and the index does not show yet which
        woken += len(taken)
        unserved += sum(message.run_id in lonely for message in taken)
    return woken - unserved


def reserve_instants(engine: Engine, seen: SeenGate, count: int) -> Sequence[int] | None:
    """Reserve instants of a gate with a rate, in milliseconds. None: the next ones are too far ahead."""
    state = seen.state
    for _ in range(RESERVE_TRIES):
        change = None if seen.limits is None else rate.reserve(seen.limits, state, engine.clock.now(), count)
        if seen.limits is None or change is None:
            return None
        answer = engine.gates.change(seen.gate, change)
        if answer.done:
            return rate.reserved(seen.limits, answer.state, count)
        state = answer.state
    return None


def _unserved(engine: Engine, entries: Sequence[SlotEntry]) -> set[str]:
    """Return which of the runs are in pull pools without a live worker. An unknown pool counts as served."""
    pools = engine.deployment.pools
    pulled = [entry for entry in entries if (p := pools.get(entry.pool)) is not None and p.kind is PoolKind.PULL]
    if not pulled:
        return set()
    try:
        workers = engine.registry.workers()
    except Unavailable:
        return set()
    now = engine.clock.now()
    serving = {(w.pool, w.tenant) for w in workers if w.status(now) is WorkerStatus.ACTIVE}
    return {one.run_id for one in pulled if not {(one.pool, None), (one.pool, one.tenant)} & serving}


def _choose(engine: Engine, seen: SeenGate, count: int, among: int, tried: set[str]) -> list[SlotEntry]:
    """Choose runs from the lists in turns."""
    most = min(max(count, among), AT_ONCE)
    lists: dict[Priority, list[SlotEntry]] = {}
    chosen: list[SlotEntry] = []
    turn = cycle(turns(fresh_generation()))
    left = set(seen.state.priorities)
    while left and len(chosen) < most:
        priority = next(turn)
        if priority in left and priority not in lists:
            found = first_waiting(engine, seen, priority, most + min(len(tried), MOST_TRIED))
            lists[priority] = [entry for entry in found if entry.run_id not in tried]
        if lists.get(priority):
            chosen.append(lists[priority].pop(0))
        else:
            left.discard(priority)
    return chosen if count >= len(chosen) else _CHANCE.sample(chosen, count)


def _not_expired(engine: Engine, entries: Sequence[SlotEntry], deadline: Deadline) -> list[SlotEntry]:
    """End the runs whose time to start is over. Return the others. A run that cannot be read is set aside."""
    now = engine.clock.now()
    expired = [entry for entry in entries if is_over(entry.start_by, now)]
    for entry in expired:
        if not deadline.allows(engine.clock.now()):
            break
        try:
            run = engine.store.get(entry.run_id)
        except UnreadableRecord as error:
            _set_aside(engine, entry, error.record.why)
            continue
        if run is not None:
            skip_expired(engine, run)
    return [entry for entry in entries if entry not in expired]


def _take_off(
    engine: Engine, seen: SeenGate, entries: Sequence[SlotEntry], lonely: Collection[str], deadline: Deadline
) -> list[RunMessage] | None:
    """Take the entries off the list that are still on it, and return their messages. None: no instant is near.

    At a gate with a rate each one gets an instant, except the `lonely` runs, which no worker can start.
    """
    instants: dict[str, int] = {}
    served = [entry.run_id for entry in entries if entry.run_id not in lonely]
    if seen.limits is not None and seen.limits.per_second and served:
        reserved = reserve_instants(engine, seen, len(served)) or ()
        instants = dict(zip(served, reserved, strict=False))
        entries = [entry for entry in entries if entry.run_id in instants or entry.run_id in lonely]
        if not entries:
            return None
    if not entries:
        return []
    now = engine.clock.now()
    token = f"wake/{fresh_generation()}"
    moves = [
        run_moves.wake(
            entry,
            now,
            deployment=engine.deployment,
            woken=seen.gate.named,
            at=instants.get(entry.run_id),
            claim_token=token,
        )
        for entry in entries
    ]
    outcomes = [engine.store.move(moves[0])] if len(moves) == 1 else engine.store.move_many(moves, deadline)
    for entry, move, outcome in zip(entries, moves, outcomes, strict=True):
        # A record that can never leave the list would make the gate look as if runs waited, forever.
        if (why := fault_of(outcome, move) or misplaced(entry, outcome)) is not None:
            _set_aside(engine, entry, why)
    return [
        replace(message_for(entry), due_at=instants.get(entry.run_id, entry.due_at), woken=seen.gate.named)
        for entry, outcome in zip(entries, outcomes, strict=True)
        if is_written(outcome, lambda current: current.claim_token == token)
    ]


def _set_aside(engine: Engine, entry: SlotEntry, why: str) -> None:
    deadline = Deadline.after(engine.clock.now(), SET_ASIDE_MS)
    set_aside(engine, Counter(), entry.slot, {entry.run_id: why}, deadline)


def _send(engine: Engine, woken: Sequence[RunMessage], accept: Accept | None, deadline: Deadline) -> None:
    """Send the woken runs. A run that cannot be sent stays in its watch slot, for the sweep."""
    messages = [message for message in woken if accept is None or not accept(message)]
    if messages:
        engine.queues.send(messages, deadline)

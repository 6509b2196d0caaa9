"""Wake runs that wait at a gate: take them off the list and send them.

A woken run holds no place on its way. It asks all its gates again, and passes the flag of each. So a run whose pool has
no worker keeps no place from others. All this may fail at any point: a run that was taken off and not sent is in a
watch slot, and a run that was not taken off is found by the next look.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from onthedot.domain.errors import Unavailable
from onthedot.domain.gates import places, rate
from onthedot.domain.gates.limits import GateLimits
from onthedot.domain.gates.names import GateId, keys_slot
from onthedot.domain.gates.state import GateState
from onthedot.domain.gates.turns import turns
from onthedot.domain.ids import fresh_generation
from onthedot.domain.runs import lifecycle
from onthedot.domain.runs.records import Priority
from onthedot.domain.workers.pools import PoolKind
from onthedot.domain.workers.records import WorkerStatus
from onthedot.ports import Deadline, Engine, RunMessage, SlotEntry
from onthedot.use_cases import patience
from onthedot.use_cases.attempts.skip_expired import skip_expired
from onthedot.use_cases.gates.flag_gate import FRESH_MS
from onthedot.use_cases.gates.limited_gates import limits_of
from onthedot.use_cases.gates.waiting_runs import first_waiting
from onthedot.use_cases.outcomes import is_written

AT_ONCE: Final = 100
"""Most runs that are taken off a list together."""
FURTHER: Final = 4
"""Entries that are read beyond the wanted ones, because another process may take the first ones off meanwhile."""
LAG_MS: Final = 150
"""How long to wait before a fresh list that seems empty is read once more: the index may lag."""
MOST_UNSERVED: Final = 10
"""Most runs of pools without a worker that are woken for one place."""
RESERVE_TRIES: Final = 5

HandOver = Callable[[RunMessage], bool]
"""Takes a woken run instead of its queue, if the caller can run it at once."""


@dataclass(frozen=True, slots=True)
class Woken:
    """A run that was taken off a list, and the instant for which it is sent."""

    entry: SlotEntry
    message: RunMessage


def wake_next(engine: Engine, gate: GateId, state: GateState | None = None, hand_over: HandOver | None = None) -> int:
    """Wake one run if a place is free at the gate. Return how many were woken. Raise Unavailable.

    `state` is the state after the caller has given a place back.
    """
    state = engine.gates.read(gate) if state is None else state
    if not state.is_flagged:
        return 0
    limits = limits_of(engine, gate)
    free = free_places(engine, gate, limits, state)
    if not free:
        return 0
    deadline = Deadline.after(engine.clock.now(), patience.SEND_MS)
    woken = wake(engine, gate, limits, state, 1, deadline, hand_over)
    if woken or engine.clock.now() - (state.flagged_at or 0) > FRESH_MS:
        return woken
    engine.clock.sleep_until(engine.clock.now() + LAG_MS)
    return wake(engine, gate, limits, state, 1, deadline, hand_over)


def wake_waiting(engine: Engine, gate: GateId, deadline: Deadline) -> int:
    """Wake all runs that may go on at a gate and at its keys, because its limits were raised or it was deleted."""
    limits = limits_of(engine, gate)
    woken = _wake_free(engine, gate, limits, deadline)
    cursor: str | None = None
    while not gate.is_key:
        page = engine.store.read_slot(keys_slot(gate), cursor)
        for entry in page.items:
            if not deadline.allows(engine.clock.now()):
                return woken
            woken += _wake_free(engine, GateId.read(entry.run_id), limits, deadline)
        cursor = page.cursor
        if cursor is None:
            break
    return woken


def free_places(engine: Engine, gate: GateId, limits: GateLimits | None, state: GateState) -> int:
    """Return how many runs may be woken at the gate now."""
    if limits is None:
        return AT_ONCE
    if limits.is_stopped:
        return 0
    free = AT_ONCE
    if limits.per_second is not None:
        free = min(free, rate.free_instants(limits, state, engine.clock.now()))
    if limits.in_flight is not None and free:
        held = len(state.holders)
        if state.capacity is not None or places.layout(limits.in_flight) is not None:
            held = sum(len(page) for page in engine.gates.pages(gate))
        free = min(free, limits.in_flight - held)
    return max(free, 0)


def wake(
    engine: Engine,
    gate: GateId,
    limits: GateLimits | None,
    state: GateState,
    count: int,
    deadline: Deadline,
    hand_over: HandOver | None = None,
) -> int:
    """Take up to `count` runs off the lists and send them. Return how many workers can start at once.

    A run of a pool without a worker is woken too, and the next one after it. The runs of each priority go in the order
    of their fire times.
    """
    woken: list[Woken] = []
    unserved = 0
    tried: set[str] = set()
    for _ in range(2):
        wanted = count + unserved - len(woken)
        if wanted <= 0 or unserved > MOST_UNSERVED or not deadline.allows(engine.clock.now()):
            break
        chosen = _choose(engine, gate, state, wanted, tried)
        if not chosen:
            break
        tried.update(entry.run_id for entry in chosen)
        taken = _take_off(engine, gate, limits, state, _not_expired(engine, chosen), wanted, deadline)
        woken += taken
        unserved += sum(not is_served(engine, one.entry) for one in taken)
    _send(engine, woken, hand_over, deadline)
    return len(woken) - unserved


def is_served(engine: Engine, entry: SlotEntry) -> bool:
    """Return whether the entry's pool has workers. If the registry cannot be read, it counts as served."""
    pool = engine.deployment.pools.get(entry.pool)
    if pool is None or pool.kind is PoolKind.PUSH:
        return True
    try:
        now = engine.clock.now()
        return any(
            worker.pool == entry.pool
            and worker.tenant in (None, entry.tenant)
            and worker.status(now) is WorkerStatus.ACTIVE
            for worker in engine.registry.all()
        )
    except Unavailable:
        return True


def reserve_instants(
    engine: Engine, gate: GateId, limits: GateLimits, state: GateState, count: int
) -> Sequence[int] | None:
    """Reserve instants of a gate with a rate, in milliseconds. None: the next ones are too far ahead."""
    for _ in range(RESERVE_TRIES):
        change = rate.reserve(limits, state, engine.clock.now(), count)
        if change is None:
            return None
        answer = engine.gates.change(gate, change)
        if answer.done:
            return rate.reserved(limits, answer.state, count)
        state = answer.state
    return None


def _wake_free(engine: Engine, gate: GateId, limits: GateLimits | None, deadline: Deadline) -> int:
    """Wake as many runs as there are places, until the list is empty or the time is over."""
    total = 0
    while deadline.allows(engine.clock.now()):
        state = engine.gates.read(gate)
        free = free_places(engine, gate, limits, state) if state.is_flagged else 0
        woken = wake(engine, gate, limits, state, free, deadline) if free else 0
        total += woken
        if not woken or limits is not None:
            return total
    return total


def _choose(engine: Engine, gate: GateId, state: GateState, wanted: int, tried: set[str]) -> list[SlotEntry]:
    """Choose runs from the lists in turns, and a few more in case some are taken off by others."""
    lists: dict[Priority, list[SlotEntry]] = {}
    chosen: list[SlotEntry] = []
    most = min(wanted, AT_ONCE) + FURTHER + len(tried)
    while len(chosen) < most:
        before = len(chosen)
        for priority in turns(fresh_generation()):
            if priority in state.priorities and priority not in lists:
                found = first_waiting(engine, gate, state, priority, most)
                lists[priority] = [entry for entry in found if entry.run_id not in tried]
            if lists.get(priority):
                chosen.append(lists[priority].pop(0))
            if len(chosen) == most or (len(chosen) >= wanted and len(lists) < len(state.priorities)):
                return chosen
        if len(chosen) == before:
            return chosen
    return chosen


def _not_expired(engine: Engine, entries: Sequence[SlotEntry]) -> list[SlotEntry]:
    """End the runs whose time to start is over. Return the others."""
    now = engine.clock.now()
    expired = [entry.run_id for entry in entries if entry.start_by is not None and entry.start_by < now]
    for run_id in expired:
        run = engine.store.get(run_id)
        if run is not None:
            skip_expired(engine, run)
    return [entry for entry in entries if entry.run_id not in expired]


def _take_off(
    engine: Engine,
    gate: GateId,
    limits: GateLimits | None,
    state: GateState,
    entries: Sequence[SlotEntry],
    wanted: int,
    deadline: Deadline,
) -> list[Woken]:
    """Take the first `wanted` entries off the list that are still on it."""
    now = engine.clock.now()
    token = f"wake/{fresh_generation()}"
    instants: Sequence[int | None] | None = [None] * len(entries)
    if limits is not None and limits.per_second and entries:
        instants = reserve_instants(engine, gate, limits, state, min(wanted, len(entries)))
    if instants is None:
        return []
    taken: list[Woken] = []
    rest = list(entries)
    while rest and len(taken) < min(wanted, len(instants)):
        batch = [rest.pop(0) for _ in range(min(min(wanted, len(instants)) - len(taken), len(rest)))]
        times = instants[len(taken) : len(taken) + len(batch)]
        moves = [
            lifecycle.wake(
                entry.run_id,
                entry.generation,
                entry.slot,
                fire_at=entry.fire_at,
                now=now,
                deployment=engine.deployment,
                woken=gate.named,
                at=at,
                claim_token=token,
            )
            for entry, at in zip(batch, times, strict=True)
        ]
        outcomes = [engine.store.move(moves[0])] if len(moves) == 1 else engine.store.move_many(moves, deadline)
        for entry, at, outcome in zip(batch, times, outcomes, strict=True):
            if is_written(outcome, lambda current: current.claim_token == token):
                taken.append(Woken(entry, _message(entry, gate, entry.fire_at if at is None else at)))
    return taken


def _message(entry: SlotEntry, gate: GateId, fire_at: int) -> RunMessage:
    return RunMessage(
        run_id=entry.run_id,
        generation=entry.generation,
        fire_at=fire_at,
        tenant=entry.tenant,
        priority=entry.priority,
        pool=entry.pool,
        gates=entry.gates,
        woken=gate.named,
        start_by=entry.start_by,
    )


def _send(engine: Engine, woken: Sequence[Woken], hand_over: HandOver | None, deadline: Deadline) -> None:
    """Send the woken runs. A run that cannot be sent stays in its watch slot, for the sweep."""
    kept = {one.message.run_id for one in woken if hand_over is not None and hand_over(one.message)}
    messages = [one.message for one in woken if one.message.run_id not in kept]
    if messages:
        engine.queues.send(messages, deadline)


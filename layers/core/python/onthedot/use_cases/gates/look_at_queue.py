"""Look at a queue at which runs may wait: wake as many as the queue can take."""

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from onthedot.domain.gates.limits import Limits
from onthedot.domain.gates.names import GateId, waiting_slot
from onthedot.domain.gates.state import GateChange, GateState
from onthedot.domain.ids import job_id_of
from onthedot.domain.runs import lifecycle
from onthedot.domain.runs.fairness import fair_order
from onthedot.domain.runs.moves import Move
from onthedot.domain.runs.queue_names import read_queue_key
from onthedot.domain.runs.records import Priority, Record
from onthedot.domain.runs.slots import DECISION_MS, WATCH_DISTANCE, fire_slot, shard_of
from onthedot.ports import Deadline, Engine, SlotEntry, Undecided
from onthedot.use_cases.dispatch.queue_states import QueueStates
from onthedot.use_cases.dispatch.send_runs import send_runs
from onthedot.use_cases.dispatch.set_aside import fault_of, faults_of, misplaced, set_aside
from onthedot.use_cases.dispatch.slot_entries import read_slot_pages
from onthedot.use_cases.gates.flag_gate import next_look
from onthedot.use_cases.gates.limited_gates import SeenGate
from onthedot.use_cases.gates.look_at_gate import LEAVE_MS
from onthedot.use_cases.gates.wait_at_gate import MANY_PARTS
from onthedot.use_cases.gates.waiting_runs import count_waiting, note_oldest
from onthedot.use_cases.outcomes import is_written

AT_ONCE: Final = 500
"""Entries that are read, and shared out fairly among tenants, at a time."""
MANY: Final = 1_000
"""When more runs than this wait, the list gets parts."""


@dataclass(slots=True)
class QueueLook:
    """A look at a queue while it is under way."""

    engine: Engine
    queues: QueueStates
    limits: Limits
    claim_token: str
    deadline: Deadline
    counts: Counter[str]
    read: int = 0
    """Number of entries that were read."""
    left: bool = False
    """Whether a run was left on the list."""

    def has_time(self) -> bool:
        return self.deadline.allows(self.engine.clock.now())


def look_at_queue(look: QueueLook, gate: GateId, slot: str) -> None:
    """Wake runs, then move the gate of the queue to the slot of its next look, or take its flag away.

    While the queue is open, near runs are sent directly, also if runs are left on the list. Otherwise a queue whose
    runs come faster than looks can wake them would never be open again. While it is closed, near runs go on the list.
    Raise Unavailable.
    """
    engine = look.engine
    limit = engine.deployment.backlog_limit
    state = engine.gates.read(gate)
    if state.slot != slot:
        return  # the index lags
    pool, priority = read_queue_key(gate.key or "")
    began = engine.clock.now()
    emptied = False
    if engine.deployment.pools.get(pool) is None:
        emptied = _give_to_claim_pass(look, gate, state, priority)
    elif not look.queues.is_closed(pool, priority, limit):
        emptied = _wake(look, gate, state, priority, pool)
    if emptied and state.flagged_at is not None and state.flagged_at < began - LEAVE_MS and _leave(look, gate, state):
        return
    closed = look.queues.is_closed(pool, priority, limit)
    # A queue that takes runs is looked at with each tick while runs are left. One bucket is near, but slots are read
    # again for five minutes.
    buckets = 1 if look.left and not closed else WATCH_DISTANCE
    if not emptied:
        seen = SeenGate(gate, None, replace(state, priorities=frozenset({priority})))
        note_oldest(engine, seen, look.counts)
        count_waiting(engine, seen, buckets, look.counts)
    sets = next_look(gate, engine.clock.now(), buckets, engine.deployment.shards)
    if look.left and look.read > MANY and state.parts is None:
        sets["parts"] = MANY_PARTS
    noted = frozenset({priority}) if closed else frozenset[Priority]()
    engine.gates.change(gate, GateChange({"slot": slot}, sets=sets, priorities=noted, forget_priorities=not closed))


def _leave(look: QueueLook, gate: GateId, state: GateState) -> bool:
    """Take the flag away, unless the gate was flagged again since it was read."""
    none = dict.fromkeys(("slot", "fire_at", "flagged_at", "parts"))
    change = GateChange(equals={"flagged_at": state.flagged_at}, sets=none, forget_priorities=True)
    return look.engine.gates.change(gate, change).done


def _wake(look: QueueLook, gate: GateId, state: GateState, priority: Priority, pool: str) -> bool:
    """Wake as many runs as the queue can take, the earliest first. Return whether none is left on the list."""
    engine, limit = look.engine, look.engine.deployment.backlog_limit
    room = look.queues.room(pool, priority, limit)
    room = AT_ONCE if room is None else room
    entries = _waiting(look, gate, state, priority)
    while look.has_time() and (window := list(islice(entries, AT_ONCE))):
        chosen = fair_order(window, look.limits)[:room]
        look.left = look.left or len(chosen) < len(window)
        woken = _take_off(look, chosen, _waking(look), lambda run: run.claim_token == look.claim_token)
        unsent = send_runs(engine, woken, look.deadline) if woken else 0
        look.counts.update(woken=len(woken), sent=len(woken) - unsent, unsent=unsent)
        room -= len(woken)
        if not room or look.queues.is_closed(pool, priority, limit):
            look.left = look.left or next(entries, None) is not None
            return not look.left
    look.left = look.left or next(entries, None) is not None
    return not look.left


def _waking(look: QueueLook) -> Callable[[SlotEntry], Move]:
    now, deployment = look.engine.clock.now(), look.engine.deployment
    return lambda entry: lifecycle.wake(
        entry.run_id,
        entry.generation,
        entry.slot,
        fire_at=entry.fire_at,
        now=now,
        deployment=deployment,
        woken=None,
        claim_token=look.claim_token,
    )


def _give_to_claim_pass(look: QueueLook, gate: GateId, state: GateState, priority: Priority) -> bool:
    """Move the runs of a pool that is gone to fire slots, where the claim pass finds another pool for them."""
    entries = _waiting(look, gate, state, priority)
    while look.has_time() and (some := list(islice(entries, AT_ONCE))):
        now, shards = look.engine.clock.now(), look.engine.deployment.shards
        slots = {e.run_id: fire_slot(shard_of(job_id_of(e.run_id), shards), e.fire_at, now) for e in some}
        moved = _take_off(
            look,
            some,
            lambda e: lifecycle.leave_list(e.run_id, e.generation, e.slot, slots[e.run_id]),  # noqa: B023
            lambda run: run.slot == slots.get(run.run_id),  # noqa: B023
        )
        look.counts["pool_gone"] += len(moved)
    look.left = look.left or next(entries, None) is not None
    return not look.left


def _take_off(
    look: QueueLook,
    entries: Sequence[SlotEntry],
    move_of: Callable[[SlotEntry], Move],
    shows_write: Callable[[Record], bool],
) -> list[SlotEntry]:
    """Take runs off the list. Return the ones that this look has taken off. Set aside runs that cannot be handled."""
    if not entries:
        return []
    now = look.engine.clock.now()
    moves = [move_of(entry) for entry in entries]
    outcomes = look.engine.store.move_many(moves, look.deadline.at_most(now + DECISION_MS))
    taken: list[SlotEntry] = []
    faults: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for entry, move, outcome in zip(entries, moves, outcomes, strict=True):
        fault = fault_of(outcome, move) or misplaced(entry, outcome)
        if fault is not None:
            faults[entry.slot][entry.run_id] = fault
        elif is_written(outcome, shows_write):
            taken.append(entry)
        elif isinstance(outcome, Undecided):
            look.left = True
    for slot, some in faults.items():
        _set_aside(look, slot, some)
    return taken


def _waiting(look: QueueLook, gate: GateId, state: GateState, priority: Priority) -> Iterator[SlotEntry]:
    """Yield the runs that wait, the earliest first."""
    slots = [waiting_slot(gate, priority, part) for part in range(state.parts or 1)]
    for entry in heapq.merge(*(_part(look, slot) for slot in slots), key=lambda entry: (entry.fire_at, entry.run_id)):
        look.read += 1
        yield entry


def _part(look: QueueLook, slot: str) -> Iterator[SlotEntry]:
    for page in read_slot_pages(look.engine, slot, AT_ONCE):
        _set_aside(look, slot, faults_of(page.unreadable))
        yield from page.items


def _set_aside(look: QueueLook, slot: str, faults: dict[str, str]) -> None:
    whole = set_aside(look.engine, look.counts, slot, faults, look.deadline)
    look.left = look.left or not whole

"""What gates do in a tick: share it out among tenants, list runs of closed queues, look where runs may wait."""

import heapq
import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import islice
from typing import Any, Final

from onthedot.core import lifecycle
from onthedot.core.choices import Priority
from onthedot.core.errors import OnthedotError, Unavailable
from onthedot.core.gate_names import QUEUE, GateId, keys_slot, waiting_slot
from onthedot.core.ids import fresh_generation, job_id_of
from onthedot.core.moves import Move, applied
from onthedot.core.outcomes import is_record_written, is_written
from onthedot.core.ports import Deadline, SlotEntry, Undecided
from onthedot.core.records import Record, Status
from onthedot.core.send import QueueStates, read_slot_pages, send_runs
from onthedot.core.set_aside import fault_of, faults_of, misplaced, set_aside
from onthedot.core.slots import (
    BUCKET_MS,
    DECISION_MS,
    WATCH_DISTANCE,
    fire_slot,
    queue_key,
    read_queue_key,
    shard_of,
)
from onthedot.core.start import end_lost_attempt
from onthedot.engine import Engine
from onthedot.gates import places, rate, run_moves
from onthedot.gates.flag import next_look
from onthedot.gates.limited import SeenGate, see
from onthedot.gates.limits import Limits
from onthedot.gates.state import GateChange, GateState, Holder, Repair, decide
from onthedot.gates.wait import MANY_PARTS
from onthedot.gates.waiting import QueueList, add_counts, count_waiting, flag_queue, note_oldest
from onthedot.gates.wake import visit_keys, wake_free

_LOG: Final = logging.getLogger(__name__)
LEAVE_MS: Final = 110_000
"""A flag may be taken away after this time: the 30 s within which a run goes on the list, and the lag of the index."""
SETTLED_MS: Final = 60_000
"""The pages are laid out for a lowered limit this long after it was set: no attempt then knows another limit."""
STOPPED_BUCKETS: Final = 60
"""A gate at which nothing may start is looked at this seldom. A change of its limits brings the look nearer."""
KEYS_MS: Final = 10_000
"""How long one look visits the keys of a gate. The next look goes on with the keys that are left."""
FAILED_BUCKETS: Final = 5
"""A gate or key that this version cannot look at is tried again after this number of buckets."""
_NO_FLAG: Final = dict.fromkeys(("slot", "due_at", "flagged_at", "parts"))


class Keys(Enum):
    NONE = "none"
    WAIT = "wait"
    """Runs may wait at some key."""
    LEFT = "left"
    """The time was over before all keys that were due were visited."""


def look_at_gate(engine: Engine, gate: GateId, slot: str, deadline: Deadline, counts: Counter[str]) -> bool:
    """Look after a gate that is in this slot, and after its keys. Return whether nothing is left to do in the slot.

    Raise Unavailable.
    """
    seen = see(engine, gate)
    if seen.state.slot != slot:
        return True
    counts["looks"] += 1
    now = engine.clock.now()
    if seen.limits is not None and seen.limits.is_stopped:
        note_oldest(engine, seen, counts)
        return _look_later(engine, seen, now, STOPPED_BUCKETS, counts)
    keys = _visit_keys(engine, gate, deadline.at_most(now + KEYS_MS), counts)
    return _look(engine, seen, deadline, counts, keys)


def _visit_keys(engine: Engine, gate: GateId, deadline: Deadline, counts: Counter[str]) -> Keys:
    """Look after the keys whose time has come."""
    found = Keys.NONE
    cursor: str | None = None
    while True:
        page = engine.store.read_slot(keys_slot(gate), cursor)
        found = Keys.WAIT if page.items else found
        due = [entry for entry in page.items if entry.due_at <= engine.clock.now()]
        if not _visit_some(engine, [GateId.read(entry.run_id) for entry in due], deadline, counts):
            return Keys.LEFT
        cursor = page.cursor
        if cursor is None or len(due) < len(page.items):
            return found


def _visit_some(engine: Engine, keys: Sequence[GateId], deadline: Deadline, counts: Counter[str]) -> bool:
    """Look after these keys. Return whether there was time for all."""

    def visit(key: GateId) -> Counter[str] | None:
        return _visit_key(engine, key, deadline) if deadline.allows(engine.clock.now()) else None

    visits = visit_keys(keys, visit)
    for one in visits:
        add_counts(counts, one or Counter())
    return None not in visits


def _visit_key(engine: Engine, key: GateId, deadline: Deadline) -> Counter[str]:
    """Look after one key. One that fails does not stop the others, and goes behind them."""
    counts: Counter[str] = Counter()
    try:
        seen = see(engine, key)
        if seen.state.is_flagged:
            _look(engine, seen, deadline, counts)
    except Exception as error:  # noqa: BLE001 - as each slot, each key is guarded separately
        look_failed(engine, key, keys_slot(key), error, counts)
    return counts


def look_failed(engine: Engine, gate: GateId, slot: str, error: Exception, counts: Counter[str]) -> bool:
    """Give a gate that could not be looked at in this slot a later look. Return whether it is out of the way.

    If it stayed, progress could not pass the slot, and each tick would read more slots.
    """
    counts["gate_failed"] += 1
    traceback = None if isinstance(error, Unavailable) else error
    _LOG.error("gate_failed", extra={"gate": gate.text, "slot": slot, "error": str(error)}, exc_info=traceback)
    try:
        buckets = WATCH_DISTANCE if isinstance(error, Unavailable) else FAILED_BUCKETS
        sets = next_look(gate, engine.clock.now(), buckets, engine.deployment.shards)
        engine.gates.change(gate, GateChange(equals={"slot": slot}, sets=sets))
    except Unavailable:
        return False
    except Exception:  # noqa: BLE001 - whatever is wrong with this gate, it must not stay at this slot
        _LOG.exception("gate_not_moved", extra={"gate": gate.text, "slot": slot})
    return True


def _look(engine: Engine, seen: SeenGate, deadline: Deadline, counts: Counter[str], keys: Keys = Keys.NONE) -> bool:
    """Repair the holders, wake runs, and choose the time of the next look. A gate stays for its keys."""
    _repair(engine, seen.gate, deadline, counts)
    counts["woken"] += wake_free(engine, seen.gate, deadline)
    now = engine.clock.now()
    is_old = (seen.state.flagged_at or 0) + LEAVE_MS < now
    is_empty = not note_oldest(engine, seen, counts)
    if is_old and keys is Keys.NONE and is_empty:
        return _leave(engine, seen)
    # The next tick goes on with the keys that are left. One bucket is near, but slots are read again for five minutes.
    buckets = 1 if keys is Keys.LEFT else _buckets(engine, seen, now)
    return _look_later(engine, seen, now, buckets, counts)


def _buckets(engine: Engine, seen: SeenGate, now: int) -> int:
    """Return the buckets until the next look. The list of a slow rate needs one when its next instant is near."""
    if seen.limits is None or not seen.limits.per_second:
        return WATCH_DISTANCE
    ahead = rate.first_instant(seen.limits, engine.gates.read(seen.gate), now) - rate.LONGEST_AHEAD_MS - now
    return min(max(WATCH_DISTANCE, ahead // BUCKET_MS), STOPPED_BUCKETS)


def _repair(engine: Engine, gate: GateId, deadline: Deadline, counts: Counter[str]) -> None:
    """Free the places of attempts that ended or died without giving them back."""
    for page, holder, run in _holders(engine, gate, deadline):
        now = engine.clock.now()
        if not deadline.allows(now):
            return
        step = decide(holder, run, now)
        if step is Repair.KEEP:
            continue
        try:
            if run is None or step is Repair.FREE or _fenced(engine, run, step, now):
                engine.gates.give_back(gate, page, holder)
                counts["places_freed"] += 1
        except OnthedotError as error:
            _LOG.warning("place_not_freed", extra={"gate": gate.text, "run": holder.run_id, "error": str(error)})


def _holders(engine: Engine, gate: GateId, deadline: Deadline) -> Iterator[tuple[int, Holder, Record | None]]:
    pages = engine.gates.pages(gate)
    ids = sorted({holder.run_id for page in pages for holder in page})
    read = engine.store.get_many(ids, deadline) if ids else None
    for number, page in enumerate(pages):
        for holder in sorted(page):
            known = read is not None and holder.run_id not in read.unread and holder.run_id not in read.unreadable
            if read is not None and known:
                yield number, holder, read.found.get(holder.run_id)


def _fenced(engine: Engine, run: Record, step: Repair, now: int) -> bool:
    """Make sure that the attempt of a holder can neither start nor go on. Send the run again."""
    generation = fresh_generation()
    if step is Repair.LOSE:
        move = end_lost_attempt(engine, run, now, generation)
    else:
        move = run_moves.fence(run, now, fresh_generation=generation, deployment=engine.deployment)
    after = applied(run, move)
    if not is_record_written(after, engine.store.move(move)):
        return False
    if after.status is Status.DISPATCHED:
        send_runs(engine, [after], Deadline.after(now, BUCKET_MS // 12))
    else:
        engine.notify_children(after)
    return True


def _look_later(engine: Engine, seen: SeenGate, now: int, buckets: int, counts: Counter[str]) -> bool:
    """Move the gate to the slot of its next look, unless another process has moved it."""
    count_waiting(engine, seen, buckets, counts)
    look = next_look(seen.gate, now, buckets, engine.deployment.shards)
    as_read = {"slot": seen.state.slot, "due_at": seen.state.due_at}
    engine.gates.change(seen.gate, GateChange(equals=as_read, sets=look))
    return True


def _leave(engine: Engine, seen: SeenGate) -> bool:
    """Take the flag away, unless a run may be on its way to the list or the limits are being changed."""
    as_read = {"slot": seen.state.slot, "flagged_at": seen.state.flagged_at, "capacity": seen.state.capacity}
    change = GateChange(equals=as_read, sets={**_NO_FLAG, **_settled(engine, seen)}, forget_priorities=True)
    return engine.gates.change(seen.gate, change).done


def _settled(engine: Engine, seen: SeenGate) -> dict[str, Any]:
    """Return the change that lays the pages out for a lowered limit, when all workers know it and all pages fit.

    A change of the limits flags the gate first, so a gate that can leave has had its limits for a while. A change does
    not flag the keys: their pages stay as they are, which costs reads.
    """
    limits = seen.limits
    if seen.gate.is_key or limits is None or limits.in_flight is None:
        return {}
    if limits.put_at + SETTLED_MS > engine.clock.now() or seen.state.capacity == places.layout(limits.in_flight):
        return {}
    fits = places.fits(limits.in_flight, engine.gates.pages(seen.gate))
    return {"capacity": places.layout(limits.in_flight)} if fits else {}


AT_ONCE: Final = 500
"""Entries that are read, and shared out fairly among tenants, at a time."""
MANY: Final = 1_000
"""When more runs than this wait, the list gets parts."""


@dataclass(slots=True)
class QueueLook:
    engine: Engine
    queues: QueueStates
    limits: Limits
    claim_token: str
    deadline: Deadline
    counts: Counter[str]
    read: int = 0
    left: bool = False

    def has_time(self) -> bool:
        return self.deadline.allows(self.engine.clock.now())


def look_at_queue(look: QueueLook, gate: GateId, slot: str) -> None:
    """Wake runs, then move the gate of the queue to the slot of its next look, or take its flag away.

    While the queue is open, near runs are sent directly, also if runs are left on the list. Otherwise a queue whose
    runs come faster than looks can wake them would never be open again. While it is closed, near runs go on the list.
    Raise Unavailable.
    """
    engine = look.engine
    state = engine.gates.read(gate)
    if state.slot != slot:
        return  # the index lags
    pool, priority = read_queue_key(gate.key or "")
    began = engine.clock.now()
    emptied = False
    if engine.deployment.pools.get(pool) is None:
        emptied = _give_to_claim_pass(look, gate, state, priority)
    elif not look.queues.is_closed(pool, priority):
        emptied = _wake(look, gate, state, priority, pool)
    if (
        emptied
        and state.flagged_at is not None
        and state.flagged_at < began - LEAVE_MS
        and _leave_queue(look, gate, state)
    ):
        return
    closed = look.queues.is_closed(pool, priority)
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


def _leave_queue(look: QueueLook, gate: GateId, state: GateState) -> bool:
    """Take the flag away, unless the gate was flagged again since it was read."""
    change = GateChange(equals={"flagged_at": state.flagged_at}, sets=_NO_FLAG, forget_priorities=True)
    return look.engine.gates.change(gate, change).done


def _wake(look: QueueLook, gate: GateId, state: GateState, priority: Priority, pool: str) -> bool:
    """Wake as many runs as the queue can take, the earliest first. Return whether none is left on the list."""
    engine = look.engine
    room = look.queues.room(pool, priority)
    room = AT_ONCE if room is None else room
    entries = _waiting(look, gate, state, priority)
    while look.has_time() and (window := list(islice(entries, AT_ONCE))):
        chosen = fair_order(window, look.limits)[:room]
        look.left = look.left or len(chosen) < len(window)
        now = engine.clock.now()
        woken = _take_off(
            look,
            chosen,
            lambda entry: run_moves.wake(
                entry,
                now,  # noqa: B023
                deployment=engine.deployment,
                woken=None,
                claim_token=look.claim_token,
            ),
            lambda run: run.claim_token == look.claim_token,
        )
        unsent = send_runs(engine, woken, look.deadline) if woken else 0
        look.counts.update(woken=len(woken), sent=len(woken) - unsent, unsent=unsent)
        room -= len(woken)
        if not room or look.queues.is_closed(pool, priority):
            look.left = look.left or next(entries, None) is not None
            return not look.left
    look.left = look.left or next(entries, None) is not None
    return not look.left


def fair_order(entries: Sequence[SlotEntry], limits: Limits) -> list[SlotEntry]:
    """Order the runs by weighted round robin over the tenants. Each tenant's own runs keep their order.

    In every prefix of the result a tenant of weight w that has runs left has w times as many runs as a tenant of
    weight 1, give or take one turn.
    """
    turns: Counter[str] = Counter()
    ranked: list[tuple[float, int, SlotEntry]] = []
    for number, entry in enumerate(entries):
        turns[entry.tenant] += 1
        ranked.append((turns[entry.tenant] / limits.weight(entry.tenant), number, entry))
    return [entry for _, _, entry in sorted(ranked, key=lambda rank: rank[:2])]


def _give_to_claim_pass(look: QueueLook, gate: GateId, state: GateState, priority: Priority) -> bool:
    """Move the runs of a pool that is gone to fire slots, where the claim pass finds another pool for them."""
    entries = _waiting(look, gate, state, priority)
    while look.has_time() and (some := list(islice(entries, AT_ONCE))):
        now, shards = look.engine.clock.now(), look.engine.deployment.shards
        slots = {e.run_id: fire_slot(shard_of(job_id_of(e.run_id), shards), e.due_at, now) for e in some}
        moved = _take_off(
            look,
            some,
            lambda e: lifecycle.change_slot(e.run_id, e.generation, e.slot, slots[e.run_id]),  # noqa: B023
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
    slots = [waiting_slot(gate, priority, part) for part in range(state.parts or 1)]
    for entry in heapq.merge(*(_part(look, slot) for slot in slots), key=lambda entry: (entry.due_at, entry.run_id)):
        look.read += 1
        yield entry


def _part(look: QueueLook, slot: str) -> Iterator[SlotEntry]:
    for page in read_slot_pages(look.engine, slot, AT_ONCE):
        _set_aside(look, slot, faults_of(page.unreadable))
        yield from page.items


def _set_aside(look: QueueLook, slot: str, faults: dict[str, str]) -> None:
    whole = set_aside(look.engine, look.counts, slot, faults, look.deadline)
    look.left = look.left or not whole


@dataclass(slots=True)
class TickGates:
    """The gates in one tick.

    A closed queue is flagged before its runs are put on its list. One whose flag cannot be written is not tried again
    in the tick: its runs stay in their slots.
    """

    engine: Engine
    queues: QueueStates
    counts: Counter[str]
    limits: Limits = field(init=False)
    _flags: dict[tuple[str, Priority], GateState | None] = field(default_factory=dict)
    """The last flag of each queue. None: it cannot be written now."""

    def __post_init__(self) -> None:
        try:
            self.limits = self.engine.limits.read()
        except Unavailable as error:  # each tenant has weight 1 then, and no run waits for the limits
            _LOG.warning("limits_unknown", extra={"error": str(error)})
            self.limits = Limits(known=False)
        self.counts["limits_unknown"] += not self.limits.known

    def in_turns(self, entries: Sequence[SlotEntry]) -> list[SlotEntry]:
        return fair_order(entries, self.limits)

    def list_of(self, pool: str, priority: Priority) -> QueueList | None:
        known = self._flags.get((pool, priority))
        if known is None and (pool, priority) in self._flags:
            return None
        try:
            found = flag_queue(self.engine, pool, priority, self.engine.clock.now(), known)
        except Unavailable as error:
            _LOG.warning("queue_not_flagged", extra={"queue": queue_key(pool, priority), "error": str(error)})
            self._flags[pool, priority] = None
            return None
        self._flags[pool, priority] = found.state
        return found

    def look_at(self, gate: str, slot: str, claim_token: str, deadline: Deadline) -> bool:
        at = GateId.read(gate)
        try:
            if at.name != QUEUE:
                return look_at_gate(self.engine, at, slot, deadline, self.counts)
            look_at_queue(
                QueueLook(self.engine, self.queues, self.limits, claim_token, deadline, self.counts), at, slot
            )
        except Exception as error:  # noqa: BLE001 - whatever is wrong with this gate, the others are looked at
            return look_failed(self.engine, at, slot, error, self.counts)
        return True

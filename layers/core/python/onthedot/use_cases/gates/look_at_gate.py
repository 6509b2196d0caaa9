"""Look after a gate at which runs may wait: free the places of dead attempts, wake runs, and leave when none waits.

A look is the safety net below the wakes of workers. It works from the stored state alone, and may be repeated.
"""

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any, Final

from onthedot.domain.errors import OnthedotError, Unavailable
from onthedot.domain.gates import places, rate
from onthedot.domain.gates.names import GateId, keys_slot
from onthedot.domain.gates.repair import Repair, decide
from onthedot.domain.gates.state import GateChange, Holder
from onthedot.domain.ids import fresh_generation
from onthedot.domain.runs import lifecycle
from onthedot.domain.runs.records import Record, Status
from onthedot.domain.runs.slots import BUCKET_MS, WATCH_DISTANCE
from onthedot.ports import Deadline, Engine
from onthedot.use_cases.attempts.lost_attempts import end_lost_attempt
from onthedot.use_cases.dispatch.send_runs import send_runs
from onthedot.use_cases.gates.flag_gate import next_look
from onthedot.use_cases.gates.limited_gates import SeenGate, see
from onthedot.use_cases.gates.waiting_runs import add_counts, count_waiting, note_oldest
from onthedot.use_cases.gates.wake import visit_keys, wake_free
from onthedot.use_cases.outcomes import is_record_written
from onthedot.use_cases.workflows.notify_children import notify_children

_LOG: Final = logging.getLogger(__name__)
LEAVE_MS: Final = 110_000
"""A flag may be taken away after this time: the 30 s within which a run goes on the list, and the lag of the index."""
SETTLED_MS: Final = 60_000
"""The pages are laid out for a lowered limit so long after it was set: no attempt knows another limit any more."""
STOPPED_BUCKETS: Final = 60
"""A gate at which nothing may start is looked at this seldom. A change of its limits brings the look nearer."""
KEYS_MS: Final = 10_000
"""How long one look visits the keys of a gate. The next look goes on with the keys that are left."""
FAILED_BUCKETS: Final = 5
"""A gate or key that this version cannot look at is tried again after this number of buckets."""


class Keys(Enum):
    """The keys of a gate after a look at them."""

    NONE = "none"
    """No run waits at any key."""
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
        due = [entry for entry in page.items if entry.fire_at <= engine.clock.now()]
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
    except Exception as error:  # noqa: BLE001 - as each slot, each key is guarded by itself
        counts["gate_failed"] += 1
        traceback = None if isinstance(error, Unavailable) else error
        _LOG.error("gate_failed", extra={"gate": key.text, "error": str(error)}, exc_info=traceback)
        look_after_failure(engine, key, keys_slot(key), error)
    return counts


def look_after_failure(engine: Engine, gate: GateId, slot: str, error: Exception) -> bool:
    """Give a gate that could not be looked at in this slot a later look. Return whether it is no longer in its way."""
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
        move = lifecycle.fence(run, now, fresh_generation=generation, deployment=engine.deployment)
    after = lifecycle.applied(run, move)
    if not is_record_written(after, engine.store.move(move)):
        return False
    if after.status is Status.DISPATCHED:
        send_runs(engine, [after], Deadline.after(now, BUCKET_MS // 12))
    elif after.notify_pending is not None:
        notify_children(engine, after)
    return True


def _look_later(engine: Engine, seen: SeenGate, now: int, buckets: int, counts: Counter[str]) -> bool:
    """Move the gate to the slot of its next look, unless another process has moved it."""
    count_waiting(engine, seen, buckets, counts)
    look = next_look(seen.gate, now, buckets, engine.deployment.shards)
    as_read = {"slot": seen.state.slot, "fire_at": seen.state.fire_at}
    engine.gates.change(seen.gate, GateChange(equals=as_read, sets=look))
    return True


def _leave(engine: Engine, seen: SeenGate) -> bool:
    """Take the flag away, unless a run may be on its way to the list or the limits are being changed."""
    as_read = {"slot": seen.state.slot, "flagged_at": seen.state.flagged_at, "capacity": seen.state.capacity}
    gone: dict[str, Any] = {"slot": None, "fire_at": None, "flagged_at": None, "parts": None}
    change = GateChange(equals=as_read, sets={**gone, **_settled(engine, seen)}, forget_priorities=True)
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

"""Look after a gate at which runs may wait: free the places of dead attempts, wake runs, and leave when none waits.

A look is the safety net below the wakes of workers. It works from the stored state alone, and may be repeated.
"""

import logging
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from onthedot.domain.errors import OnthedotError
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
from onthedot.use_cases.gates.waiting_runs import count_waiting, note_oldest
from onthedot.use_cases.gates.wake import wake_free
from onthedot.use_cases.outcomes import is_record_written
from onthedot.use_cases.workflows.notify_children import notify_children

_LOG: Final = logging.getLogger(__name__)
LEAVE_MS: Final = 60_000
"""A flag may be taken away after this time: the 30 s within which a run goes on the list, and the lag of the index."""
SETTLED_MS: Final = 60_000
"""The pages are laid out for a lowered limit so long after it was set: no attempt knows another limit any more."""
STOPPED_BUCKETS: Final = 60
"""A gate at which nothing may start is looked at this seldom. A change of its limits brings the look nearer."""
KEYS_MS: Final = 10_000
"""How long one look visits the keys of a gate. The next look goes on with the keys that are left."""


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
    has_keys = _visit_keys(engine, gate, deadline.at_most(now + KEYS_MS), counts)
    return _look(engine, seen, deadline, counts, stays=has_keys)


def _visit_keys(engine: Engine, gate: GateId, deadline: Deadline, counts: Counter[str]) -> bool:
    """Look after the keys whose time has come. Return whether runs may wait at some key."""
    found = False
    cursor: str | None = None
    while True:
        page = engine.store.read_slot(keys_slot(gate), cursor)
        found = found or bool(page.items)
        for entry in page.items:
            now = engine.clock.now()
            if entry.fire_at > now or not deadline.allows(now):
                return True
            _visit_key(engine, GateId.read(entry.run_id), deadline, counts)
        cursor = page.cursor
        if cursor is None:
            return found


def _visit_key(engine: Engine, key: GateId, deadline: Deadline, counts: Counter[str]) -> None:
    """Look after one key. One that fails does not stop the others."""
    try:
        seen = see(engine, key)
        if seen.state.is_flagged:
            _look(engine, seen, deadline, counts)
    except Exception as error:  # noqa: BLE001 - as each slot, each key is guarded by itself
        counts["gate_failed"] += 1
        _LOG.error("gate_failed", extra={"gate": key.text, "error": str(error)}, exc_info=error)


def _look(engine: Engine, seen: SeenGate, deadline: Deadline, counts: Counter[str], *, stays: bool = False) -> bool:
    """Repair the holders, wake runs, and choose the time of the next look. `stays`: keys need the gate's slot."""
    _repair(engine, seen.gate, deadline, counts)
    counts["woken"] += wake_free(engine, seen.gate, deadline)
    now = engine.clock.now()
    is_old = (seen.state.flagged_at or 0) + LEAVE_MS < now
    is_empty = not note_oldest(engine, seen, counts)
    if is_old and not stays and is_empty:
        return _leave(engine, seen)
    return _look_later(engine, seen, now, _buckets(engine, seen, now), counts)


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

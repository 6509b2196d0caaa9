"""Read why a run waits at a gate, or will have to. Every read is bounded, however many runs wait there."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from onthedot.core import patience
from onthedot.core.errors import Unavailable
from onthedot.core.gate_names import QUEUE, TURN, GateId, gate_of_slot, waiting_slot
from onthedot.core.ports import Deadline
from onthedot.core.reasons import Reason
from onthedot.core.records import SCHEDULED, Record, Status
from onthedot.core.slots import read_queue_key
from onthedot.engine import Engine
from onthedot.gates.explained import (
    FREED_LATELY_MS,
    LEAST_FREED,
    MOST_COUNTED,
    MOST_NAMED,
    GateFacts,
    HeldPlace,
    has_instant_at,
    waits_at,
    will_wait_at,
)
from onthedot.gates.limited import limited_gates, limits_of
from onthedot.gates.show import holders_at, read_named
from onthedot.gates.state import GateState, Holder
from onthedot.gates.waiting import is_before

MOST_HOLDERS: Final = 10
"""The most attempts that are read to find out when places became free."""
WAITED_MS: Final = 2_000
"""An attempt that got its place this long after its time had waited for it."""


def read_gate_facts(engine: Engine, run: Record, now: int) -> GateFacts | None:
    """Read the facts about the gate at which the run waits. None: it waits at none. Raise Unavailable."""
    gate = gate_of_slot(run.slot)
    return _facts(engine, gate, run, now) if run.status is Status.PENDING and gate is not None else None


def explain_at_gate(run: Record, facts: GateFacts | None, now: int) -> Reason | None:
    """Say at which gate the run waits, or when a gate lets it start. None: neither. Without facts, name the gate."""
    gate = gate_of_slot(run.slot)
    if run.status is Status.PENDING and gate is not None:
        return waits_at(gate, run.priority, facts, now)
    if run.status in SCHEDULED and run.woken is not None and run.due_at > now:
        return has_instant_at(GateId.of(run.tenant, run.woken), run.due_at)
    return None


def explain_stopped_gates(engine: Engine, tenant: str, named: Sequence[str], but: GateId | None) -> list[Reason]:
    """Say which of the gates that a run has to ask are stopped, except the one at which it waits. Raise Unavailable."""
    gates = [each for each in limited_gates(engine, tenant, named) if each.gate != but]
    found = [will_wait_at(each.gate, each.limits) for each in gates]
    return [reason for reason in found if reason is not None]


def _facts(engine: Engine, gate: GateId, run: Record, now: int) -> GateFacts:
    state = engine.gates.read(gate)
    before = _count_before(engine, gate, state, run)
    if gate.name == QUEUE:
        return GateFacts(None, state, 0, before, backlog=_backlog(engine, gate))
    if gate.name == TURN:
        return GateFacts(None, state, 0, before)
    limits = limits_of(engine, gate)
    holders = holders_at(engine, gate, state)
    facts = GateFacts(limits, state, len(holders), before, start_by=run.start_by)
    if limits is None or limits.in_flight is None or len(holders) < limits.in_flight:
        return facts
    return replace(facts, freed_at=_freed_at(engine, holders, now), longest=_longest(engine, holders))


def _count_before(engine: Engine, gate: GateId, state: GateState, run: Record) -> int:
    """Count the runs of its priority that wait before this one, up to one more than `MOST_COUNTED`."""
    count = 0
    for part in range(state.parts or 1):
        slot = waiting_slot(gate, run.priority, part)
        cursor: str | None = None
        while count <= MOST_COUNTED:
            page = engine.store.read_slot(slot, cursor, MOST_COUNTED + 1 - count)
            before = sum(is_before(entry, run.due_at, run.run_id) for entry in page.items)
            count += before
            cursor = page.cursor
            if cursor is None or before < len(page.items):
                break
    return min(count, MOST_COUNTED + 1)


def _freed_at(engine: Engine, holders: Sequence[Holder], now: int) -> list[int]:
    """Return when places became free lately: when attempts got them that had waited. The oldest holder is the first."""
    lately = [holder for holder in holders if holder.run_id and holder.at >= now - FREED_LATELY_MS][-MOST_HOLDERS:]
    if len(lately) < LEAST_FREED:
        return []
    ids = list({holder.run_id for holder in lately})
    found = engine.store.get_many(ids, Deadline.after(now, patience.READ_MS)).found
    runs = [(holder, found.get(holder.run_id)) for holder in lately]
    return [
        holder.at
        for holder, run in runs
        if run is not None and run.attempt_token == holder.token and holder.at >= run.due_at + WAITED_MS
    ]


def _longest(engine: Engine, holders: Sequence[Holder]) -> list[HeldPlace]:
    """Return the places that are held longest, with the names of their jobs. The oldest holder is the first."""
    first = [holder for holder in holders if holder.run_id][:MOST_NAMED]
    named = read_named(engine, [holder.run_id for holder in first])
    return [
        HeldPlace(named.name(holder.run_id) or named.job_id(holder.run_id) or holder.run_id, holder.at)
        for holder in first
    ]


def _backlog(engine: Engine, gate: GateId) -> int | None:
    try:
        pool, priority = read_queue_key(gate.key or "")
        return None if engine.deployment.pools.get(pool) is None else engine.queues.visible(pool, priority)
    except Unavailable:
        return None

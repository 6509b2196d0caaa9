"""Read why a run waits at a gate, or will have to. Every read is bounded, however many runs wait there."""

from collections.abc import Sequence
from typing import Final

from onthedot.domain.errors import Unavailable
from onthedot.domain.gates.names import QUEUE, TURN, GateId, gate_of_slot, waiting_slot
from onthedot.domain.gates.state import GateState, Holder
from onthedot.domain.reports.explain import Reason
from onthedot.domain.reports.explain_gates import MOST_COUNTED, GateFacts, has_instant_at, waits_at, will_wait_at
from onthedot.domain.runs.queue_names import read_queue_key
from onthedot.domain.runs.records import SCHEDULED, Record, Status
from onthedot.ports import Deadline, Engine
from onthedot.use_cases import patience
from onthedot.use_cases.gates.limited_gates import limited_gates, limits_of
from onthedot.use_cases.gates.waiting_runs import is_before

MOST_HOLDERS: Final = 10
"""Most attempts that are read to find out how long attempts run."""


def explain_at_gate(engine: Engine, run: Record, now: int) -> Reason | None:
    """Say at which gate the run waits, or when a gate lets it start. None: neither. Raise Unavailable."""
    gate = gate_of_slot(run.slot)
    if run.status is Status.PENDING and gate is not None:
        return waits_at(gate, run.priority, _facts(engine, gate, run, now), now)
    if run.status in SCHEDULED and run.woken is not None and run.fire_at > now:
        return has_instant_at(GateId.of(run.tenant, run.woken), run.fire_at)
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
    pages = [state.holders] if state.capacity is None else engine.gates.pages(gate)
    holders = [holder for page in pages for holder in page]
    has_places = limits is not None and limits.in_flight is not None
    running = _running_ms(engine, holders, now) if has_places else []
    return GateFacts(limits, state, len(holders), before, running, start_by=run.start_by)


def _count_before(engine: Engine, gate: GateId, state: GateState, run: Record) -> int:
    """Count the runs of its priority that wait before this one, up to one more than `MOST_COUNTED`."""
    count = 0
    for part in range(state.parts or 1):
        slot = waiting_slot(gate, run.priority, part)
        cursor: str | None = None
        while count <= MOST_COUNTED:
            page = engine.store.read_slot(slot, cursor, MOST_COUNTED + 1 - count)
            before = sum(is_before(entry, run.fire_at, run.run_id) for entry in page.items)
            count += before
            cursor = page.cursor
            if cursor is None or before < len(page.items):
                break
    return min(count, MOST_COUNTED + 1)


def _running_ms(engine: Engine, holders: Sequence[Holder], now: int) -> list[int]:
    """Return how long some of the holders have been running, and none of attempts that do not run."""
    some = sorted(holders, key=lambda holder: (holder.at, holder.token))[-MOST_HOLDERS:]
    ids = list({holder.run_id for holder in some if holder.run_id})
    found = engine.store.get_many(ids, Deadline.after(now, patience.READ_MS)).found if ids else {}
    runs = [(holder, found.get(holder.run_id)) for holder in some]
    return [
        max(0, now - run.started_at)
        for holder, run in runs
        if run is not None
        and run.status is Status.RUNNING
        and run.attempt_token == holder.token
        and run.started_at is not None
    ]


def _backlog(engine: Engine, gate: GateId) -> int | None:
    try:
        pool, priority = read_queue_key(gate.key or "")
        return None if engine.deployment.pools.get(pool) is None else engine.queues.visible(pool, priority)
    except Unavailable:
        return None

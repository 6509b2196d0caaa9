"""Find the gates and limits at which runs of a tenant wait."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from onthedot.domain.errors import Unavailable
from onthedot.domain.gates.limits import GateLimits
from onthedot.domain.gates.names import GateId, keys_slot, tenant_gate
from onthedot.domain.reports.hold_ups import HoldUp, at_gate, at_keys
from onthedot.ports import Engine
from onthedot.use_cases.gates.show_gates import GateUse, list_gates, use_of

MOST_GATES: Final = 100
"""Gates of a tenant that are looked at, by name."""
READERS: Final = 8


def gate_hold_ups(engine: Engine, tenant: str) -> Sequence[HoldUp]:
    """Return the limits of the tenant and its gates at which runs wait. Raise Unavailable."""
    found = [*_of_tenant(engine, tenant)]
    gates = list_gates(engine, tenant, MOST_GATES, None).items
    for gate in gates:
        found += _at(GateId(tenant, gate.named), gate.limits, gate.use)
    with ThreadPoolExecutor(READERS) as readers:
        named = [GateId(tenant, gate.named) for gate in gates]
        found += [hold_up for hold_up in readers.map(lambda gate: _at_keys(engine, gate), named) if hold_up is not None]
    return found


def _of_tenant(engine: Engine, tenant: str) -> Iterator[HoldUp]:
    limits = engine.limits.find(tenant)
    if limits is not None and not limits.is_empty:
        yield from _at(tenant_gate(tenant), limits, use_of(engine, tenant_gate(tenant)))


def _at(gate: GateId, limits: GateLimits, use: GateUse | None) -> Iterator[HoldUp]:
    if use is not None and use.waiting.number:
        runs = use.waiting.number
        yield at_gate(gate, limits, use.in_use, runs, more=use.waiting.is_more, since=use.oldest_at)


def _at_keys(engine: Engine, gate: GateId) -> HoldUp | None:
    """Return the hold-up at the keys of a gate. One that cannot be read is left out, and `GET /v1/gates` shows it."""
    try:
        first = engine.store.read_slot(keys_slot(gate), limit=1).items
    except Unavailable:
        return None
    return at_keys(gate.name, GateId.read(first[0].run_id).key or "") if first else None

"""Find the gates that a run has to ask, with their limits."""

from collections.abc import Iterable
from dataclasses import dataclass

from onthedot.domain.gates.limits import GateLimits
from onthedot.domain.gates.names import QUEUE, TENANT, GateId, tenant_gate
from onthedot.domain.gates.state import GateState
from onthedot.ports import Engine


@dataclass(frozen=True, slots=True)
class LimitedGate:
    """A gate with its limits."""

    gate: GateId
    limits: GateLimits


@dataclass(frozen=True, slots=True)
class SeenGate:
    """A gate as it was read just now."""

    gate: GateId
    limits: GateLimits | None
    """None: the gate limits nothing, because it was deleted or its limits were cleared."""
    state: GateState


def see(engine: Engine, gate: GateId) -> SeenGate:
    """Read a gate. Raise Unavailable."""
    return SeenGate(gate, limits_of(engine, gate), engine.gates.read(gate))


def limits_of(engine: Engine, gate: GateId) -> GateLimits | None:
    """Return the limits of a gate, at most one second old. None: it limits nothing. Raise Unavailable."""
    if gate.name == QUEUE:
        return None
    found = engine.limits.find(gate.tenant) if gate.name == TENANT else engine.gates.find(gate.tenant, gate.name)
    return None if found is None or found.is_empty else found


def limited_gates(engine: Engine, tenant: str, named: Iterable[str]) -> list[LimitedGate]:
    """Return the gates that limit a run, in the order in which it asks them: the tenant's own first.

    All runs ask in the same order, so that no two of them wait for each other. Raise Unavailable.
    """
    gates = [tenant_gate(tenant), *sorted({GateId.of(tenant, one) for one in named})]
    return [LimitedGate(gate, limits) for gate in gates if (limits := limits_of(engine, gate)) is not None]

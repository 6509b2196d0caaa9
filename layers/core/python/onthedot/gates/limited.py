"""Find the gates that a run has to ask, with their limits."""

from collections.abc import Iterable
from dataclasses import dataclass

from onthedot.core.gate_names import QUEUE, TENANT, TURN, GateId, tenant_gate
from onthedot.core.records import TERMINAL, Status
from onthedot.engine import Engine
from onthedot.gates.limits import GateLimits
from onthedot.gates.state import GateState
from onthedot.schedules.choices import OverlapPolicy


@dataclass(frozen=True, slots=True)
class LimitedGate:
    gate: GateId
    limits: GateLimits

    def seen(self, state: GateState) -> "SeenGate":
        return SeenGate(self.gate, self.limits, state)


@dataclass(frozen=True, slots=True)
class SeenGate:
    gate: GateId
    limits: GateLimits | None
    """None: the gate limits nothing, because it was deleted or its limits were cleared."""
    state: GateState


def see(engine: Engine, gate: GateId) -> SeenGate:
    return SeenGate(gate, limits_of(engine, gate), engine.gates.read(gate))


def limits_of(engine: Engine, gate: GateId) -> GateLimits | None:
    """Return the limits of a gate, at most one second old. None: it limits nothing. Raise Unavailable."""
    if gate.name == QUEUE:
        return None
    if gate.name == TURN:
        return _turn(engine, gate.key or "")
    found = engine.limits.find(gate.tenant) if gate.name == TENANT else engine.gates.find(gate.tenant, gate.name)
    return None if found is None or found.is_empty else found


def _turn(engine: Engine, job_id: str) -> GateLimits | None:
    """Return the limits of a job's turn: one run at a time.

    None: the runs of the job need not wait, or the job no longer schedules them. Then each is checked again.
    """
    job = engine.store.get(job_id)
    if job is None or job.status not in (Status.ACTIVE, Status.COMPLETED) or job.recurrence is None:
        return None
    return None if job.recurrence.overlap is OverlapPolicy.ALLOW else GateLimits(in_flight=1)


def is_turn_free(engine: Engine, gate: GateId) -> bool:
    """Return whether the run of the job that started last has ended. Raise Unavailable."""
    job = engine.store.get(gate.key or "")
    last = None if job is None or job.last_started_run is None else engine.store.get(job.last_started_run)
    return last is None or last.status in TERMINAL


def limited_gates(engine: Engine, tenant: str, named: Iterable[str]) -> list[LimitedGate]:
    """Return the gates that limit a run, in the order in which it asks them: the tenant's own first.

    All runs ask in the same order, so that no two of them wait for each other. Raise Unavailable.
    """
    gates = [tenant_gate(tenant), *sorted({GateId.of(tenant, one) for one in named})]
    return [LimitedGate(gate, limits) for gate in gates if (limits := limits_of(engine, gate)) is not None]

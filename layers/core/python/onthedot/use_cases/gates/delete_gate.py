"""Delete a gate. The runs that wait there, and jobs that still name it, go on without it."""

from onthedot.domain.errors import GateNotFound, InvalidRequest
from onthedot.domain.gates.names import GateId
from onthedot.ports import Engine
from onthedot.use_cases.gates.change_limits import change_limits
from onthedot.use_cases.gates.put_gate import name_problems


def delete_gate(engine: Engine, tenant: str, name: str) -> None:
    """Delete a gate of a tenant. Raise GateNotFound, InvalidRequest for one key of a gate, and Unavailable."""
    if ":" in name and (found := name_problems(name)):
        raise InvalidRequest(*found)
    if engine.gates.find(tenant, name) is None:
        raise GateNotFound(name)
    change_limits(engine, GateId(tenant, name), None, lambda: engine.gates.put(tenant, name, None))

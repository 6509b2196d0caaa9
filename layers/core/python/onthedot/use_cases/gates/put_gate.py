"""Make a gate of a tenant, or replace its limits."""

from dataclasses import replace

from onthedot.domain.errors import InvalidRequest, Problem
from onthedot.domain.gates.limits import MOST_GATES_OF_TENANT, GateLimits, problems
from onthedot.domain.gates.names import NAME, GateId
from onthedot.ports import Engine
from onthedot.use_cases.gates.change_limits import change_limits


def put_gate(engine: Engine, tenant: str, name: str, limits: GateLimits, by: str | None = None) -> None:
    """Set all limits of a gate, in the name of a token. When this returns they are in force everywhere.

    Raise InvalidRequest or Unavailable.
    """
    found = [*name_problems(name), *problems(limits)]
    if found:
        raise InvalidRequest(*found)
    _refuse_too_many(engine, tenant, name)

    def write() -> None:
        engine.gates.put(tenant, name, replace(limits, put_at=engine.clock.now(), put_by=by))

    change_limits(engine, GateId(tenant, name), limits, write)


def name_problems(name: str) -> list[Problem]:
    """Return a problem when no gate can have this name."""
    if NAME.fullmatch(name):
        return []
    gate, colon, _ = name.partition(":")
    if colon and NAME.fullmatch(gate):
        return [Problem("name", f"is one key of a gate; a key has the limits of its gate, so change {gate}")]
    return [Problem("name", "is not the name of a gate; give 1 to 64 of a-z, 0-9, _ and -")]


def _refuse_too_many(engine: Engine, tenant: str, name: str) -> None:
    if engine.gates.find(tenant, name) is not None:
        return
    others, cursor = 0, None
    while others < MOST_GATES_OF_TENANT:
        page = engine.gates.names(tenant, MOST_GATES_OF_TENANT, cursor)
        others += sum(1 for other, _ in page.items if other != name)
        cursor = page.cursor
        if cursor is None:
            break
    if others >= MOST_GATES_OF_TENANT:
        message = f"is one gate too many: a tenant has at most {MOST_GATES_OF_TENANT:,}; use keys, or delete a gate"
        raise InvalidRequest(Problem("name", message))

"""Set and remove the limits of gates and tenants, so that they are in force everywhere when the call returns."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from onthedot.access.tokens import RESERVED_TENANT, tenant_problems
from onthedot.core.choices import Priority
from onthedot.core.errors import InvalidRequest, NotFound, OnthedotError, Problem, Unavailable
from onthedot.core.gate_names import NAME, GateId, keys_slot, tenant_gate
from onthedot.core.ports import Deadline
from onthedot.engine import Engine
from onthedot.gates.flag import flag_gate
from onthedot.gates.limits import IN_FORCE_MS, MOST_GATES_OF_TENANT, GateLimits, TenantLimits, problems
from onthedot.gates.state import GateState
from onthedot.gates.wake import forget_instants, wake_waiting

_LOG: Final = logging.getLogger(__name__)
WAKE_MS: Final = 10_000
"""For waking runs. A tick wakes the rest."""
New = TypeVar("New", GateLimits, TenantLimits, None)


def put_gate(engine: Engine, tenant: str, name: str, limits: GateLimits, by: str | None = None) -> None:
    """Set all limits of a gate, in the name of a token. Raise InvalidRequest or Unavailable."""
    if found := [*name_problems(name), *problems(limits)]:
        raise InvalidRequest(*found)
    _refuse_too_many(engine, tenant, name)
    _change(engine, GateId(tenant, name), limits, lambda new: engine.gates.put(tenant, name, new), by)


def delete_gate(engine: Engine, tenant: str, name: str) -> None:
    """Delete a gate of a tenant. Raise NotFound, InvalidRequest for one key of a gate, and Unavailable."""
    if ":" in name and (found := name_problems(name)):
        raise InvalidRequest(*found)
    if engine.gates.find(tenant, name) is None:
        raise NotFound("gate", name)
    _change(engine, GateId(tenant, name), None, lambda new: engine.gates.put(tenant, name, new))


def put_limits(engine: Engine, tenant: str, limits: TenantLimits, by: str | None = None) -> TenantLimits:
    """Set all limits of a tenant, in the name of a token, and return them. Raise InvalidRequest or Unavailable."""
    if found := [*tenant_problems(tenant), *problems(limits)]:
        raise InvalidRequest(*found)
    return _change(engine, tenant_gate(tenant), limits, lambda new: engine.limits.put(tenant, new), by)


def clear_limits(engine: Engine, tenant: str) -> bool:
    """Remove the limits of a tenant. Return whether it had any. Raise InvalidRequest or Unavailable."""
    if tenant != RESERVED_TENANT and (found := tenant_problems(tenant)):
        raise InvalidRequest(*found)
    had_limits = engine.limits.find(tenant) is not None
    _change(engine, tenant_gate(tenant), None, lambda new: engine.limits.put(tenant, new))
    return had_limits


def _change(engine: Engine, gate: GateId, limits: New, put: Callable[[New], None], by: str | None = None) -> New:
    """Store new limits of a gate, wait until they are in force, and wake the runs that may start now.

    The gate is flagged first. So a tick looks at it soon after a crash at any point here. Raise Unavailable.
    """
    state = engine.gates.read(gate)
    if _may_wait(engine, gate, state):
        priority = min(state.priorities, default=Priority.MEDIUM)
        flag_gate(engine, gate, priority, engine.clock.now(), state, soon=True)
    stored = limits if limits is None else replace(limits, put_at=engine.clock.now(), put_by=by)
    put(stored)
    engine.clock.sleep_until(engine.clock.now() + IN_FORCE_MS)
    if limits is None or not limits.is_stopped:
        _wake(engine, gate)
    return stored


def _wake(engine: Engine, gate: GateId) -> None:
    """Wake runs. The limits are written, so the caller must not get an error: a tick wakes the runs that are left."""
    try:
        # A process that still knew the old limits may have put a run on the list meanwhile.
        state = engine.gates.read(gate)
        forget_instants(engine, gate, state)
        if _may_wait(engine, gate, state):
            wake_waiting(engine, gate, Deadline.after(engine.clock.now(), WAKE_MS))
    except OnthedotError as error:
        _LOG.warning("left_to_a_pass", extra={"gate": gate.text, "error": str(error)})


def _may_wait(engine: Engine, gate: GateId, state: GateState) -> bool:
    """Return whether runs may wait at the gate or at one of its keys."""
    return state.is_flagged or bool(engine.store.read_slot(keys_slot(gate)).items)


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


@dataclass(slots=True)
class GateCheck:
    """A check of the gates of one request. It asks for each gate once, however many jobs name it.

    After a failed read it asks no more: a request with many jobs must not wait for each of their gates.
    """

    engine: Engine
    tenant: str
    known: dict[str, bool] = field(default_factory=dict)
    failed: Unavailable | None = None

    def check(self, gates: Sequence[str]) -> None:
        """Raise InvalidRequest that names each gate that does not exist. Raise Unavailable."""
        names = [GateId.of(self.tenant, named).name for named in gates]
        problems = [
            Problem(f"gates.{number}", f"there is no gate {name}; make it first with PUT /v1/gates/{name}")
            for number, name in enumerate(names)
            if not self._exists(name)
        ]
        if problems:
            raise InvalidRequest(*problems)

    def _exists(self, name: str) -> bool:
        if name not in self.known:
            if self.failed is not None:
                raise self.failed
            try:
                self.known[name] = self.engine.gates.find(self.tenant, name) is not None
            except Unavailable as error:
                self.failed = error
                raise
        return self.known[name]

"""Change the limits of a gate or a tenant, so that they are in force everywhere when the call returns."""

import logging
from collections.abc import Callable
from typing import Final

from onthedot.domain.errors import OnthedotError
from onthedot.domain.gates.limits import IN_FORCE_MS, GateLimits
from onthedot.domain.gates.names import GateId, keys_slot
from onthedot.domain.gates.state import GateChange, GateState
from onthedot.domain.runs.records import Priority
from onthedot.ports import Deadline, Engine
from onthedot.use_cases.gates.flag_gate import flag_gate
from onthedot.use_cases.gates.wake import wake_waiting

_LOG: Final = logging.getLogger(__name__)
WAKE_MS: Final = 10_000
"""For waking runs. A tick wakes the rest."""


def change_limits(engine: Engine, gate: GateId, limits: GateLimits | None, write: Callable[[], None]) -> None:
    """Write new limits of a gate, wait until they are in force, and wake the runs that may start now.

    The gate is flagged first. So a tick looks at it soon after a crash at any point here. Raise Unavailable.
    """
    state = engine.gates.read(gate)
    if _may_wait(engine, gate, state):
        priority = min(state.priorities, default=Priority.MEDIUM)
        flag_gate(engine, gate, priority, engine.clock.now(), state, soon=True)
    write()
    engine.clock.sleep_until(engine.clock.now() + IN_FORCE_MS)
    if limits is None or not limits.is_stopped:
        _wake(engine, gate)


def _wake(engine: Engine, gate: GateId) -> None:
    """Wake runs. The limits are written, so the caller must not get an error: a tick wakes the runs that are left."""
    try:
        # A process that still knew the old limits may have put a run on the list meanwhile.
        state = engine.gates.read(gate)
        _forget_instants(engine, gate, state)
        if _may_wait(engine, gate, state):
            wake_waiting(engine, gate, Deadline.after(engine.clock.now(), WAKE_MS))
    except OnthedotError as error:
        _LOG.warning("left_to_a_pass", extra={"gate": gate.text, "error": str(error)})


def _forget_instants(engine: Engine, gate: GateId, state: GateState) -> None:
    """Let the next runs reserve instants of the new rate, and not after all instants of the old one."""
    if state.next_instant is not None and state.next_instant > engine.clock.now() * 1000:
        forget = GateChange(equals={"next_instant": state.next_instant}, sets={"next_instant": None})
        engine.gates.change(gate, forget)


def _may_wait(engine: Engine, gate: GateId, state: GateState) -> bool:
    """Return whether runs may wait at the gate or at one of its keys."""
    return state.is_flagged or bool(engine.store.read_slot(keys_slot(gate)).items)

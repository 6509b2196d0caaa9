"""Say why a gate refused a run, in few words that are stored with the run: they explain it after its end too."""

from onthedot.domain.gates.limits import GateLimits
from onthedot.domain.gates.names import QUEUE, TENANT, TURN, GateId
from onthedot.domain.gates.state import GateState


def why_refused(gate: GateId, limits: GateLimits, state: GateState) -> str | None:
    """Return why the run has to wait, by the state that refused it. None: the name of the gate says it."""
    if gate.name in (QUEUE, TURN):
        return None
    whose = "the tenant" if gate.name == TENANT else "the gate"
    if limits.is_stopped:
        return f"{whose} was paused" if limits.paused else f"{whose} let nothing start"
    if limits.in_flight is not None and state.capacity is not None:
        return f"its {limits.in_flight:,} places were in use, or other runs waited before it"
    if limits.in_flight is not None and len(state.holders) >= limits.in_flight:
        places = (
            "1 of 1 place was" if limits.in_flight == 1 else f"{len(state.holders)} of {limits.in_flight} places were"
        )
        return f"{places} in use{_longest(state)}"
    return "other runs waited before it"


def _longest(state: GateState) -> str:
    """Name the run that had its place longest. Holders of older versions have no run."""
    runs = sorted((holder.at, holder.run_id) for holder in state.holders if holder.run_id)
    return f", the longest by {runs[0][1]}" if runs else ""

"""Flag a gate: put it into a slot in which a tick looks at it, before a run waits there."""

from typing import Final

from onthedot.core.choices import Priority
from onthedot.core.errors import Unavailable
from onthedot.core.gate_names import GateId, keys_slot, look_slot
from onthedot.core.slots import BUCKET_MS, DECISION_MS, WATCH_DISTANCE
from onthedot.engine import Engine
from onthedot.gates.state import GateChange, GateState

FRESH_MS: Final = 5_000
"""A flag that is younger than this is not renewed, so that many runs can wait with one write."""
OVERDUE_MS: Final = 15 * BUCKET_MS
"""A gate whose look is so late may be in a shard that no tick serves. The next flag gives it another slot."""
TRIES: Final = 10


def flag_gate(
    engine: Engine, gate: GateId, priority: Priority, now: int, state: GateState | None = None, *, soon: bool = False
) -> GateState:
    """Flag the gate for runs of this priority. A run may go on its list until 30 s after the flag's time.

    `state` is the state if the caller has just read it. `soon`: a tick must look within two minutes, also if the
    gate is flagged already and its next look is far. Raise Unavailable.
    """
    state = engine.gates.read(gate) if state is None else state
    for _ in range(TRIES):
        if not soon and _is_fresh(state, priority, now):
            return state
        if gate.is_key:
            # The look at the gate visits the key. So the flag of the gate is at most 5 s older than that of the key.
            flag_gate(engine, gate.base, priority, now)
        answer = engine.gates.change(gate, _flag(engine, gate, state, priority, now, soon=soon))
        if answer.done:
            return answer.state
        state = answer.state
    raise Unavailable(f"gate {gate.named} keeps changing; try again")


def is_in_time(state: GateState, now: int) -> bool:
    return state.flagged_at is not None and now - state.flagged_at < DECISION_MS


def next_look(gate: GateId, now: int, buckets: int, shards: int) -> dict[str, str | int]:
    """Return the fields of a state that have the gate looked at after this number of buckets."""
    at = now // BUCKET_MS * BUCKET_MS + buckets * BUCKET_MS
    return {"slot": keys_slot(gate) if gate.is_key else look_slot(gate, at, shards), "due_at": at}


def _is_fresh(state: GateState, priority: Priority, now: int) -> bool:
    return state.flagged_at is not None and now - state.flagged_at <= FRESH_MS and priority in state.priorities


def _flag(engine: Engine, gate: GateId, state: GateState, priority: Priority, now: int, *, soon: bool) -> GateChange:
    needs_slot = soon or state.slot is None or (state.due_at or 0) < now - OVERDUE_MS
    look = next_look(gate, now, WATCH_DISTANCE, engine.deployment.shards) if needs_slot else {}
    return GateChange(equals={"slot": state.slot}, sets={**look, "flagged_at": now}, priorities=frozenset({priority}))

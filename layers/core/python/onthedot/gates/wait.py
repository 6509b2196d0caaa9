"""Put a run that a gate refused on the waiting list of the gate.

The gate is flagged first, so that a tick looks at it, and the run goes on the list within 30 seconds of the flag. Then
the worker looks once more: a place that became free before the run was on the list has woken no run.
"""

import logging
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from onthedot.core import patience
from onthedot.core.engine import Listed, Permit
from onthedot.core.errors import Unavailable
from onthedot.core.gate_names import GateId, gate_of_slot, part_of_slot, turn_gate, waiting_slot
from onthedot.core.ids import fresh_generation
from onthedot.core.outcomes import current_record
from onthedot.core.ports import Deadline, RunMessage
from onthedot.core.records import Record, Status
from onthedot.core.send import message_for
from onthedot.core.slots import shard_of
from onthedot.engine import Engine
from onthedot.gates import run_moves
from onthedot.gates.ask import TooSoon, ask_gates
from onthedot.gates.flag import flag_gate, is_in_time
from onthedot.gates.give_back import NO_PAGE
from onthedot.gates.limited import SeenGate, see
from onthedot.gates.limits import GateLimits
from onthedot.gates.state import GateChange, GateState, why_refused
from onthedot.gates.waiting import first_waiting, is_before, is_list_empty
from onthedot.gates.wake import free_places, reserve_instants, wake_next

_LOG: Final = logging.getLogger(__name__)
MANY_PARTS: Final = 8
"""Parts of a waiting list after a write to it was throttled. One partition of the index takes 1,000 writes a second."""


_ONE: Final = GateLimits(in_flight=1)


def ask_or_wait(
    engine: Engine, message: RunMessage, named: Iterable[str], turn: str | None, near_ms: int
) -> Permit | Listed | Record | None:
    """Ask the gates of a run, and put the run on the list of a gate that refuses: see `Points.ask`."""
    answer = ask_gates(engine, message, named, fresh_generation(), near_ms)
    if isinstance(answer, TooSoon):
        return wait_for_rate(engine, message, answer) or Listed(answer.at.gate.named)
    if isinstance(answer, SeenGate):
        return wait_at_gate(engine, message, answer) or Listed(answer.gate.named)
    if answer is None or turn is None:
        return answer
    return replace(answer, held=(*answer.held, f"{NO_PAGE}#{turn_gate(message.tenant, turn).named}"))


def is_turn_awaited(engine: Engine, job: Record) -> bool:
    """Return whether runs of the job wait for the end of the one that started last."""
    gate = turn_gate(job.tenant, job.job_id)
    state = engine.gates.read(gate)
    return state.is_flagged and not is_list_empty(engine, SeenGate(gate, _ONE, state))


def wait_for_turn(engine: Engine, message: RunMessage, job: Record, why: str) -> None:
    """Put a run on the list of its job's runs that wait for the end of the one that started last."""
    gate = turn_gate(job.tenant, job.job_id)
    wait_at_gate(engine, message, SeenGate(gate, _ONE, engine.gates.read(gate)), why)


def wait_for_rate(engine: Engine, message: RunMessage, refused: TooSoon) -> Record | None:
    """Send a run that came too soon again, for the instant that it has reserved.

    Return the run as it is stored now if another process has moved it, else None. Raise Unavailable.
    """
    gate = refused.at.gate
    now = engine.clock.now()
    generation = fresh_generation()
    move = run_moves.reserve(
        message.run_id,
        message.generation,
        refused.instant,
        now,
        woken=gate.named,
        fresh_generation=generation,
        deployment=engine.deployment,
    )
    outcome = engine.store.move(move)
    current = current_record(outcome)
    if current is None or current.generation != generation:
        return current
    sent = replace(message, generation=generation, due_at=refused.instant, woken=gate.named)
    engine.queues.send([sent], Deadline.after(now, patience.SEND_MS))
    pass_on(engine, message, gate)
    return None


def wait_at_gate(engine: Engine, message: RunMessage, refused: SeenGate, why: str | None = None) -> Record | None:
    """Put the run on the waiting list of the gate that refused it. `why` is stored with the run.

    Return the run as it is stored now if another process has moved it, else None. Raise Unavailable: then the message
    must be delivered again.
    """
    gate = refused.gate
    state = flag_gate(engine, gate, message.priority, engine.clock.now(), refused.state)
    slot = waiting_slot(gate, message.priority, shard_of(message.run_id, state.parts or 1))
    generation = fresh_generation()
    now = engine.clock.now()
    move = run_moves.wait(
        message.run_id,
        message.generation,
        slot,
        now,
        gate=gate.named,
        fresh_generation=generation,
        refused=why_refused(gate, refused.limits, refused.state),
        why=why,
    )
    try:
        outcome = engine.store.move(move)
    except Unavailable:
        _spread(engine, gate, state)
        raise
    waiting = current_record(outcome)
    if waiting is None or waiting.generation != generation:
        return waiting
    if not is_in_time(state, engine.clock.now()):
        _flag_late(engine, gate, waiting)
    pass_on(engine, message, gate)
    look_again(engine, gate, waiting)
    return None


def flag_again(engine: Engine, run: Record) -> None:
    """Flag the gate at whose list a message has found its run: the process that put it there may have been too late."""
    gate = gate_of_slot(run.slot)
    if run.status is Status.PENDING and gate is not None:
        _flag_late(engine, gate, run)
        look_again(engine, gate, run)


def _flag_late(engine: Engine, gate: GateId, run: Record) -> None:
    """Flag the gate for a run that is on its list already. The list may have fewer parts than when it went there."""
    state = flag_gate(engine, gate, run.priority, engine.clock.now())
    part = part_of_slot(run.slot)
    if part >= (state.parts or 1):
        engine.gates.change(gate, GateChange(sets={"parts": max(part + 1, MANY_PARTS)}))


def look_again(engine: Engine, gate: GateId, run: Record) -> None:
    """Take the run off the list again and send it, if a place is free and no run is before it."""
    seen = see(engine, gate)
    if not free_places(engine, seen):
        return
    first = first_waiting(engine, seen, run.priority, 1)
    if first and is_before(first[0], run.due_at, run.run_id):
        return
    at = None
    if seen.limits is not None and seen.limits.per_second:
        instants = reserve_instants(engine, seen, 1)
        if not instants:
            return
        at = instants[0]
    now = engine.clock.now()
    token = f"wake/{fresh_generation()}"
    move = run_moves.wake(run, now, deployment=engine.deployment, woken=gate.named, at=at, claim_token=token)
    current = current_record(engine.store.move(move))
    if current is not None and current.claim_token == token and current.status is Status.DISPATCHED:
        engine.queues.send([message_for(current)], Deadline.after(now, patience.SEND_MS))


def pass_on(engine: Engine, message: RunMessage, waits_at: GateId | None = None) -> None:
    """Wake the next run at the gate at which this run was woken, because this run does not take its place there.

    `waits_at` is the gate at which the run waits now. This raises nothing: the look finds the place.
    """
    if message.woken is None:
        return
    gate = GateId.of(message.tenant, message.woken)
    if gate == waits_at:
        return
    try:
        wake_next(engine, gate)
    except Unavailable as error:
        _LOG.warning("wake_not_passed_on", extra={"gate": gate.text, "error": str(error)})


def _spread(engine: Engine, gate: GateId, state: GateState) -> None:
    """Spread the list over more partitions of the index, because a write to it failed: it may be throttled."""
    if (state.parts or 1) < MANY_PARTS:
        try:
            engine.gates.change(gate, GateChange(equals={"slot": state.slot}, sets={"parts": MANY_PARTS}))
        except Unavailable as error:
            _LOG.warning("list_not_spread", extra={"gate": gate.text, "error": str(error)})

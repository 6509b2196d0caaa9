"""Explain what a run waits for at a gate: which gate, how many run, how many wait before it, and about when it goes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from onthedot.domain.gates import rate
from onthedot.domain.gates.limits import GateLimits
from onthedot.domain.gates.names import QUEUE, TENANT, TURN, GateId, gate_of_slot
from onthedot.domain.gates.state import GateState
from onthedot.domain.gates.turns import share
from onthedot.domain.instants import format_instant
from onthedot.domain.reports.explain import Reason
from onthedot.domain.runs.records import Priority, Record, Status
from onthedot.domain.runs.start_window import is_over

MOST_COUNTED: Final = 1_000
"""Most waiting runs that are counted."""
_MINUTE: Final = 60
_HOUR: Final = 3_600


@dataclass(frozen=True, slots=True)
class GateFacts:
    """The facts about a gate at which a run waits."""

    limits: GateLimits | None
    """None: the gate limits nothing any more."""
    state: GateState
    in_use: int
    """Attempts that have a place."""
    before: int
    """Runs of the same priority that wait before this one, at most one more than `MOST_COUNTED`."""
    running_ms: Sequence[int] = ()
    """How long the present attempts have been running."""
    backlog: int | None = None
    """Of a queue: its messages. None: not known."""
    start_by: int | None = None
    """The last instant for the first start of the run. None: it may start at any time."""


def name_of(gate: GateId) -> str:
    """Return the gate in words."""
    if gate.name == TENANT:
        return f"the limits of tenant {gate.tenant}"
    if gate.name == QUEUE:
        return f"queue {gate.key}"
    if gate.name == TURN:
        return f"its turn among the runs of job {gate.key}"
    return f"gate {gate.name}" if gate.key is None else f"gate {gate.name}, key {gate.key}"


def waits_at(gate: GateId, priority: Priority, facts: GateFacts | None, now: int) -> Reason:
    """Return why a run waits on the list of a gate. Without facts, only the gate is known."""
    if gate.name == QUEUE:
        return Reason("waits_for_queue", _for_queue(gate, facts))
    if gate.name == TURN:
        before = "" if facts is None else f"; {_before(facts, priority)}"
        return Reason("waits_for_turn", f"waits for {name_of(gate)}{before}")
    if facts is None:
        return Reason("waits_at_gate", f"waits at {name_of(gate)}")
    if facts.limits is None:
        return Reason("waits_at_gate", f"waits at {name_of(gate)}, which limits nothing any more: it goes on soon")
    stopped = why_stopped(gate, facts.limits)
    late = _too_late(facts, now)
    if stopped is not None:
        return Reason("gate_stopped", "; ".join([stopped, _before(facts, priority), *late]))
    parts = [_use(facts, facts.limits), _before(facts, priority), *(late or _about(facts, facts.limits, priority, now))]
    return Reason("waits_at_gate", f"waits at {name_of(gate)}: {'; '.join(parts)}")


def name_gate(run: Record) -> Reason | None:
    """Return at which gate a run waits, by its record alone. None: it waits at none."""
    gate = gate_of_slot(run.slot) if run.status is Status.PENDING else None
    return None if gate is None else waits_at(gate, run.priority, None, 0)


def will_wait_at(gate: GateId, limits: GateLimits) -> Reason | None:
    """Return why a run that has not asked the gate yet will have to wait there. None: the gate is not stopped."""
    stopped = why_stopped(gate, limits)
    return None if stopped is None else Reason("gate_stopped", f"it will wait: {stopped}")


def has_instant_at(gate: GateId, at: int) -> Reason:
    """Return when a run that came too soon for a rate, or was woken for an instant of it, may start."""
    return Reason("has_instant", f"{name_of(gate)} lets it start at {format_instant(at)}, by its rate")


def why_stopped(gate: GateId, limits: GateLimits) -> str | None:
    """Say why nothing starts at a gate, and which command changes it. None: the gate is not stopped."""
    if not limits.is_stopped:
        return None
    is_tenant = gate.name == TENANT
    if limits.paused:
        what = f"tenant {gate.tenant} is paused" if is_tenant else f"gate {gate.name} is paused"
        command = f"onthedot limits clear {gate.tenant}" if is_tenant else f"onthedot gates resume {gate.name}"
    else:
        limit = "in_flight" if limits.in_flight == 0 else "per_second"
        what = f"tenant {gate.tenant} has {limit} 0" if is_tenant else f"gate {gate.name} has {limit} 0"
        option = limit.replace("_", "-")
        command = (
            f"onthedot limits clear {gate.tenant}" if is_tenant else f"onthedot gates set {gate.name} --{option} N"
        )
    actor = "an admin can change this" if is_tenant else "change this"
    return f"{what}, so nothing starts; {actor} with `{command}`"


def _for_queue(gate: GateId, facts: GateFacts | None) -> str:
    messages = "" if facts is None or facts.backlog is None else f" of {facts.backlog:,} messages"
    before = "" if facts is None else f"; {_waiting(facts.before)} before it"
    return f"{name_of(gate)} has a backlog{messages}, or takes none now{before}"


def _use(facts: GateFacts, limits: GateLimits) -> str:
    said = []
    if limits.in_flight is not None:
        said.append(f"{facts.in_use} of {limits.in_flight:,} places are in use")
    if limits.per_second is not None:
        said.append(f"{limits.per_second:g} {'start' if limits.per_second == 1 else 'starts'} a second")
    return ", ".join(said)


def _before(facts: GateFacts, priority: Priority) -> str:
    of_priority = f" of priority {priority.value}" if len(facts.state.priorities) > 1 else ""
    return f"{_waiting(facts.before, of_priority)} before it"


def _waiting(number: int, of_priority: str = "") -> str:
    if number > MOST_COUNTED:
        return f"more than {MOST_COUNTED:,} runs{of_priority} wait"
    if number == 0:
        return f"no run{of_priority} waits"
    return f"{number:,} {'run' if number == 1 else 'runs'}{of_priority} {'waits' if number == 1 else 'wait'}"


def _too_late(facts: GateFacts, now: int) -> list[str]:
    """Say that the run cannot start any more, if so."""
    if facts.start_by is None or not is_over(facts.start_by, now):
        return []
    over = f"its time to start was over at {format_instant(facts.start_by)}"
    return [f"{over}, so it ends SKIPPED when its turn comes (start_within_seconds)"]


def _about(facts: GateFacts, limits: GateLimits, priority: Priority, now: int) -> list[str]:
    """Say about when the run goes, from the rate and from how long the present attempts have been running.

    An attempt that is found running has run for half its time on average. Without a basis, say nothing.
    """
    # The runs of other priorities that may wait have their turns too.
    turn = (facts.before + 1) / share(priority, facts.state.priorities)
    waits: list[float] = []
    if limits.per_second:
        first = max(rate.first_instant(limits, facts.state, now), now)
        waits.append(first - now + (turn - 1) * rate.interval(limits) / 1000)
    if limits.in_flight:
        if facts.in_use >= limits.in_flight and not facts.running_ms:
            return []
        if facts.running_ms:
            whole = 2 * sum(facts.running_ms) / len(facts.running_ms)
            waits.append(turn * whole / limits.in_flight)
    if not waits:
        return []
    more = "more than " if facts.before > MOST_COUNTED else ""
    return [f"it starts in {more}about {_duration(max(waits) / 1000)}"]


def _duration(seconds: float) -> str:
    if seconds < 2 * _MINUTE:
        return f"{max(1, round(seconds))} s"
    if seconds < 2 * _HOUR:
        return f"{round(seconds / _MINUTE)} min"
    return f"{round(seconds / _HOUR):,} h"

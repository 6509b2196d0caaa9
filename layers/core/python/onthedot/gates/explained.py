"""Explain what a run waits for at a gate: which gate, which runs have its places, and how many wait before it.

About when it goes is said only by a rate, or by places that became free lately. How long the current attempts will run
is not known.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from onthedot.core.choices import Priority
from onthedot.core.clock import format_instant
from onthedot.core.gate_names import QUEUE, TENANT, TURN, GateId, gate_of_slot, name_of, share
from onthedot.core.reasons import Reason, in_short
from onthedot.core.records import Record, Status
from onthedot.core.start_window import is_over
from onthedot.gates import rate
from onthedot.gates.limits import GateLimits
from onthedot.gates.state import GateState

MOST_COUNTED: Final = 1_000
"""The most waiting runs that are counted."""
MOST_NAMED: Final = 2
"""Holders of places that a reason names."""
LEAST_FREED: Final = 3
"""Places that must have become free lately for an estimate."""
FREED_LATELY_MS: Final = 600_000
_LONGEST_PAUSE: Final = 2
"""An estimate counts only if the last place became free at most this many intervals ago."""


@dataclass(frozen=True, slots=True)
class HeldPlace:
    name: str
    """The name of the job, or its id."""
    since: int


@dataclass(frozen=True, slots=True)
class GateFacts:
    limits: GateLimits | None
    """None: the gate no longer limits anything."""
    state: GateState
    in_use: int
    before: int
    """Runs of the same priority that wait before this one, at most one more than `MOST_COUNTED`."""
    freed_at: Sequence[int] = ()
    """When places became free lately: the starts of holders that had waited for their places."""
    longest: Sequence[HeldPlace] = ()
    """The places that are held longest, at most `MOST_NAMED`."""
    backlog: int | None = None
    """Of a queue: its messages. None: not known."""
    start_by: int | None = None
    """The last instant for the first start of the run. None: it may start at any time."""


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
        return Reason("waits_at_gate", f"waits at {name_of(gate)}, which no longer limits anything: it starts soon")
    stopped = why_stopped(gate, facts.limits)
    late = _too_late(facts, now)
    if stopped is not None:
        return Reason("gate_stopped", "; ".join([stopped, _before(facts, priority), *late]))
    use = use_of_limits(facts.limits, facts.in_use)
    about = late or _about(facts, facts.limits, priority, now)
    parts = [use, *_holders(facts, facts.limits), _before(facts, priority), *about]
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
    return Reason("has_instant", f"{name_of(gate)} lets it start at {format_instant(at)}, under its rate")


def why_stopped(gate: GateId, limits: GateLimits) -> str | None:
    """Say why nothing starts at a gate, and which command changes it. None: the gate is not stopped."""
    if not limits.is_stopped:
        return None
    actor = "an admin can change this" if gate.name == TENANT else "change this"
    return f"{nothing_starts(gate, limits)}; {actor} with `{_command(gate, limits)}`"


def nothing_starts(gate: GateId, limits: GateLimits) -> str:
    whose = f"tenant {gate.tenant}" if gate.name == TENANT else f"gate {gate.name}"
    what = f"{whose} is paused" if limits.paused else f"{whose} has {_zero_limit(limits)} 0"
    return f"{what}{_set_when(gate, limits)}, so nothing starts"


def _set_when(gate: GateId, limits: GateLimits) -> str:
    """Say who set the limits, and when, if that is known. A tenant does not see the name of an admin's token."""
    by = "" if limits.put_by is None or gate.name == TENANT else f" by {limits.put_by}"
    return f" (set{by} at {format_instant(limits.put_at)})" if limits.put_at else ""


def use_of_limits(limits: GateLimits, in_use: int) -> str:
    said = []
    if limits.in_flight is not None:
        said.append(_places(in_use, limits.in_flight))
    if limits.per_second is not None:
        said.append(f"{limits.per_second:g} {'start' if limits.per_second == 1 else 'starts'} a second")
    return ", ".join(said)


def _places(in_use: int, most: int) -> str:
    verb = "is" if in_use == 1 or (in_use, most) == (0, 1) else "are"
    return f"{in_use} of {most:,} {'place' if most == 1 else 'places'} {verb} in use"


def _holders(facts: GateFacts, limits: GateLimits) -> list[str]:
    if limits.in_flight is None or facts.in_use < limits.in_flight or not facts.longest:
        return []
    said = [f"{place.name} (since {format_instant(place.since)})" for place in facts.longest[:MOST_NAMED]]
    return [f"held {'longest ' if facts.in_use > len(said) else ''}by {' and '.join(said)}"]


def _zero_limit(limits: GateLimits) -> str:
    return "in_flight" if limits.in_flight == 0 else "per_second"


def _command(gate: GateId, limits: GateLimits) -> str:
    if gate.name == TENANT:
        return f"onthedot limits clear {gate.tenant}"
    if limits.paused:
        return f"onthedot gates resume {gate.name}"
    return f"onthedot gates set {gate.name} --{_zero_limit(limits).replace('_', '-')} N"


def _for_queue(gate: GateId, facts: GateFacts | None) -> str:
    messages = ""
    if facts is not None and facts.backlog is not None:
        messages = f" of {facts.backlog:,} {'message' if facts.backlog == 1 else 'messages'}"
    before = "" if facts is None else f"; {_waiting(facts.before)} before it"
    return f"{name_of(gate)} has a backlog{messages}, or takes none now{before}"


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
    if facts.start_by is None or not is_over(facts.start_by, now):
        return []
    over = f"its time to start ended at {format_instant(facts.start_by)}"
    return [f"{over}, so it ends SKIPPED when its turn comes (start_within_seconds)"]


def _about(facts: GateFacts, limits: GateLimits, priority: Priority, now: int) -> list[str]:
    """Say about when the run goes. Without a basis, say nothing."""
    wait = wait_ms(facts, limits, priority, now)
    if wait is None:
        return []
    more = "more than " if facts.before > MOST_COUNTED else ""
    return [f"it starts in {more}about {in_short(wait / 1000)}"]


def wait_ms(facts: GateFacts, limits: GateLimits, priority: Priority, now: int) -> float | None:
    """Return about how long the run waits, from the rate and from the places that became free lately.

    Return None without a basis: no place, or only few, became free lately, or none for a while.
    """
    # The runs of other priorities that may wait have their turns too.
    turn = (facts.before + 1) / share(priority, facts.state.priorities)
    waits: list[float] = []
    if limits.per_second:
        first = max(rate.first_instant(limits, facts.state, now), now)
        waits.append(first - now + (turn - 1) * rate.interval(limits) / 1000)
    if limits.in_flight is not None and facts.in_use >= limits.in_flight:
        interval = _freed_every_ms(facts.freed_at, now)
        if interval is None:
            return None
        waits.append(turn * interval)
    return max(waits, default=None)


def _freed_every_ms(freed_at: Sequence[int], now: int) -> float | None:
    """Return after how long a place becomes free on average. None: too few did lately, or none for a while."""
    lately = [at for at in freed_at if now - FREED_LATELY_MS <= at <= now]
    if len(lately) < LEAST_FREED:
        return None
    interval = (now - min(lately)) / len(lately)
    return interval if now - max(lately) <= _LONGEST_PAUSE * interval else None

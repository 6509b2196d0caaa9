"""The rate of a gate: which instants its starts may have. All instants here are microseconds.

`next_start` makes the rate strict. It is the instant at which the starts would be spread evenly again (the generic cell
rate algorithm). A start may be earlier than it by the burst. It changes with each start, by a compare-and-set.

`next_instant` spreads the runs that came too soon. Each of them reserves an instant, is sent for it, and asks again. A
newcomer does not start before the instants that are reserved.
"""

from math import ceil
from typing import Final

from onthedot.gates.limits import IN_FORCE_MS, GateLimits
from onthedot.gates.state import GateChange, GateState

LONGEST_AHEAD_MS: Final = 150_000
"""How far ahead an instant is reserved: until after the next look. Runs beyond it wait on the list."""


SKEW_MS: Final = 30_000
"""The clocks of two workers differ by less than this."""


def interval(limits: GateLimits) -> int:
    """Return the time between two starts that are spread evenly."""
    return ceil(1_000_000 / (limits.per_second or 1))


def too_soon(limits: GateLimits, state: GateState, now: int, *, newcomer: bool) -> int | None:
    """Return the millisecond before which the run must not start. None: it may start at `now`, a millisecond."""
    first = _first(limits, state, now) if newcomer else _strict(limits, state, now)
    return None if first <= now * 1000 else ceil(first / 1000)


def start(limits: GateLimits, state: GateState, now: int) -> GateChange:
    """Return the change that counts a start at this millisecond."""
    following = max(_next_start(limits, state, now), now * 1000) + interval(limits)
    return GateChange(equals={"next_start": state.next_start}, sets={"next_start": following})


def reserve(limits: GateLimits, state: GateState, now: int, count: int) -> GateChange | None:
    """Return the change that reserves the next `count` instants. None: they are too far ahead."""
    first = max(_first(limits, state, now), now * 1000)
    if first > (now + LONGEST_AHEAD_MS) * 1000:
        return None
    step = count * interval(limits)
    if state.next_instant is not None and state.next_instant == first:
        # Many runs may reserve at the same time. None of them is refused.
        return GateChange(above={"next_instant": now * 1000}, increments={"next_instant": step})
    return GateChange(equals={"next_instant": state.next_instant}, sets={"next_instant": first + step})


def reserved(limits: GateLimits, after: GateState, count: int) -> list[int]:
    """Return the instants that a reservation has got, in milliseconds, from the state after it."""
    end = after.next_instant or 0
    step = interval(limits)
    return [ceil((end - number * step) / 1000) for number in range(count, 0, -1)]


def free_instants(limits: GateLimits, state: GateState, now: int) -> int:
    """Return how many instants can be reserved now."""
    first = max(_first(limits, state, now), now * 1000)
    return max(0, ((now + LONGEST_AHEAD_MS) * 1000 - first) // interval(limits) + 1)


def first_instant(limits: GateLimits, state: GateState, now: int) -> int:
    """Return the next instant that no run has reserved, in milliseconds. It may be over."""
    return ceil(_first(limits, state, now) / 1000)


def _next_start(limits: GateLimits, state: GateState, now: int) -> int:
    """Return `next_start`. One that no start under these limits can have made does not count.

    A start sets it at most `burst` intervals ahead. One that is farther ahead was set under slower limits, which must
    not delay the starts after they were raised. Then the first start is one interval after the last one that may have
    followed the old limits, and the burst is used up.
    """
    found = state.next_start or 0
    burst = limits.burst or 1
    if found <= (now + SKEW_MS) * 1000 + burst * interval(limits):
        return found
    first = (limits.put_at + IN_FORCE_MS) * 1000 + interval(limits)
    return max(first, now * 1000) + (burst - 1) * interval(limits)


def _strict(limits: GateLimits, state: GateState, now: int) -> int:
    return _next_start(limits, state, now) - ((limits.burst or 1) - 1) * interval(limits)


def _first(limits: GateLimits, state: GateState, now: int) -> int:
    return max(_strict(limits, state, now), state.next_instant or 0)

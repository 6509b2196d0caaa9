"""Decide which queue a pull worker asks first: HIGH, MEDIUM and LOW in turns of 6 : 3 : 1, and no queue waits for ever.

Each queue has a turn, a point in virtual time. The queue with the earliest turn goes first, and each run that was
leased from it moves its turn on by 30 / weight. An empty queue saves up no turns: it continues where the others are.

**The bound for LOW.** While LOW contains a run, at most 11 other runs (6 + 3, and one more of each where turns fall
together) are leased between two of LOW's turns. In the long run it gets at least 1 of 10 leases. On a busy worker of
concurrency C, with runs of R seconds, the n-th run of LOW therefore starts after at most about 10·n·R / C seconds, plus
one ageing time.

**Ageing.** Turns count leases, not seconds. A queue that may contain a run and was not first for the ageing time goes
first, whatever the weights say. It does not do so twice in a row, so that long runs do not turn weights into equal
shares.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from onthedot.domain.runs.records import Priority
from onthedot.schema import PRIORITIES

WEIGHTS: Final = {Priority.HIGH: 6, Priority.MEDIUM: 3, Priority.LOW: 1}
AGEING_SECONDS: Final = 30.0
_STEP: Final = {priority: 30 // weight for priority, weight in WEIGHTS.items()}


class PriorityOrder:
    """The turns of one worker's queues. Callers pass the time, in seconds of any clock that never goes back."""

    def __init__(self, now: float, ageing_seconds: float = AGEING_SECONDS) -> None:
        self._ageing = ageing_seconds
        self._turn = dict(_STEP)
        self._waits_since = dict.fromkeys(PRIORITIES, now)
        self._aged_before = False

    def order(self, now: float) -> list[Priority]:
        """Return the queues in the order to ask them."""
        by_turn = sorted(PRIORITIES, key=lambda priority: (self._turn[priority], _STEP[priority]))
        aged = self._longest_waiting(now)
        if aged is None:
            return by_turn
        return [aged, *(priority for priority in by_turn if priority is not aged)]

    def record(self, order: Sequence[Priority], most: int, leased: Sequence[Priority], now: float) -> None:
        """Move the turns on after a lease of at most `most` runs. `leased` has the priority of each leased run."""
        self._aged_before = order[0] is self._longest_waiting(now)
        self._waits_since[order[0]] = now
        for priority in leased:
            self._turn[priority] += _STEP[priority]
        present = max((self._turn[priority] - _STEP[priority] for priority in leased), default=0)
        for priority in _emptied(order, most, leased):
            self._waits_since[priority] = now
            self._turn[priority] = max(self._turn[priority], present)

    def _longest_waiting(self, now: float) -> Priority | None:
        oldest = min(PRIORITIES, key=lambda priority: self._waits_since[priority])
        is_aged = now - self._waits_since[oldest] > self._ageing
        return oldest if is_aged and not self._aged_before else None


def _emptied(order: Sequence[Priority], most: int, leased: Sequence[Priority]) -> Iterator[Priority]:
    """Yield the queues that had fewer runs than the lease asked for, so that none waits there now."""
    missing = most
    for priority in order:
        missing -= leased.count(priority)
        if missing <= 0:
            return
        yield priority

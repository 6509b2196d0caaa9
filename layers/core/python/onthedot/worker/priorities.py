"""Which queue a pull worker looks into first: HIGH, MEDIUM and LOW in turns of 6 : 3 : 1, and nobody waits for ever.

Each queue has a turn, a point in virtual time; the earliest goes first, and each run that it gave moves its turn on
by 30 / weight. A queue that was found empty saves up no turns: it goes on from where the others are.

**The bound for LOW.** While LOW holds something, at most 11 other runs (6 + 3, and one of each more where turns fall
together) are leased between two of LOW's turns; in the long run it gets at least 1 of 10 leases. With runs of R seconds
on S busy slots the n-th run of LOW therefore starts after at most about 10·n·R / S seconds, plus one ageing time.

**Ageing.** Turns count leases, not seconds. A queue that may hold something and was not first for the ageing time
goes first, whatever the weights say; but not twice in a row, so that long runs do not turn weights into equal shares.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from onthedot.domain.runs.records import Priority
from onthedot.schema import PRIORITIES

WEIGHTS: Final = {Priority.HIGH: 6, Priority.MEDIUM: 3, Priority.LOW: 1}
AGEING_SECONDS: Final = 30.0
_STEP: Final = {priority: 30 // weight for priority, weight in WEIGHTS.items()}


class PriorityOrder:
    """The turns of one worker. Time is passed in, in seconds of any clock that only goes on."""

    def __init__(self, now: float, ageing_seconds: float = AGEING_SECONDS) -> None:
        self._ageing = ageing_seconds
        self._turn = dict(_STEP)
        self._waits_since = dict.fromkeys(PRIORITIES, now)
        self._aged_before = False

    def order(self, now: float) -> list[Priority]:
        """The queues in the order to look into them."""
        by_turn = sorted(PRIORITIES, key=lambda priority: (self._turn[priority], _STEP[priority]))
        aged = self._longest_waiting(now)
        if aged is None:
            return by_turn
        return [aged, *(priority for priority in by_turn if priority is not aged)]

    def looked(self, order: Sequence[Priority], most: int, given: Sequence[Priority], now: float) -> None:
        """What came of it: `given` are the priorities of the runs that were had, of `most` that were asked for."""
        self._aged_before = order[0] is self._longest_waiting(now)
        self._waits_since[order[0]] = now
        for priority in given:
            self._turn[priority] += _STEP[priority]
        present = max((self._turn[priority] - _STEP[priority] for priority in given), default=0)
        for priority in _emptied(order, most, given):
            self._waits_since[priority] = now
            self._turn[priority] = max(self._turn[priority], present)

    def _longest_waiting(self, now: float) -> Priority | None:
        oldest = min(PRIORITIES, key=lambda priority: self._waits_since[priority])
        is_aged = now - self._waits_since[oldest] > self._ageing
        return oldest if is_aged and not self._aged_before else None


def _emptied(order: Sequence[Priority], most: int, given: Sequence[Priority]) -> Iterator[Priority]:
    """Those that were looked into and gave less than was wanted: nothing waits there."""
    wanted = most
    for priority in order:
        wanted -= given.count(priority)
        if wanted <= 0:
            return
        yield priority

"""Which queue a pull worker looks into first: the weights, the ageing, and the bound that LOW is promised."""

import heapq
from collections import Counter
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from onthedot.core.choices import Priority
from onthedot.core.schema import PRIORITIES
from onthedot.worker.queues import AGEING_SECONDS, PriorityOrder

HIGH, MEDIUM, LOW = PRIORITIES


def lease(order: PriorityOrder, waiting: dict[Priority, int], now: float, most: int = 1) -> list[Priority]:
    """Lease as a work source does: from the first queue as many runs as it has, then from the next."""
    asked = order.order(now)
    leased: list[Priority] = []
    for priority in asked:
        number = min(most - len(leased), waiting[priority])
        waiting[priority] -= number
        leased += [priority] * number
    order.record(asked, most, leased, now)
    return leased


def test_full_queues_are_served_six_to_three_to_one() -> None:
    order, waiting = PriorityOrder(0), dict.fromkeys(PRIORITIES, 10_000)
    for _ in range(20):
        assert Counter(lease(order, waiting, 0)[0] for _ in range(10)) == {HIGH: 6, MEDIUM: 3, LOW: 1}


def test_a_queue_that_was_empty_has_saved_up_no_turns() -> None:
    order, waiting = PriorityOrder(0), {HIGH: 0, MEDIUM: 10_000, LOW: 10_000}
    for _ in range(100):
        lease(order, waiting, 0)
    waiting[HIGH] = 10_000
    assert Counter(lease(order, waiting, 0)[0] for _ in range(20))[HIGH] <= 14


ARRIVALS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(1, 3)), min_size=40, max_size=200)


@given(ARRIVALS)
def test_between_two_runs_of_low_there_are_at_most_eleven_others(arrivals: list[tuple[int, int, int]]) -> None:
    """Whatever comes and goes in the other queues, while LOW always contains a run."""
    order, waiting = PriorityOrder(0), dict.fromkeys(PRIORITIES, 0)
    others = 0
    for high, medium, low in arrivals:
        waiting = {HIGH: waiting[HIGH] + high, MEDIUM: waiting[MEDIUM] + medium, LOW: waiting[LOW] + low}
        [served] = lease(order, waiting, 0)
        others = 0 if served is LOW else others + 1
        assert others <= 11


@given(ARRIVALS, st.integers(2, 10))
def test_leases_of_several_runs_keep_lows_share(arrivals: list[tuple[int, int, int]], most: int) -> None:
    """One call may lease all its runs from one queue. Over all calls LOW has its tenth, except for one call."""
    order, waiting = PriorityOrder(0), dict.fromkeys(PRIORITIES, 0)
    served: Counter[Priority] = Counter()
    for high, medium, low in arrivals:
        waiting = {HIGH: waiting[HIGH] + high, MEDIUM: waiting[MEDIUM] + medium, LOW: waiting[LOW] + low}
        served.update(lease(order, waiting, 0, most))
        assert served[LOW] >= (sum(served.values()) - 12 * most) / 10


@given(st.integers(1, 8), st.floats(0.05, 90))
def test_lows_longest_wait_keeps_the_stated_bound(concurrency: int, seconds: float) -> None:
    """500 runs at once on a saturated worker, whose runs take so long."""
    waits = dict(simulate({HIGH: 170, MEDIUM: 165, LOW: 165}, concurrency, seconds))
    for number, wait in enumerate(waits[LOW], start=1):
        assert wait <= 10 * number * seconds / concurrency + AGEING_SECONDS + seconds


def simulate(waiting: dict[Priority, int], concurrency: int, seconds: float) -> Iterator[tuple[Priority, list[float]]]:
    """Yield each priority with the waiting times of its runs in a full pool."""
    order = PriorityOrder(0)
    waits: dict[Priority, list[float]] = {priority: [] for priority in PRIORITIES}
    free_at = [0.0] * concurrency
    while any(waiting.values()):
        now = heapq.heappop(free_at)
        [leased] = lease(order, waiting, now)
        waits[leased].append(now)
        heapq.heappush(free_at, now + seconds)
    yield from waits.items()


def test_a_queue_that_was_not_first_for_the_ageing_time_goes_first() -> None:
    order, waiting = PriorityOrder(0), dict.fromkeys(PRIORITIES, 10_000)
    assert order.order(AGEING_SECONDS)[0] is HIGH
    lease(order, waiting, 1)
    assert order.order(AGEING_SECONDS + 0.1)[0] in (MEDIUM, LOW)
    lease(order, waiting, AGEING_SECONDS + 0.1)
    lease(order, waiting, AGEING_SECONDS + 0.2)
    assert order.order(AGEING_SECONDS + 0.3)[0] is LOW


def test_ageing_never_decides_twice_in_a_row_so_long_runs_keep_the_weights() -> None:
    order, waiting = PriorityOrder(0), dict.fromkeys(PRIORITIES, 10_000)
    served = Counter(lease(order, waiting, 60.0 * number)[0] for number in range(1, 101))
    assert served[HIGH] >= 40
    assert served[LOW] >= 10

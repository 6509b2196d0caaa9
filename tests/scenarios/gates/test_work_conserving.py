"""While runs wait at a gate its places are in use, and no run of another gate, key or tenant is late."""

from collections.abc import Iterator
from functools import partial

import pytest

from onthedot.core.choices import Priority, RetryPolicy
from onthedot.core.records import Definition, Status
from onthedot.core.schema import DEFAULT_POOL
from onthedot.gates.limits import GateLimits
from onthedot.jobs.submit import JobRequest, submit_job
from onthedot.targets.types import HttpTarget
from tests.builders import NOON
from tests.scenarios.gates.checks import Checks
from tests.scenarios.kits.gate_journal import RunWrite
from tests.scenarios.kits.gated_world import GatedWorld, a_gated_world

pytestmark = pytest.mark.slow
SECOND = 1_000
FIRST, LAST = NOON + 10 * SECOND, NOON + 70 * SECOND
"""The minute in which places are counted."""
LONGEST_DELAY_MS = 300
"""Runs of others start within this time, which the calls of a start take."""


def submit(gated: GatedWorld, at: int, *gates: str, tenant: str = "acme", count: int = 1) -> None:
    """Let a client submit runs that are due at once."""
    definition = Definition(HttpTarget("http://x/"), retry=RetryPolicy(jitter=False))
    request = JobRequest(definition, "same", Priority.MEDIUM, DEFAULT_POOL, delay_ms=0, record={"gates": gates})
    for _ in range(count):
        gated.at(at, partial(submit_job, gated.machine(), tenant, request))


def in_use(writes: list[RunWrite], gate: str) -> float:
    """Return how many attempts run at a gate on average in the minute."""
    total = 0
    running: dict[str, int] = {}
    for write in writes:
        if not any(place.endswith(f"#{gate}") for place in write.held) and write.run_id not in running:
            continue
        if write.status is Status.RUNNING:
            running.setdefault(write.run_id, write.at)
        elif write.run_id in running:
            begin, end = max(running.pop(write.run_id), FIRST), min(write.at, LAST)
            total += max(0, end - begin)
    total += sum(max(0, LAST - max(begin, FIRST)) for begin in running.values())
    return total / (LAST - FIRST)


def delays(gated: GatedWorld, tenant: str, gates: tuple[str, ...]) -> Iterator[int]:
    """Yield for each run of others how long after it was stored it started."""
    stored: dict[str, int] = {}
    started: dict[str, int] = {}
    for write in gated.journal.runs:
        if (write.tenant, write.gates) == (tenant, gates):
            stored.setdefault(write.run_id, write.at)
            if write.status is Status.RUNNING:
                started.setdefault(write.run_id, write.at)
    assert stored.keys() == started.keys()
    yield from (started[run_id] - at for run_id, at in stored.items())


@pytest.mark.parametrize("places", [1, 5, 20])
def test_the_places_of_a_gate_are_in_use_while_runs_wait_and_others_are_on_time(places: int) -> None:
    others = [("acme", ()), ("acme", ("customer:2",)), ("acme", ("other",)), ("beta", ("customer:1",))]
    with a_gated_world(places) as gated:
        gated.weather.slowest_ms = 4
        gated.index.lag = lambda chance: chance.randrange(50)
        for tenant in ("acme", "beta"):
            gated.world.gates.put(tenant, "customer", GateLimits(in_flight=places))
            gated.world.gates.put(tenant, "other", GateLimits(in_flight=places))
        submit(gated, NOON, "customer:1", count=80 * places)
        for at in range(FIRST, LAST, 5 * SECOND):
            for tenant, gates in others:
                submit(gated, at, *gates, tenant=tenant)
        gated.let_pass(80)
        assert in_use(gated.journal.runs, "customer:1") >= 0.95 * places
        assert Checks(gated.journal).strict() == []
        for tenant, gates in others:
            assert max(delays(gated, tenant, gates)) < LONGEST_DELAY_MS, (tenant, gates)


def test_a_rate_is_used_while_runs_wait_for_it() -> None:
    with a_gated_world(1) as gated:
        gated.world.gates.put("acme", "rate", GateLimits(per_second=5, burst=3))
        submit(gated, NOON, "rate", count=450)
        gated.let_pass(80)
        starts = [start for start in Checks(gated.journal).starts if FIRST <= start.at < LAST]
        assert len(starts) >= 0.95 * 5 * 60
        assert Checks(gated.journal).strict() == []


def test_of_several_gates_the_one_that_is_full_is_in_use() -> None:
    with a_gated_world(1) as gated:
        gated.weather.slowest_ms = 4
        gated.index.lag = lambda chance: chance.randrange(50)
        for name, places in (("a", 20), ("b", 3), ("c", 9)):
            gated.world.gates.put("acme", name, GateLimits(in_flight=places))
        submit(gated, NOON, "a", "b", "c", count=240)
        gated.let_pass(80)
        assert in_use(gated.journal.runs, "b") >= 0.95 * 3
        assert Checks(gated.journal).strict() == []

"""Gates in each home: never too many at once, the next run at once, and no other run delayed."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.e2e.control import is_on_time
from tests.e2e.gate_times import (
    NEXT_MS,
    Attempt,
    attempts_of,
    check_hand_over,
    controls_for,
    most_at_once,
    p95,
    put_gate,
    put_limits,
    submit_all,
)
from tests.e2e.homes import Api, Home
from tests.e2e.listener import Listener


def calls(listener: Listener, name: str, count: int, seconds: float, **job: Any) -> list[dict[str, Any]]:
    """Jobs whose calls take this long."""
    return [{"callback_url": f"{listener.url}/{name}/{n}?hang={seconds}", **job} for n in range(count)]


@pytest.fixture(scope="module")
def warm(api: Api, listener: Listener) -> None:
    """Workers that have started: the slow stories have killed some."""
    attempts_of(api, submit_all(api, calls(listener, "warm", 20, 0.2)))


@pytest.mark.usefixtures("warm")
def test_a_tenants_limits_hold_for_jobs_that_are_due_now(home: Home, api: Api, listener: Listener) -> None:
    in_flight, per_second = 2, 3
    tenant = home.api_of("limited")
    put_limits(api, "limited", in_flight=in_flight, per_second=per_second)
    attempts = attempts_of(tenant, submit_all(tenant, calls(listener, "limited", 20, 0.5)))
    assert most_at_once(attempts) <= in_flight
    starts = [one.start for one in attempts]
    for first, begin in enumerate(starts):
        for more, end in enumerate(starts[first:]):
            assert more <= per_second * (end - begin) + 1e-6, f"{more + 1} starts within {end - begin:.3f} s"


@pytest.mark.usefixtures("warm")
def test_the_next_run_starts_at_once_when_a_place_is_free(home: Home, api: Api, listener: Listener) -> None:
    put_gate(api, "busy", in_flight=3)
    check_hand_over(home, calls(listener, "busy", 40, home.pace, gates=["busy"]), places=3, seconds=14 * home.pace)


@pytest.mark.usefixtures("warm")
def test_a_full_key_delays_no_run_of_another_key_or_tenant_in_the_same_queue(
    home: Home, api: Api, listener: Listener
) -> None:
    other = home.api_of("other-tenant")
    for each in (api, other):
        put_gate(each, "customer", in_flight=1)
    full = submit_all(api, calls(listener, "full", 60, max(home.pace, 0.5), gates=["customer:full"]))
    time.sleep(2 * home.pace)
    keys = [calls(listener, f"key-{n}", 1, 0.1, gates=[f"customer:{n}"]) for n in range(10)]
    groups = [
        (api, [job for jobs in keys for job in jobs]),
        (api, calls(listener, "no-gate", 10, 0.1)),
        (other, calls(listener, "other-key", 1, 0.1, gates=["customer:full"])),
        (other, calls(listener, "other-tenant", 10, 0.1)),
    ]
    controls = controls_for(home, 4)
    with ThreadPoolExecutor(len(groups)) as threads:
        others = [one for found in threads.map(lambda group: _run_all(*group), groups) for one in found]
    put_gate(api, "customer", in_flight=20)
    waiting = attempts_of(api, full)
    assert max(one.end for one in others) < max(one.start for one in waiting), "the key was not full all the time"
    late = p95([one.late for one in others])
    assert is_on_time(round(late * 1000), controls, within=NEXT_MS), (late, [one.late() for one in controls])


def _run_all(api: Api, jobs: Sequence[dict[str, Any]]) -> list[Attempt]:
    return attempts_of(api, submit_all(api, jobs))

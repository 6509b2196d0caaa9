"""Gates in each home: never too many at once, no place unused while runs wait, and no other run delayed."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.e2e.gate_times import (
    Attempt,
    attempts_of,
    gaps,
    holds_once,
    most_at_once,
    p95,
    put_gate,
    put_limits,
    share_in_use,
    submit_all,
)
from tests.e2e.homes import STACK, Api, Home
from tests.e2e.listener import Listener

NEXT_SECONDS = 1.0
"""The next run starts within this time of a free place."""


def calls(listener: Listener, name: str, count: int, seconds: float, **job: Any) -> list[dict[str, Any]]:
    """Jobs whose calls take this long."""
    return [{"callback_url": f"{listener.url}/{name}/{n}?hang={seconds}", **job} for n in range(count)]


@pytest.fixture(scope="module")
def warm(api: Api, listener: Listener) -> None:
    """Workers that have started: the slow stories have killed some."""
    attempts_of(api, submit_all(api, calls(listener, "warm", 20, 0.2)))


@pytest.mark.usefixtures("warm")
def test_twelve_runs_of_half_a_second_with_two_places_take_three_seconds_not_minutes(
    api: Api, listener: Listener
) -> None:
    put_gate(api, "twelve", in_flight=2)

    def measure() -> str:
        began = time.time()
        attempts = attempts_of(
            api, submit_all(api, calls(listener, f"twelve-{time.time_ns()}", 12, 0.5, gates=["twelve"]))
        )
        assert most_at_once(attempts) <= 2
        took = max(one.end for one in attempts) - began
        return "" if took <= 5 else f"they took {took:.1f} s"

    holds_once(measure)


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
def test_places_are_in_use_while_runs_wait_and_the_next_run_starts_at_once(
    home: Home, api: Api, listener: Listener
) -> None:
    places = 3
    # The runs on a server are shorter, and other tests use the machine at the same time.
    least = 0.95 if home.name == STACK else 0.8
    put_gate(api, "busy", in_flight=places)

    def measure() -> str:
        ids = submit_all(api, calls(listener, f"busy-{time.time_ns()}", 20 * places, home.pace, gates=["busy"]))
        time.sleep(20 * home.pace)  # the questions below take time from the workers
        attempts = attempts_of(api, ids)
        assert most_at_once(attempts) <= places
        share, late = share_in_use(attempts, places), p95(gaps(attempts, places))
        return "" if share >= least and late <= NEXT_SECONDS else f"{share:.3f} in use, p95 of the gaps {late:.3f} s"

    holds_once(measure)


@pytest.mark.usefixtures("warm")
def test_a_full_key_delays_no_run_of_another_key_or_tenant_in_the_same_queue(
    home: Home, api: Api, listener: Listener
) -> None:
    other = home.api_of("other-tenant")
    for each in (api, other):
        put_gate(each, "customer", in_flight=1)

    def measure() -> str:
        turn = time.time_ns()
        full = submit_all(api, calls(listener, f"full-{turn}", 12, max(home.pace, 0.5), gates=["customer:full"]))
        time.sleep(2 * home.pace)
        keys = [calls(listener, f"key-{turn}-{n}", 1, 0.1, gates=[f"customer:{n}"]) for n in range(10)]
        groups = [
            (api, [job for jobs in keys for job in jobs]),
            (api, calls(listener, f"no-gate-{turn}", 10, 0.1)),
            (other, calls(listener, f"other-key-{turn}", 1, 0.1, gates=["customer:full"])),
            (other, calls(listener, f"other-tenant-{turn}", 10, 0.1)),
        ]
        with ThreadPoolExecutor(len(groups)) as threads:
            others = [one for found in threads.map(lambda group: _run_all(*group), groups) for one in found]
        waiting = attempts_of(api, full)
        assert most_at_once(waiting) == 1
        if max(one.end for one in others) >= max(one.start for one in waiting):
            return "the key was not full all the time"
        late = p95([one.late for one in others])
        return "" if late <= NEXT_SECONDS else f"p95 of the others is late by {late:.3f} s"

    holds_once(measure)


def _run_all(api: Api, jobs: Sequence[dict[str, Any]]) -> list[Attempt]:
    return attempts_of(api, submit_all(api, jobs))


@pytest.mark.usefixtures("warm")
def test_a_paused_gate_starts_nothing_and_goes_on_when_it_is_resumed(home: Home, api: Api, listener: Listener) -> None:
    put_gate(api, "pausing", in_flight=2)
    jobs = calls(listener, "pausing", 24, home.pace, gates=["pausing"])
    ids = submit_all(api, jobs)
    deadline = time.monotonic() + 60
    while not any(listener.at_path(f"/pausing/{n}") for n in range(len(jobs))):
        assert time.monotonic() < deadline, "nothing runs"
        time.sleep(api.poll_seconds)
    paused_at = time.time()
    put_gate(api, "pausing", in_flight=2, paused=True)
    time.sleep(max(paused_at + 15 * home.pace - time.time(), 0))
    resumed_at = time.time()
    put_gate(api, "pausing", in_flight=2)
    attempts = attempts_of(api, ids, seconds=120)
    starts = [one.start for one in attempts]
    assert min(starts) < paused_at, "nothing ran before the pause"
    assert [at - paused_at for at in starts if paused_at + 10 * home.pace < at < resumed_at] == []
    after = [at for at in starts if at >= resumed_at]
    assert after, "nothing was left for the time after the pause"
    assert min(after) <= resumed_at + 60 * home.pace
    assert most_at_once(attempts) <= 2

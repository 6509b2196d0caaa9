"""LOW moves while HIGH is saturated: each priority has its own share of the workers."""

import time
from dataclasses import dataclass

from tests.e2e.homes import STACK, Api, Home
from tests.e2e.listener import Listener

LOW = 5


@dataclass(frozen=True)
class Crowd:
    """Runs of priority HIGH that take all workers."""

    high: int
    hang_seconds: float


ON_STACK = Crowd(200, hang_seconds=8)
"""HIGH's share is 12 batches of ten here, so 200 runs that hang need a second round. LOW must not wait for it."""
ON_SERVE = Crowd(160, hang_seconds=0.5)
"""A server has 32 places for all priorities, so HIGH needs five rounds. LOW has its turns in the second one."""


def test_low_runs_do_not_wait_for_a_crowd_of_high_ones(home: Home, api: Api, listener: Listener) -> None:
    case = ON_STACK if home.name == STACK else ON_SERVE
    at = time.time() + 6 * home.pace
    crowd = [
        {"callback_url": f"{listener.url}/crowd/{n}?hang={case.hang_seconds}", "at": at, "priority": "HIGH"}
        for n in range(case.high)
    ]
    few = [
        {"callback_url": f"{listener.url}/few/{n}", "at": at + case.hang_seconds / 4, "priority": "LOW"}
        for n in range(LOW)
    ]
    status, answer = api.call("POST", "/v1/jobs/batch", {"jobs": [*crowd, *few]})
    assert status == 202
    assert not [entry for entry in answer["jobs"] if "error" in entry]
    low = [listener.wait_for(f"/few/{n}", seconds=60)[0].at for n in range(LOW)]
    high = [listener.wait_for(f"/crowd/{n}", seconds=120)[0].at for n in range(case.high)]
    saturated_until = round((at + case.hang_seconds) * 1000)
    assert max(high) >= saturated_until, "HIGH was never saturated: the case shows nothing"
    assert max(low) < sorted(high)[case.high * 9 // 10], "LOW waited for nearly all of HIGH"

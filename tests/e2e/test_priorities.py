"""LOW moves while HIGH is saturated: each priority has its own share of the workers."""

import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from tests.e2e.gate_times import instant
from tests.e2e.homes import STACK, Api, Home
from tests.e2e.listener import Listener
from tests.e2e.test_pull_workers import execution
from tests.e2e.worker_process import APP, a_pull_worker, only

LOW = 5


@dataclass(frozen=True)
class Crowd:
    """Runs of priority HIGH that take all workers, and how soon LOW must have started."""

    high: int
    hang_seconds: float
    low_within: float | None = None
    """Seconds. None: the machine may be busy, and only the order counts."""


ON_STACK = Crowd(200, hang_seconds=8, low_within=8)
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
    assert case.low_within is None or max(low) < round((at + case.low_within) * 1000)


SLOTS = 4
RUN_SECONDS = 0.1


@pytest.mark.usefixtures("quiet_pool")
def test_a_saturated_pool_serves_high_before_medium_before_low_and_low_is_not_starved(home: Home, api: Api) -> None:
    """LOW's bound: with one lease in ten at least, the n-th LOW run waits at most as long as 10 n runs take."""
    jobs_each = round(167 * home.pace)
    with a_pull_worker(home, "--app", APP, "--slots", str(SLOTS), worker_id="saturated"):
        at = time.time() + max(12 * home.pace, 6)
        ids: dict[str, list[str]] = {}
        for priority in ("LOW", "MEDIUM", "HIGH"):
            target = {"type": "python", "handler": "nap"}
            crowd = [
                {"target": target, "payload": RUN_SECONDS, "at": at, "priority": priority, **only("saturated")}
                for _ in range(jobs_each)
            ]
            status, answer = api.call("POST", "/v1/jobs/batch", {"jobs": crowd})
            assert status == 202, answer
            ids[priority] = [entry["job_id"] for entry in answer["jobs"]]
        assert time.time() < at, "they were to be due together"
        for priority in ("HIGH", "MEDIUM", "LOW"):
            for job_id in ids[priority]:
                api.wait_for(job_id, "SUCCEEDED", seconds=180)
    with ThreadPoolExecutor(8) as pool:
        runs = {name: list(pool.map(lambda one: execution(api, one), them)) for name, them in ids.items()}
    waits = {name: sorted(run["lateness_ms"] / 1000 for run in them) for name, them in runs.items()}
    medians = {name: statistics.median(them) for name, them in waits.items()}
    ends = [instant(run["finished_at"]) for them in runs.values() for run in them]
    seconds_each = (max(ends) - at) / len(ends)
    assert medians["HIGH"] < medians["MEDIUM"] < medians["LOW"], medians
    for n, wait in enumerate(waits["LOW"], start=1):
        assert wait <= 10 * (n + SLOTS) * seconds_each + 5, (n, wait, seconds_each)
    assert waits["LOW"][0] < medians["HIGH"], "LOW moves while HIGH is still crowded"

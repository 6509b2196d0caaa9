"""LOW moves while HIGH is saturated: each priority has its own share of the workers."""

import time

from tests.e2e.deployment import Api
from tests.e2e.listener import Listener

HIGH, LOW = 200, 5
HANG_SECONDS = 8


def test_low_runs_do_not_wait_for_a_crowd_of_high_ones(api: Api, listener: Listener) -> None:
    """HIGH's share is 12 batches of ten here, so 200 runs that hang need a second round; LOW must not wait for it."""
    at = time.time() + 6
    crowd = [
        {"callback_url": f"{listener.url}/crowd/{n}?hang={HANG_SECONDS}", "at": at, "priority": "HIGH"}
        for n in range(HIGH)
    ]
    few = [{"callback_url": f"{listener.url}/few/{n}", "at": at + 2, "priority": "LOW"} for n in range(LOW)]
    status, answer = api.call("POST", "/v1/jobs/batch", {"jobs": [*crowd, *few]})
    assert status == 202
    assert not [entry for entry in answer["jobs"] if "error" in entry]
    low = [listener.wait_for(f"/few/{n}", seconds=60)[0].at for n in range(LOW)]
    high = [listener.wait_for(f"/crowd/{n}", seconds=120)[0].at for n in range(HIGH)]
    assert max(high) >= round(at * 1000) + HANG_SECONDS * 1000, "HIGH was never saturated: the case shows nothing"
    assert max(low) < max(high)
    assert max(low) < round(at * 1000) + HANG_SECONDS * 1000

"""Runs at gates of a home: how they are submitted, and what the times of their attempts say."""

import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tests.e2e.control import Control, is_on_time
from tests.e2e.homes import Api, Home

JOBS_PER_BATCH = 25
NEXT_MS = 1_000
"""The next run starts within this time of a free place."""


@dataclass(frozen=True, order=True)
class Attempt:
    """An attempt that has ended. Times are in seconds."""

    start: float
    end: float
    late: float
    """The time from the run's fire time to the start."""
    worker: str


def put_gate(api: Api, name: str, **limits: Any) -> None:
    status, answer = api.call("PUT", f"/v1/gates/{name}", limits)
    assert status == 200, answer


def put_limits(api: Api, tenant: str, **limits: Any) -> None:
    status, answer = api.call("PUT", f"/v1/limits/{tenant}", limits)
    assert status == 200, answer


def submit_all(api: Api, jobs: Sequence[dict[str, Any]]) -> list[str]:
    """Submit jobs in batches. Return their ids."""
    ids: list[str] = []
    for first in range(0, len(jobs), JOBS_PER_BATCH):
        status, answer = api.call("POST", "/v1/jobs/batch", {"jobs": jobs[first : first + JOBS_PER_BATCH]})
        assert status == 202, answer
        assert not [entry for entry in answer["jobs"] if "error" in entry], answer
        ids += [entry["job_id"] for entry in answer["jobs"]]
    return ids


def attempts_of(api: Api, job_ids: Iterable[str], seconds: float = 60) -> list[Attempt]:
    """The one attempt of each job, by their starts, once all have succeeded."""
    deadline = time.monotonic() + seconds
    with ThreadPoolExecutor(4) as threads:
        return sorted(threads.map(lambda job_id: _attempt_of(api, job_id, deadline), job_ids))


def _attempt_of(api: Api, job_id: str, deadline: float) -> Attempt:
    while (run := api.execution(job_id))["status"] != "SUCCEEDED":
        assert time.monotonic() < deadline, run
        time.sleep(2.5 * api.poll_seconds)
    (attempt,) = run["attempts"]
    assert attempt["outcome"] == "succeeded", run
    start = instant(attempt["started_at"])
    return Attempt(start, instant(attempt["ended_at"]), start - instant(run["fire_time"]), attempt["worker"])


def instant(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def most_at_once(attempts: Sequence[Attempt]) -> int:
    """The most attempts that ran at one time. One that ends at the millisecond of another's start ran before it."""
    changes = sorted([(one.start, 1) for one in attempts] + [(one.end, -1) for one in attempts])
    running = most = 0
    for _, change in changes:
        running += change
        most = max(most, running)
    return most


def gaps(attempts: Sequence[Attempt], places: int) -> list[float]:
    """How long each place was free before the next run started there, while runs waited."""
    starts, ends = sorted(one.start for one in attempts), sorted(one.end for one in attempts)
    return [start - end for start, end in zip(starts[places:], ends, strict=False)]


def p95(values: Sequence[float]) -> float:
    return sorted(values)[int(0.95 * (len(values) - 1))]


def controls_for(home: Home, seconds: float) -> list[Control]:
    """Controls in each of the next seconds."""
    now = round(time.time() * 1000)
    return [home.control(now + 1000 * second) for second in range(1, round(seconds) + 1)]


def check_hand_over(home: Home, jobs: Sequence[dict[str, Any]], *, places: int, seconds: float) -> None:
    """Run jobs that have this number of places for so many seconds: the next one starts when a place is free."""
    controls = controls_for(home, seconds)
    ids = submit_all(home.api, jobs)
    time.sleep(seconds)  # the questions below take time from the workers
    attempts = attempts_of(home.api, ids)
    assert most_at_once(attempts) <= places
    late = p95(gaps(attempts, places))
    assert is_on_time(round(late * 1000), controls, within=NEXT_MS), (late, [one.late() for one in controls])

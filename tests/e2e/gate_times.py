"""Runs at gates of a home: how they are submitted, and what the times of their attempts say."""

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tests.e2e.homes import Api

JOBS_PER_BATCH = 25
MEASUREMENTS = 3


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
    while True:
        status, run = api.call("GET", f"/v1/executions/{job_id}")
        assert status == 200, run
        if run["status"] == "SUCCEEDED":
            break
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


def share_in_use(attempts: Sequence[Attempt], places: int) -> float:
    """The share of the places that was in use, from the first start until the last run has left the list."""
    first, last = min(attempts).start, max(attempts).start
    used = sum(min(one.end, last) - one.start for one in attempts)
    return used / (places * (last - first))


def gaps(attempts: Sequence[Attempt], places: int) -> list[float]:
    """How long each place was free before the next run started there, while runs waited."""
    starts, ends = sorted(one.start for one in attempts), sorted(one.end for one in attempts)
    return [start - end for start, end in zip(starts[places:], ends, strict=False)]


def p95(values: Sequence[float]) -> float:
    return sorted(values)[int(0.95 * (len(values) - 1))]


def holds_once(measure: Callable[[], str]) -> None:
    """Measure up to three times, because other programs take time from this machine. One measurement must hold.

    A measurement returns how it missed its bar, or nothing.
    """
    missed: list[str] = []
    while len(missed) < MEASUREMENTS:
        answer = measure()
        if not answer:
            return
        missed.append(answer)
    raise AssertionError("; ".join(missed))

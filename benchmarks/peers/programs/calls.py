"""Shared parts of the programs: the note that each job writes, and a client that creates jobs on request.

A client reads one request a line, `{"first": 0, "due": [1700000000000, …], "callers": 8}`, creates the jobs, and
answers with one line. A due time is in epoch milliseconds. `NOW` means that the job is due at once.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import cache

NOW = 0
STORE = "PEERS_STORE"
"""The environment variable with the URL of the tool's store or server."""
NOTES = "PEERS_NOTES"
"""The environment variable with the path of the notes."""

Create = Callable[[int, int], object]
"""Create the job of this number that is due at this time, in one call."""


def note(number: int, due: int) -> None:
    """Append the job's number, its due time and the present microsecond to the notes. All tools' jobs do this."""
    os.write(_notes(), b"%010d %013d %016d\n" % (number, due, time.time_ns() // 1_000))


@cache
def _notes() -> int:
    return os.open(os.environ[NOTES], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)


def store_url() -> str:
    return os.environ.get(STORE, "")


def instant(due: int) -> datetime:
    return datetime.fromtimestamp(due / 1000, UTC)


def answer_requests(create: Create) -> None:
    """Create jobs for each line of the standard input until it ends."""
    _say("ready")
    for line in sys.stdin:
        request = json.loads(line)
        jobs = list(enumerate(request["due"], request["first"]))
        _say(json.dumps(_create_all(create, jobs, request["callers"])))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _create_all(create: Create, jobs: Sequence[tuple[int, int]], callers: int) -> dict[str, float]:
    """Call `create` once for each job, from so many threads, and return the time and the CPU time of these threads."""
    began = time.time()
    remaining = iter(jobs)
    with ThreadPoolExecutor(callers) as threads:
        spent = list(threads.map(lambda _: _create_some(create, remaining), range(callers)))
    return {"began": began, "ended": time.time(), "cpu_ms": sum(spent) * 1000}


def _create_some(create: Create, remaining: Iterator[tuple[int, int]]) -> float:
    """Create jobs until none remains. Threads share the iterator of a list, whose `next` is atomic."""
    began = time.thread_time()
    for number, due in remaining:
        create(number, due)
    return time.thread_time() - began

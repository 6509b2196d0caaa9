"""Measure where the CPU time of a run goes in `onthedot serve`: accept, start, handler and end, each by itself.

Each step is the product's own code on a file, with ten operations to a commit. The rest of a run, which is HTTP and the
ways between threads, is the difference to the figure of `benchmarks.peers`.
"""

import json
import os
import random
import resource
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchmarks.common import cpu_of, finish, show
from onthedot.access.ports import Principal
from onthedot.api.http import Request
from onthedot.api.router import handle
from onthedot.core.attempt import perform
from onthedot.core.choices import Priority
from onthedot.core.clock import SystemClock
from onthedot.core.finish import finish_run
from onthedot.core.ports import Answer, Received
from onthedot.core.schema import DEFAULT_POOL
from onthedot.core.start import Started, start_run
from onthedot.core.stopping import Stop
from onthedot.targets.processes.python_runner import PythonRunner
from onthedot.targets.rules import AllowList
from onthedot.wiring.embedded import Embedded, embedded, owned_database, server_deployment

RUNS: Final = 2_000
TOGETHER: Final = 10
"""Operations that share a commit."""
ROUNDS: Final = 3
CALLER: Final = Principal("local", "admin", "benchmark")
BODY: Final = json.dumps({"target": {"type": "python", "handler": "noop"}, "payload": [1, 0]}).encode()
APP: Final = "benchmarks.serve_steps_app"


def main() -> int:
    """Measure the steps, show them, and return the exit code."""
    rounds = [_round() for _ in range(ROUNDS)]
    steps = {name: statistics.median(each[name] for each in rounds) for name in rounds[0]}
    rows = [[name, f"{microseconds:.0f}"] for name, microseconds in steps.items()]
    show("CPU of one run, µs", ["step", "median"], [*rows, ["all of these", f"{sum(steps.values()):.0f}"]])
    return finish("serve_steps", {"microseconds": steps}, [])


def _round() -> dict[str, float]:
    with _engine() as parts, PythonRunner(APP) as runner:
        started: list[Started] = []
        measured = {
            "accept: read, check, store, answer": _step(parts, lambda _: _accept(parts)),
            "start": _step(parts, lambda one: started.append(_start(parts, one)), lambda: _received(parts)),
        }
        children = _children_ms()
        calls = cpu_of(lambda: _call_all(parts, runner, started)).ms
        runner.close()
        measured["handler, the server's side"] = calls / RUNS * 1000
        measured["handler, its process"] = (_children_ms() - children) / RUNS * 1000
        ended = iter(started)
        measured["end"] = _step(parts, lambda _: _finish(parts, next(ended)))
        return measured


@contextmanager
def _engine() -> Iterator[Embedded]:
    with tempfile.TemporaryDirectory() as folder, owned_database(Path(folder) / "onthedot.db") as database:
        deployment = server_deployment(["http", "python"], AllowList(), cpus=1.0, memory_mb=1024)
        parts = embedded(database, SystemClock(), deployment)
        yield parts
        parts.close()


def _step(
    parts: Embedded, do: Callable[[Received | None], object], items: Callable[[], list[Received]] | None = None
) -> float:
    """Return the CPU time of one operation in microseconds, its share of the commit included."""
    found: list[Received] | list[None] = items() if items is not None else [None] * RUNS

    def all_groups() -> None:
        for first in range(0, RUNS, TOGETHER):
            with parts.database.transaction():
                for one in found[first : first + TOGETHER]:
                    do(one)

    return cpu_of(all_groups).ms / RUNS * 1000


def _accept(parts: Embedded) -> None:
    response = handle(parts.engine, Request("POST", "/v1/jobs", body=BODY, principal=CALLER))
    assert response.status == 202, response.text


def _received(parts: Embedded) -> list[Received]:
    received: list[Received] = []
    while some := parts.queues.receive(DEFAULT_POOL, Priority.MEDIUM, 10, visibility_ms=60_000):
        received += some
    return received


def _start(parts: Embedded, received: Received | None) -> Started:
    assert received is not None
    started = start_run(parts.engine, received.message, "serve-benchmark", near_ms=0)
    assert isinstance(started, Started), started
    return started


def _call_all(parts: Embedded, runner: PythonRunner, started: list[Started]) -> None:
    for one in started:
        answer = perform(parts.engine, runner, one.run, one.definition, Stop())
        assert answer.ok, answer


def _finish(parts: Embedded, started: Started) -> None:
    chance = random.Random(0)  # noqa: S311 (jitter of retries, not a secret)
    finish_run(parts.engine, started.run, started.definition, Answer(ok=True), chance=chance, patience_ms=0)


def _children_ms() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1000


if __name__ == "__main__":
    os.environ.setdefault("PYTHONPATH", str(Path(__file__).resolve().parent.parent))
    sys.exit(main())

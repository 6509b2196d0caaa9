"""Measure the throughput of runs at a gate that never fills, beside the same runs without a gate, and their cost.

The worker function runs here on MiniStack, ten messages to a batch. Only the calls of the targets are replaced: each
takes a tenth of a second, because calls take time. The two kinds of runs take turns in rounds, so that other programs
on the machine affect both alike. Requests and write units are counted apart from that, with short calls.
"""

import argparse
import contextlib
import io
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import boto3

from benchmarks.common import TENANT, Bar, finish, one_off, show
from benchmarks.dispatch_cost import BATCH, CREDENTIALS, TABLE, Context, sqs_record, worker_function, worker_settings
from localstack.ministack_process import running_ministack
from localstack.table import table_arguments
from localstack.write_units import counted_units
from onthedot.core import schema
from onthedot.core.pools import DEFAULT_POOLS
from onthedot.core.ports import Answer, Call, Deadline, Received
from onthedot.core.send import message_for
from onthedot.core.slots import queue_name
from onthedot.engine import Engine
from onthedot.gates.limits import GateLimits
from onthedot.jobs.submit import record_for
from onthedot.wiring import aws as aws_wiring

RUNS: Final = 1_000
ROUNDS: Final = 10
CALL_SECONDS: Final = 0.1
SHORT_SECONDS: Final = 0.02
"""The time of a call while requests are counted: the other runs of a batch ask the gate meanwhile."""
LEAST_RATIO: Final = 0.8
LIMITS: Final = {"wide": GateLimits(in_flight=1_000), "narrow": GateLimits(in_flight=1)}
WITHOUT: Final = ()
WIDE: Final = ("wide",)
COUNTED: Final = {
    "without a gate": WITHOUT,
    "a gate of 1,000 places": WIDE,
    "a gate of 5 places for each run": ("customer:",),
    "a gate of one place, at which most wait": ("narrow",),
}


@dataclass(frozen=True, slots=True)
class Calls:
    seconds: float

    def perform(self, call: Call) -> Answer:  # noqa: ARG002
        time.sleep(self.seconds)
        return Answer(ok=True, result='{"ok":true}')


class CountingClient:
    """A client that counts its calls by the names of their methods."""

    def __init__(self, client: Any) -> None:
        self.requests: Counter[str] = Counter()
        self._client = client

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        def call(**arguments: Any) -> Any:
            self.requests[name] += 1
            return method(**arguments)

        return call


@dataclass(frozen=True, slots=True)
class Worker:
    handler: Any
    engine: Engine
    dynamodb: Any
    sqs: Any

    def submit(self, gates: Sequence[str], count: int) -> list[dict[str, Any]]:
        """Store runs that are due now. Return their messages. A name that ends in a colon gets a key for each run."""
        now = self.engine.clock.now()
        named = [tuple(f"{g}{n}" if g.endswith(":") else g for g in gates) for n in range(count)]
        runs = [record_for(self.engine, TENANT, replace(one_off(now), record={"gates": each})) for each in named]
        self.engine.store.create_many(runs, Deadline.after(now, 600_000))
        return [sqs_record(number, Received(message_for(run), "receipt", 1)) for number, run in enumerate(runs)]

    def drain(self, records: Sequence[dict[str, Any]], call_seconds: float) -> float:
        """Execute the messages. Return the time that it took, in seconds."""
        self.handler._executor = replace(self.handler._executor, performer=Calls(call_seconds))
        began = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            for first in range(0, len(records), BATCH):
                reply = self.handler.handle({"Records": records[first : first + BATCH]}, Context())
                if reply["batchItemFailures"]:
                    raise RuntimeError("a message was given back")
        return time.perf_counter() - began

    def drain_counted(self, records: Sequence[dict[str, Any]]) -> dict[str, float]:
        """Execute the messages. Return the requests and write units for each run, and the CPU time in milliseconds."""
        before = self.dynamodb.requests + self.sqs.requests
        with counted_units(self.dynamodb) as units:
            began = time.process_time()
            self.drain(records, SHORT_SECONDS)
            spent = time.process_time() - began
        requests = self.dynamodb.requests + self.sqs.requests - before
        count = len(records)
        by_name = {name: number / count for name, number in sorted(requests.items())}
        return {
            "requests": sum(by_name.values()),
            "write units": sum(units) / count,
            "CPU-ms": 1000 * spent / count,
        } | by_name


@contextmanager
def a_worker() -> Iterator[Worker]:
    """Start MiniStack, and load the worker function with settings for it."""
    with tempfile.TemporaryDirectory() as folder, running_ministack(Path(folder)) as url:
        os.environ.update({**CREDENTIALS, "AWS_ENDPOINT_URL": url})
        sqs = boto3.client("sqs")
        names = {queue_name(pool, priority) for pool in DEFAULT_POOLS for priority in schema.PRIORITIES}
        urls = {name: sqs.create_queue(QueueName=name)["QueueUrl"] for name in names}
        boto3.client("dynamodb").create_table(**table_arguments(TABLE))
        clients: dict[str, Any] = {}
        make = aws_wiring.client
        handler = worker_function(
            worker_settings(urls["long"].removesuffix("long")),
            lambda service, **how: clients.setdefault(service, CountingClient(make(service, **how))),
        )
        engine: Engine = handler._engine
        for name, limits in {**LIMITS, "customer": GateLimits(in_flight=5)}.items():
            engine.gates.put(TENANT, name, limits)
        yield Worker(handler, engine, clients["dynamodb"], clients["sqs"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help="runs of each kind")
    options = parser.parse_args()
    count = max(options.runs // ROUNDS, BATCH)
    spent: dict[Sequence[str], list[float]] = {WITHOUT: [], WIDE: []}
    with a_worker() as worker:
        for gates in spent:
            worker.drain(worker.submit(gates, count), 0)  # warms up, and lays the places of the gate out
        for number in range(ROUNDS):
            for gates in list(spent)[:: 1 if number % 2 else -1]:
                spent[gates].append(worker.drain(worker.submit(gates, count), CALL_SECONDS))
        costs = {what: worker.drain_counted(worker.submit(gates, count)) for what, gates in COUNTED.items()}
    ratios = [without / wide for without, wide in zip(spent[WITHOUT], spent[WIDE], strict=True)]
    ratio = statistics.median(ratios)
    rates = {what: count / statistics.median(spent[gates]) for what, gates in list(COUNTED.items())[:2]}
    show(f"{count * ROUNDS:,} runs of each kind", ["", "runs a second"], [[what, rate] for what, rate in rates.items()])
    names = ["requests", "write units", "CPU-ms"]
    show(
        "For each run",
        ["", *names],
        [[what, *(cost[n] for n in names)] for what, cost in costs.items()],
    )
    results = {"ratio": ratio, "ratios": ratios, "runs_per_second": rates, "per_run": costs}
    bar = Bar("time with a gate, relative to none", 1 / ratio, 1 / LEAST_RATIO, "×")
    return finish("gates", results, [bar])


if __name__ == "__main__":
    sys.exit(main())

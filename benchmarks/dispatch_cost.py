"""Measure the CPU time of a run in the dispatcher and in the worker, without the network.

Everything but the socket is real: the clients build, sign and parse every request. Replies come from this process. The
cost of making them is subtracted. So is the cost of an empty tick, which is shown on its own.
"""

import argparse
import contextlib
import importlib
import io
import os
import random
import statistics
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Final
from unittest.mock import patch

from benchmarks.common import TENANT, Bar, cpu_of, finish, one_off, recurring, show, spread
from benchmarks.stubbed_aws import StubbedAws
from onthedot.core.attempt import RunExecutor, execute_run
from onthedot.core.clock import VirtualClock
from onthedot.core.pass_progress import ProgressStore, first_progress, progress_text
from onthedot.core.pools import DEFAULT_POOLS, pools_to_text
from onthedot.core.ports import Answer, Call, Deadline, Received, Tick
from onthedot.core.progress import LatestProgress
from onthedot.core.records import Record
from onthedot.core.schema import progress_key
from onthedot.core.send import message_for
from onthedot.core.slots import BUCKET_MS, DIRECT_MARGIN, Deployment, bucket_of, queue_urls
from onthedot.core.start import Done
from onthedot.core.stopping import Stop
from onthedot.core.tick import dispatch_due
from onthedot.engine import Engine
from onthedot.engines.aws.client import CHOICE, ONLY_BOTO3
from onthedot.engines.aws.dynamodb.items import DynamoItems
from onthedot.engines.aws.dynamodb.keys import stored_key
from onthedot.engines.aws.sqs.queues import message_body
from onthedot.jobs.submit import submit_job
from onthedot.settings import WorkerSettings
from onthedot.wiring import aws as aws_wiring
from onthedot.wiring.aws_engine import aws_engine

TABLE: Final = "onthedot-bench"
DEPLOYMENT: Final = Deployment(shards=4, lookahead=3, history_days=7)
SHARDS: Final = tuple(range(DEPLOYMENT.shards))
QUEUE_BASE: Final = "https://sqs.us-east-1.amazonaws.com/123456789012/"
QUEUES: Final = queue_urls(QUEUE_BASE, DEFAULT_POOLS)
RUNS: Final = 1_000
WORKER_RUNS: Final = 200
BATCH: Final = 10
CREDENTIALS: Final = {
    "AWS_LAMBDA_FUNCTION_NAME": "onthedot-bench",
    "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
}

_client = aws_wiring.client
MakeClient = Callable[[StubbedAws, str], Any]


def wired(stub: StubbedAws, service: str) -> Any:
    return stub.serve(_client(service))


def _boto3(stub: StubbedAws, service: str) -> Any:
    with patch.dict(os.environ, {CHOICE: "boto3"}):
        return wired(stub, service)


WIRED: Final = "as wired"
BOTO3: Final = "boto3"
CLIENTS: Final[dict[str, MakeClient]] = {WIRED: wired, BOTO3: _boto3}


@dataclass
class Case:
    """An action to measure, and the number of runs in it."""

    stub: StubbedAws
    action: Callable[[], object]
    runs: int
    cpu_ms: list[float] = field(default_factory=list)
    """Calm: divided by the slowness of the machine."""
    raw_ms: list[float] = field(default_factory=list)
    slowness: list[float] = field(default_factory=list)
    requests: int = 0

    def measure(self) -> None:
        """Measure the CPU time of the action, without the time that the stub needs to answer."""
        cpu_before, self.stub.requests = self.stub.cpu_ns, 0
        cpu = cpu_of(self.action)
        stubs = (self.stub.cpu_ns - cpu_before) / 1e6
        net = replace(cpu, ms=cpu.ms - stubs)
        self.cpu_ms.append(net.calm_ms)
        self.raw_ms.append(net.ms)
        self.slowness.append(cpu.slowness)
        self.requests = self.stub.requests

    def median(self) -> float:
        return statistics.median(self.cpu_ms)


@dataclass
class StubbedEngine:
    stub: StubbedAws
    clock: VirtualClock
    engine: Engine
    progress: ProgressStore

    def tick(self) -> Counter[str]:
        now = self.clock.now()
        return dispatch_due(self.engine, self.progress, Tick(0, SHARDS, now, "tick"), Deadline.after(now, 60_000))

    def due_messages(self) -> list[Received]:
        runs = [submit_job(self.engine, TENANT, one_off(self.clock.now() + 1)) for _ in range(WORKER_RUNS)]
        self.clock.advance(1)
        return [Received(message_for(run), "receipt", 1) for run in runs]


def a_stubbed_engine(make_client: MakeClient) -> StubbedEngine:
    stub, clock = StubbedAws(), VirtualClock()
    dynamodb, sqs = make_client(stub, "dynamodb"), make_client(stub, "sqs")
    engine = aws_engine(dynamodb, sqs, TABLE, QUEUES, clock=clock, deployment=DEPLOYMENT)
    return StubbedEngine(stub, clock, engine, ProgressStore(DynamoItems(dynamodb, TABLE, clock)))


class Context:
    def get_remaining_time_in_millis(self) -> int:
        return 900_000


class NoOp:
    def perform(self, call: Call) -> Answer:  # noqa: ARG002
        return Answer(ok=True, result='{"ok":true}')


class NoLeases:
    def keeping(self, run: Record, stop: Stop, progress: LatestProgress) -> AbstractContextManager[None]:  # noqa: ARG002
        return nullcontext()


def ticking(make_client: MakeClient, one_offs: int = 0, recurrings: int = 0) -> Case:
    """Return ticks that find the same load each time, because the stub keeps every item in its slot."""
    stubbed = a_stubbed_engine(make_client)
    present = bucket_of(stubbed.clock.now())
    for shard in SHARDS:
        done = progress_text(first_progress(0, None, present))
        stubbed.stub.put({**stored_key(progress_key(shard)), "done": {"S": done}})
    start = (present + DEPLOYMENT.lookahead + DIRECT_MARGIN + 1) * BUCKET_MS
    requests = [one_off(start + i * BUCKET_MS // one_offs) for i in range(one_offs)]
    for request in requests + [recurring(i, start) for i in range(recurrings)]:
        submit_job(stubbed.engine, TENANT, request)
    stubbed.clock.advance((DIRECT_MARGIN + 1) * BUCKET_MS / 1000)
    counts = stubbed.tick()
    if (counts["sent"], counts["advanced"], counts["unsent"]) != (one_offs + recurrings, recurrings, 0):
        raise RuntimeError(f"measured the wrong tick: {counts}")
    return Case(stubbed.stub, stubbed.tick, one_offs + recurrings)


def executing(make_client: MakeClient) -> Case:
    """Return the worker's use case: start, a target that does nothing, finish."""
    stubbed = a_stubbed_engine(make_client)
    received = stubbed.due_messages()
    worker = RunExecutor(stubbed.engine, NoOp(), NoLeases(), "lambda-12345678", random.Random(1))  # noqa: S311 - jitter

    def execute() -> None:
        for each in received:
            if execute_run(worker, each) != Done("succeeded"):
                raise RuntimeError("a run did not succeed")

    return Case(stubbed.stub, execute, WORKER_RUNS)


def worker_settings(queue_base: str = QUEUE_BASE, *, allow_private_targets: bool = False) -> WorkerSettings:
    return WorkerSettings(
        stage="bench",
        table=TABLE,
        shards=DEPLOYMENT.shards,
        lookahead=DEPLOYMENT.lookahead,
        history_days=DEPLOYMENT.history_days,
        backlog_limit=DEPLOYMENT.backlog_limit,
        queue_base=queue_base,
        pools=pools_to_text(DEFAULT_POOLS),
        blob_bucket="none",
        allow_list={},
        allow_private_targets=allow_private_targets,
    )


def worker_function(settings: WorkerSettings, make_client: Callable[..., Any]) -> Any:
    """Return the module of the worker function, which makes its clients by this function."""
    clients = patch.object(aws_wiring, "client", make_client)
    with patch.dict(os.environ, settings.to_environment()), clients, contextlib.redirect_stdout(io.StringIO()):
        return importlib.import_module("functions.worker.handler")


def serving() -> Case:
    """Return the worker function as Lambda calls it, ten messages to a batch, with its threads and log lines."""
    stubbed = a_stubbed_engine(wired)
    handler = worker_function(worker_settings(), lambda service, **_: wired(stubbed.stub, service))
    handler._executor = replace(handler._executor, performer=NoOp())
    records = [sqs_record(number, each) for number, each in enumerate(stubbed.due_messages())]

    def handle() -> None:
        for first in range(0, len(records), BATCH):
            if handler.handle({"Records": records[first : first + BATCH]}, Context())["batchItemFailures"]:
                raise RuntimeError("a message was given back")

    return Case(stubbed.stub, handle, WORKER_RUNS)


def sqs_record(number: int, received: Received) -> dict[str, Any]:
    body, attributes = message_body(received.message), {"ApproximateReceiveCount": "1"}
    return {"messageId": str(number), "receiptHandle": "receipt", "body": body, "attributes": attributes}


# --- the measurement -------------------------------------------------------------------------------------------------


def measure(cases: dict[tuple[str, str], Case], rounds: int) -> None:
    """Measure all cases in turns, so that noise affects all of them alike. The first round is for warming up."""
    for number in range(rounds + 1):
        for case in cases.values():
            case.measure()
            if number == 0:
                for warming_up in (case.cpu_ms, case.raw_ms, case.slowness):
                    warming_up.clear()


def per_run(cases: dict[tuple[str, str], Case], what: str, client: str, *, raw: bool = False) -> float:
    def median(case: Case) -> float:
        return statistics.median(case.raw_ms) if raw else case.median()

    fixed = median(cases["empty tick", client]) if "dispatch" in what else 0.0
    return (median(cases[what, client]) - fixed) / cases[what, client].runs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    for name in ONLY_BOTO3:
        os.environ.pop(name, None)
    os.environ.update(CREDENTIALS)
    cases: dict[tuple[str, str], Case] = {}
    for name, make_client in CLIENTS.items():
        cases["empty tick", name] = ticking(make_client)
        cases["dispatch, one-off", name] = ticking(make_client, one_offs=RUNS)
        cases["dispatch, recurring", name] = ticking(make_client, recurrings=RUNS)
        cases["worker", name] = executing(make_client)
    cases["worker function", WIRED] = serving()
    measure(cases, options.rounds)

    runs = [(what, client) for what, client in cases if what != "empty tick"]
    figures = {what: {client: per_run(cases, what, client) for w, client in runs if w == what} for what, _ in runs}
    raw = {what: per_run(cases, what, WIRED, raw=True) for what in figures}
    rows: list[list[object]] = [
        [what, raw[what], *(figures[what].get(c, "") for c in CLIENTS), f"± {spread(cases[what, WIRED].cpu_ms):.0%}"]
        for what in figures
    ]
    slowness = statistics.median(each for case in cases.values() for each in case.slowness)
    show(f"CPU-ms a run, network stubbed, machine {slowness:.2f} × calm", ["", "wired, raw", *CLIENTS, "noise"], rows)
    empty = {client: cases["empty tick", client] for client in CLIENTS}
    rows = [["CPU-ms", *(case.median() for case in empty.values())]]
    rows.append(["requests", *(case.requests for case in empty.values())])
    show(f"An empty tick of {DEPLOYMENT.shards} shards", ["", *CLIENTS], rows)
    results = {
        "cpu_ms_per_run": figures,
        "raw_cpu_ms_per_run_aswired": raw,
        "slowness": slowness,
        "empty_tick": {client: [case.median(), case.requests] for client, case in empty.items()},
    }
    limits = {"dispatch, one-off": (0.15, 0.10), "dispatch, recurring": (0.40, 0.20), "worker": (0.35, 0.25)}
    # Both figures are judged, so that the reader sees which of them misses a bar.
    bars = [
        Bar(f"{what}, {kind}", measured, limits[what][0], "ms", limits[what][1])
        for what in limits
        for kind, measured in (("raw", raw[what]), ("calm", figures[what][WIRED]))
    ]
    return finish("dispatch_cost", results, bars)


if __name__ == "__main__":
    sys.exit(main())

"""Record what this version stores and sends, for the versions after it to read.

`python -m tests.recorded.record NAME` writes `NAME.aws.json` and `NAME.sqlite.json` beside this file: all items of the
table, all messages, and the answers of the API about them. Record a version before a change of items or messages, never
after it. `tests/contract/runs/test_recorded.py` continues the recorded jobs with the present code.
"""

import json
import random
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3

from localstack.ministack_process import running_ministack
from localstack.table import table_arguments
from onthedot.access.ports import Principal
from onthedot.access.token_store import TokenStore
from onthedot.access.tokens import create_token
from onthedot.api.http import Request
from onthedot.api.router import handle
from onthedot.core import schema
from onthedot.core.attempt import RunExecutor, execute_run
from onthedot.core.clock import VirtualClock
from onthedot.core.pass_progress import ProgressStore
from onthedot.core.pools import DEFAULT_POOLS
from onthedot.core.ports import Answer, Call, Deadline, Performer, Received, Tick, TickQueue
from onthedot.core.progress import LatestProgress
from onthedot.core.records import Record, Status
from onthedot.core.send import message_for
from onthedot.core.slots import Deployment, queue_key
from onthedot.core.start import Started, start_run
from onthedot.core.stopping import Stop
from onthedot.core.tick import dispatch_due, plan_ticks
from onthedot.engine import Engine
from onthedot.engines.aws.dynamodb.items import DynamoItems
from onthedot.engines.aws.sqs.ticks import SqsTickQueue
from onthedot.engines.sqlite.blobs import SqliteBlobs
from onthedot.engines.sqlite.database import Database
from onthedot.targets.router import TargetRouter
from onthedot.wiring.aws_engine import aws_engine
from onthedot.workflows.start import WorkflowStarter
from tests import builders

HERE = Path(__file__).parent
DEPLOYMENT = Deployment(shards=2, lookahead=3, history_days=7)
TENANT = "acme"
URL = "https://example.org/hook"
SHELL = {"type": "shell", "argv": ["true"]}
PATTERN = {"source": ["shop"], "detail-type": [{"prefix": "Order"}]}


class NoLeases:
    """Attempts take no time here, so no lease is kept."""

    def keeping(self, run: Record, stop: Stop, progress: LatestProgress) -> AbstractContextManager[None]:
        return nullcontext()


class Target:
    """A target that succeeds, unless the payload says `fail`."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def perform(self, call: Call) -> Answer:
        self.calls.append(call)
        if call.payload == b'"fail"':
            return Answer(ok=False, error="500 from the target", error_class="http_500")
        return Answer(ok=True, result="fine")


@dataclass
class Stage:
    """One engine, with the parts around it."""

    engine: Engine
    progress: ProgressStore
    tokens: TokenStore
    ticks: TickQueue
    target: Target = field(default_factory=Target)

    def call(self, method: str, path: str, /, **fields: Any) -> Any:
        """Call the API as an admin of the tenant, and return the body of the answer."""
        body = json.dumps(fields).encode() if fields else b""
        principal = Principal(TENANT, "admin", "recorder")
        response = handle(self.engine, Request(method, path, body=body, principal=principal))
        assert response.status < 300, (method, path, response.body)
        return response.body

    def job(self, **fields: Any) -> str:
        where = {} if "target" in fields else {"callback_url": URL}
        return str(self.call("POST", "/v1/jobs", **where, **fields)["job_id"])

    def tell(self, event_id: str) -> list[str]:
        """Send an event, and return the ids of its runs."""
        detail = {"total": 11}
        event = self.call("POST", "/v1/events", id=event_id, source="shop", detail_type="Order Paid", detail=detail)
        return list(event["runs"])

    def tick(self) -> None:
        """Send the ticks of this minute and do them."""
        now = self.engine.clock.now()
        plan_ticks(self.ticks, self.engine.clock, shards=DEPLOYMENT.shards, shards_per_group=DEPLOYMENT.shards)
        tick = Tick(0, tuple(range(DEPLOYMENT.shards)), now, f"tick-{now}")
        counts = dispatch_due(self.engine, self.progress, tick, Deadline.after(now, 80_000))
        assert not counts["slot_failed"], counts

    def execute(self, run_id: str) -> None:
        """Execute a run that was sent, without its message."""
        run = self.engine.store.get(run_id)
        assert run is not None
        self.execute_message(message_for(run))

    def execute_message(self, message: Any) -> Any:
        performers: dict[str, Callable[[], Performer]] = {
            "http": lambda: self.target,
            "shell": lambda: self.target,
            "workflow": lambda: WorkflowStarter(self.engine),
        }
        executor = RunExecutor(self.engine, TargetRouter(performers), NoLeases(), "worker-1", random.Random(1))
        return execute_run(executor, Received(message, "receipt", 1))

    def start(self, run_id: str) -> None:
        """Start a run and leave it running."""
        run = self.engine.store.get(run_id)
        assert run is not None
        assert isinstance(start_run(self.engine, message_for(run), "worker-1"), Started)

    def runs_of(self, job_id: str) -> list[Record]:
        return list(self.engine.store.runs_of(job_id, 100).items)


def play(stage: Stage, clock: VirtualClock) -> dict[str, Any]:
    """Make one job of each kind and in each state. Return their names and ids, and the other things to look at."""
    call, job = stage.call, stage.job
    call("PUT", f"/v1/limits/{TENANT}", in_flight=50, per_second=100, burst=50, weight=2)
    call("PUT", "/v1/gates/stripe", in_flight=1)
    call("PUT", "/v1/gates/customer", in_flight=3, per_second=5)
    ids = {
        "recurring": job(every=60, payload={"n": 2}),
        "cron": job(cron="*/5 9-17 * * *", timezone="Europe/Berlin", jitter_seconds=30, overlap="skip"),
        "missed": job(every=60, misfire={"policy": "skip", "grace_seconds": 10}),
        "ended": job(every=60, max_runs=1),
        "event": job(on_event=PATTERN, payload={"total": "$.detail.total"}),
    }
    call("POST", f"/v1/jobs/{ids['missed']}/pause")
    for _ in range(10):
        clock.advance(60)
        stage.tick()
        for run in stage.runs_of(ids["recurring"]) + stage.runs_of(ids["ended"]):
            if run.status is Status.DISPATCHED and run.due_at <= clock.now():
                stage.execute(run.run_id)
    call("POST", f"/v1/jobs/{ids['missed']}/resume")
    stage.tick()
    ids |= {
        "far": job(delay=7 * 60, name="far", tags={"team": "ops"}, start_within_seconds=600),
        "near": job(delay=60, priority="HIGH", gates=["customer:42"]),
        "large": job(delay=30, payload={"text": "x" * 2_000}),
        "succeeded": job(payload={"n": 1}, retry={"max_retries": 1}),
        "failed": job(payload="fail", retry={"max_retries": 0}),
        "retrying": job(payload="fail", retry={"max_retries": 1, "backoff_seconds": 20, "jitter": False}),
        "running": job(gates=["stripe"]),
        "at_a_gate": job(gates=["stripe"]),
        "paused": job(delay=300),
        "cancelled": job(delay=300),
        "deleted": job(delay=300),
        "pulled": job(target=SHELL),
        "waits_for_a_worker": job(target=SHELL, delay=40),
        "set_aside": job(delay=3_600),
    }
    ids["child"] = job(dependencies=[ids["far"]])
    graph = [{"key": "a", "callback_url": URL}, {"key": "b", "callback_url": URL, "depends_on": ["a"]}]
    ids["workflow"] = str(call("POST", "/v1/workflows", jobs=graph)["workflow_id"])
    (event_run,) = stage.tell("event-1")
    worker = call("POST", "/v1/workers/register", capabilities=["shell"], resources={"slots": 2})["worker_id"]
    assert len(call("POST", f"/v1/workers/{worker}/lease")["runs"]) == 1
    for name in ("succeeded", "failed", "retrying", "workflow"):
        stage.execute(ids[name])
    stage.start(ids["running"])
    stage.execute(ids["at_a_gate"])
    call("POST", f"/v1/jobs/{ids['paused']}/pause")
    call("PUT", f"/v1/jobs/{ids['cancelled']}/cancel")
    call("DELETE", f"/v1/jobs/{ids['deleted']}")
    manual = call("POST", f"/v1/jobs/{ids['recurring']}/run")["execution_id"]
    odd = stage.engine.store.get(ids["set_aside"])
    assert odd is not None
    assert odd.slot is not None
    assert stage.engine.store.set_aside(odd.run_id, odd.slot, "recorded", clock.now())
    return {
        "ids": ids,
        "runs": {"event": event_run, "manual": manual},
        "worker": worker,
        "token": create_token(stage.tokens, clock, Principal(TENANT, "operator", "recorded"))[0],
    }


def answers(stage: Stage, told: dict[str, Any]) -> dict[str, Any]:
    """Return the answers of the API about everything that the story made."""
    deleted = told["ids"]["deleted"]
    paths = [f"/v1/jobs/{job_id}" for job_id in told["ids"].values() if job_id != deleted]
    paths += [f"/v1/executions/{run_id}" for run_id in told["runs"].values()]
    paths += [f"{path}/executions" for path in paths if path.startswith("/v1/jobs/")]
    paths += [f"/v1/workflows/{told['ids']['workflow']}", f"/v1/workers/{told['worker']}", "/v1/workers"]
    paths += ["/v1/gates", "/v1/gates/stripe", "/v1/limits", "/v1/dead-letters", "/v1/signing-keys"]
    return {path: json.loads(json.dumps(stage.call("GET", path))) for path in paths}


class Tap:
    """An SQS client that keeps the bodies of all messages that are sent."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.sent: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def send_message_batch(self, **arguments: Any) -> Any:
        self.sent += [entry["MessageBody"] for entry in arguments["Entries"]]
        return self._client.send_message_batch(**arguments)


def aws_stage(
    dynamodb: Any, runs: Any, table: str, clock: VirtualClock, database: Database, *, ticks: Any = None
) -> Stage:
    """Return the aws engine on this table, with new queues. Its blobs are in the database."""
    keys = [queue_key(pool.name, priority) for pool in DEFAULT_POOLS for priority in schema.PRIORITIES]
    urls = {key: runs.create_queue(QueueName=f"{table}-{key}")["QueueUrl"] for key in keys}
    tick_url = runs.create_queue(QueueName=f"{table}-tick")["QueueUrl"]
    blobs = SqliteBlobs(database)
    engine = aws_engine(dynamodb, runs, table, urls, clock=clock, deployment=DEPLOYMENT, blobs=blobs)
    queue = SqsTickQueue(ticks or runs, tick_url, clock)
    return Stage(engine, ProgressStore(DynamoItems(dynamodb, table, clock)), engine.tokens, queue)


def record_aws() -> dict[str, Any]:
    """Play the story on the aws engine."""
    clock = VirtualClock()
    session = boto3.Session("test", "test", region_name="us-east-1")
    with tempfile.TemporaryDirectory() as folder, running_ministack(Path(folder)) as url, Database() as database:
        dynamodb = session.client("dynamodb", endpoint_url=url)
        runs, ticks = (Tap(session.client("sqs", endpoint_url=url)) for _ in range(2))
        dynamodb.create_table(**table_arguments("jobs"))
        stage = aws_stage(dynamodb, runs, "jobs", clock, database, ticks=ticks)
        told = play(stage, clock)
        items = dynamodb.scan(TableName="jobs")["Items"]
        with database.transaction() as connection:
            stored = {row["key"]: row["content"].decode() for row in connection.execute("SELECT * FROM blobs")}
        return {
            "at": clock.now(),
            **told,
            "items": items,
            "blobs": stored,
            "messages": runs.sent,
            "ticks": ticks.sent,
            "answers": answers(stage, told),
        }


def record_sqlite() -> dict[str, Any]:
    """Play the story on the embedded engine."""
    clock = VirtualClock()
    with Database() as database:
        embedded = builders.World.on(database, clock, DEPLOYMENT)
        stage = Stage(embedded.engine, embedded.progress, embedded.tokens, embedded.ticks)
        told = play(stage, clock)
        with database.transaction() as connection:
            dump = [line for line in connection.iterdump() if line not in ("BEGIN TRANSACTION;", "COMMIT;")]
        return {"at": clock.now(), **told, "sql": dump, "answers": answers(stage, told)}


def write(name: str) -> None:
    for engine, record in (("aws", record_aws), ("sqlite", record_sqlite)):
        text = json.dumps(record(), indent=1, sort_keys=True, default=sorted, ensure_ascii=False)
        (HERE / f"{name}.{engine}.json").write_text(text + "\n")


if __name__ == "__main__":
    write(sys.argv[1])

"""The world of a recording: an engine in virtual time, its API, and what it stores.

Everything that the recordings need of the product is imported here and nowhere else, so a module that moves costs one
line. The rest comes from outside: calls over REST, commands of the CLI, tables read by their own clients.
"""

import itertools
import json
import random
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any
from unittest.mock import patch
from urllib.parse import parse_qsl

import boto3

from localstack.table import table_arguments
from onthedot.access.ports import Principal
from onthedot.api.http import Request, Response
from onthedot.api.router import handle
from onthedot.cli.main import main as cli
from onthedot.core import schema
from onthedot.core.attempt import RunExecutor, execute_run
from onthedot.core.clock import VirtualClock
from onthedot.core.pass_progress import ProgressStore
from onthedot.core.pools import DEFAULT_POOLS
from onthedot.core.ports import Answer, Call, Deadline, Received, Tick, TickQueue
from onthedot.core.send import message_for
from onthedot.core.slots import Deployment, queue_key
from onthedot.core.start import start_run
from onthedot.core.tick import dispatch_due, plan_ticks
from onthedot.engine import Engine
from onthedot.engines.aws.dynamodb.items import DynamoItems
from onthedot.engines.aws.sqs.ticks import SqsTickQueue
from onthedot.engines.sqlite.blobs import SqliteBlobs
from onthedot.engines.sqlite.database import Database
from onthedot.events.ports import RecordChange
from onthedot.statistics.store import StatisticsWriter, count_changes
from onthedot.targets import rules
from onthedot.targets.router import TargetRouter
from onthedot.wiring.aws_engine import aws_engine
from onthedot.workflows.start import WorkflowStarter
from tests import builders

__all__ = ["TENANT", "World", "cli", "on_aws", "on_sqlite"]
SHARDS = 2
DEPLOYMENT = Deployment(
    shards=SHARDS,
    lookahead=3,
    history_days=7,
    allow_list=rules.from_json({"functions": ["resize"], "calls": ["sqs:SendMessage"]}),
)
TENANT = "acme"
TABLE = "jobs"


class NoLeases:
    """Attempts take no time here, so no lease is kept."""

    def keeping(self, *_: Any) -> Any:
        return nullcontext()


class Target:
    """A target that succeeds, unless the payload says `fail`."""

    def perform(self, call: Call) -> Answer:
        if call.payload == b'"fail"':
            return Answer(ok=False, error="500 from the target", error_class="http_500")
        return Answer(ok=True, result="fine")


@dataclass
class World:
    """One engine, with the parts around it."""

    clock: VirtualClock
    engine: Engine
    progress: ProgressStore
    ticks: TickQueue
    counter: "Counter"
    stored: Callable[[], dict[str, Any]]
    """Everything that is stored now: the rows or items, by a readable key."""
    count: Callable[[Any], None] = lambda _: None
    """Count the end of a run, where a function beside the engine does that."""
    names: dict[str, str] = field(default_factory=dict)
    """Readable names of ids."""

    def answer(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        *,
        role: str | None = "admin",
        tenant: str = TENANT,
    ) -> Response:
        """Call the API with a token of this role, or without a token."""
        path, _, query = path.partition("?")
        principal = role and Principal(tenant, role, "golden")
        asked = dict(parse_qsl(query, keep_blank_values=True))
        return handle(self.engine, Request(method, path, asked, headers or {}, body, principal or None))

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Call the API as an admin, and return the body of an answer that is no refusal."""
        response = self.answer(method, path, b"" if body is None else json.dumps(body).encode())
        assert response.status < 300, (method, path, response.body)
        return response.body

    def make(self, name: str, path: str = "/v1/jobs", /, **fields: Any) -> str:
        """Make a job or a workflow whose id does not depend on chance, and remember its name."""
        where = (
            {} if {"target", "callback_url", "jobs"} & fields.keys() else {"callback_url": "https://example.org/hook"}
        )
        content = {"idempotency_key": name, **where, **fields}
        answer = self.call("POST", path, content)
        self.names[answer["job_id"]] = name
        for member in answer.get("jobs", ()):
            self.names[member["job_id"]] = f"{name}/{member['key']}"
        return str(answer["job_id"])

    def tick(self, minutes: int = 1, *, execute: bool = True) -> None:
        """Let minutes pass. In each, do the tick, and execute what is due then."""
        for _ in range(minutes):
            self.clock.advance(60)
            now = self.clock.now()
            plan_ticks(self.ticks, self.clock, shards=SHARDS, shards_per_group=SHARDS)
            tick = Tick(0, tuple(range(SHARDS)), now, f"tick-{now}")
            counts = dispatch_due(self.engine, self.progress, tick, Deadline.after(now, 80_000))
            assert not counts["slot_failed"], counts
            if execute:
                self.execute_due()

    def execute_due(self) -> None:
        """Execute the runs of the push pool whose messages are due."""
        for job_id in sorted(self.names, key=self.names.__getitem__):
            own = self.engine.store.get(job_id)
            for run in [*([own] if own else []), *self.engine.store.runs_of(job_id, 100).items]:
                if run.status == "DISPATCHED" and run.due_at <= self.clock.now() and run.pool == schema.DEFAULT_POOL:
                    self.execute(run.run_id)

    def execute(self, run_id: str) -> None:
        """Execute a run that was sent, without its message."""
        run = self.engine.store.get(run_id)
        assert run is not None
        performers: Any = {
            "http": Target,
            "workflow": lambda: WorkflowStarter(self.engine),
        }
        executor = RunExecutor(self.engine, TargetRouter(performers), NoLeases(), "worker-1", random.Random(1))
        execute_run(executor, Received(message_for(run), "receipt", 1))

    def count_ends(self) -> None:
        """Count the ends of all jobs, as the stream of the table would bring them."""
        for job_id in sorted(self.names, key=self.names.__getitem__):
            run = self.engine.store.get(job_id)
            if run is not None and run.finished_at is not None:
                self.count(run)

    def start(self, run_id: str) -> None:
        """Start a run and leave it running."""
        run = self.engine.store.get(run_id)
        assert run is not None
        start_run(self.engine, message_for(run), "worker-1")


class Counter:
    """Counts instead of drawing random tokens, so that lists which are sorted by them have one order."""

    def __init__(self) -> None:
        self._last = 0

    def next(self) -> int:
        self._last += 1
        return self._last

    def jump(self) -> None:
        """Go on at the next round number, so that one draw more or less changes nothing after this step."""
        self._last += 1_000 - self._last % 1_000


@contextmanager
def no_chance() -> Iterator[Counter]:
    """Replace chance by a counter."""
    counter = Counter()
    with (
        patch.object(secrets, "token_hex", lambda size=16: f"{counter.next():0{2 * size}x}"),
        patch.object(secrets, "token_bytes", lambda size=32: counter.next().to_bytes(size, "big")),
        patch.object(secrets, "token_urlsafe", lambda size=32: f"{counter.next():0{size * 4 // 3}d}"),
    ):
        yield counter


@contextmanager
def on_sqlite() -> Iterator[World]:
    """The embedded engine in memory."""
    with Database() as database, no_chance() as counter:
        clock = VirtualClock()
        made = builders.World.on(database, clock, DEPLOYMENT)

        def stored() -> dict[str, Any]:
            with database.transaction() as connection:
                return sqlite_rows(connection)

        yield World(clock, made.engine, made.progress, made.ticks, counter, stored)


def sqlite_rows(connection: Any) -> dict[str, Any]:
    """The statements that made the tables, and all rows by table and primary key."""
    found = {}
    for row in connection.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall():
        found[f"{row['type']} {row['name']}"] = row["sql"]
        if row["type"] == "table" and not row["name"].startswith("sqlite_"):
            columns = connection.execute(f'PRAGMA table_info("{row["name"]}")').fetchall()
            keys = [column["name"] for column in columns if column["pk"]]
            for values in connection.execute(f'SELECT * FROM "{row["name"]}"').fetchall():
                key = " ".join(str(values[name]) for name in keys)
                shown = {name: values[name] for name in values.keys() if values[name] is not None}  # noqa: SIM118
                found[f"{row['name']}: {key}"] = shown
    return found


class Tap:
    """An SQS client that keeps all messages that are sent."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.sent: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def send_message_batch(self, **arguments: Any) -> Any:
        queue = arguments["QueueUrl"].rpartition("/")[2]
        self.sent += [{"queue": queue, **{k: v for k, v in one.items() if k != "Id"}} for one in arguments["Entries"]]
        return self._client.send_message_batch(**arguments)

    def send_message(self, **arguments: Any) -> Any:
        queue = arguments.pop("QueueUrl")
        self.sent.append({"queue": queue.rpartition("/")[2], **arguments})
        return self._client.send_message(QueueUrl=queue, **arguments)


@contextmanager
def on_aws(url: str) -> Iterator[World]:
    """The aws engine on a substitute for AWS at this URL."""
    session = boto3.Session("test", "test", region_name="us-east-1")
    dynamodb = session.client("dynamodb", endpoint_url=url)
    sqs: Any = Tap(session.client("sqs", endpoint_url=url))
    with Database() as blobs, no_chance() as counter:
        clock = VirtualClock()
        dynamodb.create_table(**table_arguments(TABLE))
        keys = [queue_key(pool.name, priority) for pool in DEFAULT_POOLS for priority in schema.PRIORITIES]
        urls = {key: sqs.create_queue(QueueName=key)["QueueUrl"] for key in keys}
        ticks: Any = SqsTickQueue(sqs, sqs.create_queue(QueueName="tick")["QueueUrl"], clock)
        engine = aws_engine(
            dynamodb,
            sqs,
            TABLE,
            urls,
            clock=clock,
            deployment=DEPLOYMENT,
            blobs=SqliteBlobs(blobs),
        )

        def stored() -> dict[str, Any]:
            items = [
                item for page in dynamodb.get_paginator("scan").paginate(TableName=TABLE) for item in page["Items"]
            ]
            key_names = [key["AttributeName"] for key in table_arguments(TABLE)["KeySchema"]]
            found: dict[str, Any] = {" ".join(item[k]["S"] for k in key_names): item for item in items}
            found |= {f"message {number:03d}": message for number, message in enumerate(sqs.sent)}
            with blobs.transaction() as connection:
                rows = connection.execute("SELECT * FROM blobs").fetchall()
            return found | {f"object {row['key']}": row["content"].decode() for row in rows}

        positions = itertools.count(1)

        def count(run: Any) -> None:
            before = replace(run, status=type(run.status)("RUNNING"))
            change = RecordChange(str(next(positions)), before, run, clock.now())
            deadline = Deadline.after(clock.now(), 30_000)
            count_changes(StatisticsWriter(DynamoItems(dynamodb, TABLE, clock)), "shard", [change], clock, deadline)

        yield World(clock, engine, ProgressStore(DynamoItems(dynamodb, TABLE, clock)), ticks, counter, stored, count)

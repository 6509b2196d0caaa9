"""The deployed stack under test: its REST API, its AWS clients, and the jobs that take minutes."""

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3

from localstack.stack import LocalStack
from onthedot.access.ports import Principal
from onthedot.access.token_store import TokenStore
from onthedot.access.tokens import RESERVED_TENANT, create_token
from onthedot.core.clock import SystemClock
from onthedot.core.slots import BUCKET_MS, horizon
from onthedot.engines.aws.dynamodb.items import DynamoItems
from tests.e2e.control import Control, Function
from tests.e2e.homes import STACK, Api, Home
from tests.e2e.listener import Listener
from tests.e2e.poisoned import PoisonedStory

LOOKAHEAD = 3
POLL_SECONDS = 0.5
"""Each question starts functions, which take time from what is asked for."""


@dataclass
class Deployment(Home):
    """The deployed stack, with what only it has."""

    stack: LocalStack
    home: Path
    listener: Listener
    slow: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Jobs whose story takes minutes, begun as soon as the stack was up."""
    far_control: Control = field(init=False)
    """At the time of the far job."""
    poisoned: PoisonedStory = field(default_factory=lambda: PoisonedStory(0))
    restarting: Any = None
    """A pull worker that always comes back, for the job that always kills it."""
    killed_at_gates: Any = None
    """Workers that were killed while they had a place at a gate."""
    name: str = STACK
    pace: float = 1.0

    def __post_init__(self) -> None:
        self.controls = Function(self.client)
        self.control(0).late()  # later ones need not wait for the start of a function

    @property
    def api(self) -> Api:
        return Api(self.stack.api_url, self.stack.token, POLL_SECONDS)

    def api_of(self, tenant: str) -> Api:
        tokens = TokenStore(DynamoItems(self.client("dynamodb"), self.stack.table, SystemClock()), SystemClock())
        token, _ = create_token(tokens, SystemClock(), Principal(tenant, "admin", "e2e"))
        return Api(self.stack.api_url, token, POLL_SECONDS)

    def control(self, at: int) -> Control:
        return Control(self.listener, self.controls.begin, at)

    def client(self, service: Any) -> Any:
        return boto3.client(
            service,
            endpoint_url=self.stack.endpoint_url,
            region_name="us-east-1",
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )

    def scanned(self) -> list[dict[str, Any]]:
        """Every item of the table."""
        pages = self.client("dynamodb").get_paginator("scan").paginate(TableName=self.stack.table)
        return [item for page in pages for item in page["Items"]]

    def all_items(self) -> list[dict[str, Any]]:
        """Every item of the table but the dispatcher's progress and the canary's runs."""
        own = {"S": RESERVED_TENANT}
        others = (i for i in self.scanned() if not i["pk"]["S"].startswith("progress#") and i.get("tenant") != own)
        return sorted(others, key=lambda i: i["pk"]["S"])

    def begin_slow_jobs(self) -> None:
        self._begin_killed()
        self._begin_long()
        self._begin_purged()
        self._begin_far()

    def _begin_killed(self) -> None:
        """A worker that is killed in the middle of a job."""
        self.slow["killed"] = self.api.submit(callback_url=f"{self.listener.url}/killed?hang=20", delay=2)
        self.listener.wait_for("/killed", seconds=60)
        for pid in worker_processes(self.home):
            with suppress(ProcessLookupError):  # one that is not needed may have ended
                os.kill(pid, signal.SIGKILL)

    def _begin_long(self) -> None:
        """A job that outlasts its first lease, and the minute in which it is first looked after."""
        url = f"{self.listener.url}/long?hang=200"
        self.slow["long"] = self.api.submit(callback_url=url, delay=1, timeout_seconds=300, priority="HIGH")

    def _begin_purged(self) -> None:
        """A message that is gone from its queue before it could arrive."""
        self.slow["purged"] = self.api.submit(callback_url=f"{self.listener.url}/purged", delay=15, priority="LOW")
        self.client("sqs").purge_queue(QueueUrl=self.stack.queues["default-low"])

    def _begin_far(self) -> None:
        """A job two buckets behind the horizon: only the claim pass can fire it."""
        at = horizon(time.time_ns() // 1_000_000, LOOKAHEAD) + 2 * BUCKET_MS + 500
        self.far_control = self.control(at)
        self.slow["far"] = {"at": at, **self.api.submit(callback_url=f"{self.listener.url}/far", at=at / 1000)}


def worker_processes(home: Path) -> list[int]:
    """The processes of the worker function, found by the directory that MiniStack unpacked it to."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if str(home) in command and "-worker-" in command:
            found.append(int(process.name))
    return found

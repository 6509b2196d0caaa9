"""The two homes of the same scenarios: the deployed stack, and `onthedot serve` as one process.

A test that asks for `home`, `api` or `listener` runs on both, and one that asks for `deployment` runs on the stack
alone. Only the stack has API Gateway, IAM, Lambda, SQS, EventBridge and S3; workers with AWS credentials; records that
are written past the API; several shards; and ticks that another service starts.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote, urlencode

import urllib3

from tests.e2e.control import Control
from tests.e2e.listener import Listener

STACK, SERVE, EQUIPPED = "stack", "serve", "serve-with-app"
"""EQUIPPED is a server that runs programs and handlers itself, without a pull worker."""


def until(find: Callable[[], Any], seconds: float = 90, every: float = 0.2) -> Any:
    """Return what is found, once it counts as true."""
    deadline = time.monotonic() + seconds
    while not (found := find()):
        assert time.monotonic() < deadline, f"within {seconds} s there was only {found}"
        time.sleep(every)
    return found


@dataclass
class Api:
    """A REST client that shows what really came back."""

    url: str
    token: str | None
    poll_seconds: float = 0.2

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        authorization = {"Authorization": f"Bearer {self.token}"} if self.token is not None else {}
        reply = urllib3.request(
            method, self.url + path, body=content, headers={**authorization, **headers}, retries=False, timeout=60
        )
        return reply.status, json.loads(reply.data)

    def submit(self, **job: Any) -> dict[str, Any]:
        status, answer = self.call("POST", "/v1/jobs", job)
        assert status == 202, answer
        return dict(answer)

    def wait_for(self, job_id: str, status: str, seconds: float = 90) -> dict[str, Any]:
        """The job's status view, once it says so."""
        deadline = time.monotonic() + seconds
        while True:
            code, view = self.call("GET", f"/v1/jobs/{job_id}/status")
            assert code == 200, view
            if view["status"] == status:
                return dict(view)
            assert time.monotonic() < deadline, f"{job_id} is {view}, not {status}, after {seconds} s"
            time.sleep(self.poll_seconds)

    def execution(self, run_id: str) -> dict[str, Any]:
        status, view = self.call("GET", f"/v1/executions/{run_id}")
        assert status == 200, view
        return dict(view)

    def pages(self, path: str, name: str, /, **query: Any) -> list[dict[str, Any]]:
        """The entries of all pages of a list."""
        found: list[dict[str, Any]] = []
        while True:
            status, page = self.call("GET", f"{path}?{urlencode(query, quote_via=quote)}")
            assert status == 200, page
            found += page[name]
            if page["next_cursor"] is None:
                return found
            query["cursor"] = page["next_cursor"]


class Home(Protocol):
    """A running scheduler under test."""

    name: str
    home: Path
    """The folder with `local.json`."""
    listener: Listener
    pace: float
    """The factor for delays and durations of jobs. A server without AWS needs shorter ones."""

    @property
    def api(self) -> Api:
        """The API with an admin's token."""
        ...

    def api_of(self, tenant: str) -> Api:
        """The API with another tenant's token."""
        ...

    def control(self, at: int) -> Control:
        """A call of the listener at this time, in epoch milliseconds, that needs nothing of the product."""
        ...

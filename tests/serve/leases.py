"""Leases of pull workers on the engine of a server, each in a thread of its own."""

import json
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from onthedot.access.ports import Principal
from onthedot.api.http import Request, Response
from onthedot.api.router import handle
from onthedot.core.stopping import Stop
from onthedot.engine import Engine

ACME = Principal("acme", "admin", "a test")
SHELL = {"type": "shell", "argv": ["true"]}
SOON = 15.0
"""Far longer than anything here takes, and far shorter than a wait."""


def call(engine: Engine, path: str, gone: Stop | None = None, caller: Principal = ACME, **fields: Any) -> Any:
    response: Response = handle(
        engine, Request("POST", path, body=json.dumps(fields).encode(), principal=caller, gone=gone)
    )
    assert response.status < 300, response.body
    return response.body


def a_job(engine: Engine, **fields: Any) -> str:
    return str(call(engine, "/v1/jobs", **{"target": SHELL, **fields})["job_id"])


def a_worker(engine: Engine, worker_id: str = "patient", **fields: Any) -> str:
    offered = {"worker_id": worker_id, "capabilities": ["shell"], **fields}
    return str(call(engine, "/v1/workers/register", **offered)["worker_id"])


@dataclass
class Lease:
    """A lease that is under way."""

    engine: Engine
    worker_id: str
    fields: dict[str, Any] = field(default_factory=dict)
    gone: Stop = field(default_factory=Stop)
    answer: Any = None

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.began = time.monotonic()
        self._thread.start()

    def _run(self) -> None:
        path = f"/v1/workers/{self.worker_id}/lease"
        self.answer = call(self.engine, path, self.gone, **{"wait_seconds": 20, **self.fields})

    def runs(self) -> Sequence[str]:
        """The ids of the runs, once the lease has ended."""
        return [run["execution_id"] for run in self.views()]

    def views(self) -> Sequence[Any]:
        """The runs, once the lease has ended."""
        self._thread.join(SOON)
        assert not self._thread.is_alive(), "the lease still waits"
        return list(self.answer["runs"])

    def waits(self, seconds: float = 0.15) -> bool:
        """Whether it still waits a while after it has begun to."""
        deadline = time.monotonic() + SOON
        while self._thread.is_alive() and not self.gone._interrupts:
            assert time.monotonic() < deadline, "the lease has not begun to wait"
            time.sleep(0.005)
        self._thread.join(seconds)
        return self._thread.is_alive()

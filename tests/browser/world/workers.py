"""Pull workers of the past and of the present. They speak REST, as workers in any language do."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Protocol

from tests.browser.world.past import Past

BEAT_SECONDS: Final = 10
ENDLESS: Final = 86_400
FOREVER: Final = 2**62
SUCCEEDED: Final[Mapping[str, Any]] = {"status": "SUCCEEDED", "result": {"ok": True}}


class Calls(Protocol):
    """The API as one caller."""

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]: ...


@dataclass(frozen=True)
class Work:
    """How a handler works: for how long, and how it ends."""

    seconds: float = 2
    report: Mapping[str, Any] = field(default_factory=lambda: SUCCEEDED)


@dataclass
class RestWorker:
    """A worker of the pool `pull` that leases, keeps and completes runs, as its methods are called."""

    api: Calls
    worker_id: str
    works: Mapping[str, Work]
    """By the name of the handler. Runs of other handlers take two seconds and succeed."""
    capabilities: tuple[str, ...] = ("python",)
    concurrency: int = 4
    memory_mb: int = 4096
    host: str = ""
    leases: dict[str, dict[str, Any]] = field(default_factory=dict)

    def register(self) -> None:
        resources = {"concurrency": self.concurrency, "cpu": self.concurrency, "memory_mb": self.memory_mb}
        offer = {"worker_id": self.worker_id, "capabilities": [*self.capabilities], "resources": resources}
        self._did("POST", "/v1/workers/register", {**offer, "host": self.host or self.worker_id})

    def beat(self) -> None:
        """Say that the worker and its runs are alive."""
        number = len(self.leases)
        used = {"concurrency": number, "cpu": number, "memory_mb": 700 * number}
        body = {"running": [*self.leases], "used": used}
        self._did("POST", f"/v1/workers/{self.worker_id}/heartbeat", body)
        for lease in [*self.leases.values()]:
            kept = {"attempt": lease["attempt"], "worker_id": self.worker_id, "receipt": lease["receipt"]}
            status, _ = self.api.call("POST", f"/v1/executions/{lease['execution_id']}/heartbeat", kept)
            if status >= 400:
                self.leases.pop(lease["execution_id"])

    def lease(self) -> list[dict[str, Any]]:
        """Return new runs."""
        free = self.concurrency - len(self.leases)
        if free <= 0:
            return []
        body = {"max": min(free, 10), "idle": not self.leases}
        runs = self._did("POST", f"/v1/workers/{self.worker_id}/lease", body)["runs"]
        self.leases |= {run["execution_id"]: run for run in runs}
        return list(runs)

    def work_of(self, lease: dict[str, Any]) -> Work:
        return self.works.get(lease["target"].get("handler", ""), Work())

    def complete(self, lease: dict[str, Any]) -> None:
        """End a run as its work says. The API refuses a run that was taken from the worker meanwhile."""
        self.leases.pop(lease["execution_id"], None)
        about = {"attempt": lease["attempt"], "worker_id": self.worker_id, "receipt": lease["receipt"]}
        path = f"/v1/executions/{lease['execution_id']}/complete"
        self.api.call("POST", path, {**about, **self.work_of(lease).report})

    def _did(self, method: str, path: str, body: Any) -> Any:
        status, answer = self.api.call(method, path, body)
        assert status < 300, f"{path} answered {status}: {answer}"
        return answer


def employ(past: Past, worker: RestWorker, until: int = FOREVER) -> RestWorker:
    """Let a worker work in the past: it beats each ten seconds and leases each two, until it falls silent."""
    worker.register()

    def beat() -> None:
        worker.beat()
        again(past.now + BEAT_SECONDS * 1000, beat)

    def lease() -> None:
        for run in worker.lease():
            again(past.now + round(worker.work_of(run).seconds * 1000), partial(worker.complete, run))
        again(past.now + 2_000, lease)

    def again(at: int, act: Callable[[], None]) -> None:
        if at < until:
            past.plan(at, act)

    past.plan(past.now, beat)
    past.plan(past.now + 500, lease)
    return worker


class LiveWorker:
    """A thread that lets a worker work now, until it is stopped. A run of the past that it still has goes on."""

    def __init__(self, worker: RestWorker) -> None:
        self._worker = worker
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name=worker.worker_id, daemon=True)

    def start(self) -> None:
        self._worker.register()
        self._worker.beat()
        self._thread.start()

    def stop(self) -> None:
        """End within one turn. Nothing else may use the server's end."""
        self._stopping.set()
        self._thread.join(timeout=60)

    def _work(self) -> None:
        due: list[tuple[float, dict[str, Any]]] = []
        turn, beaten_at = 0, time.monotonic()
        while not self._stopping.wait(1):
            turn += 1
            if time.monotonic() - beaten_at >= BEAT_SECONDS:  # a turn may take long on a busy machine
                beaten_at = time.monotonic()
                self._worker.beat()
            due += [(turn + self._worker.work_of(run).seconds, run) for run in self._worker.lease()]
            for at, run in [*due]:
                if at <= turn:
                    self._worker.complete(run)
                    due.remove((at, run))

"""Pull workers as processes: the command that is also the image's."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.e2e.deployment import Deployment
from tests.e2e.homes import Home

ROOT = Path(__file__).parents[2]
APP = "tests.e2e.worker_app"
READY_SECONDS = 90


@dataclass
class WorkerProcess:
    process: "subprocess.Popen[bytes]"
    log: Path

    def kill(self) -> float:
        """As the kernel kills; when it happened."""
        self.process.kill()
        self.process.wait(timeout=60)
        return time.time()

    def stop(self, seconds: float = 90) -> int:
        """As an orchestrator stops; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=seconds)

    def is_alive(self) -> bool:
        return self.process.poll() is None

    def said(self) -> str:
        return self.log.read_text()


def start_worker(home: Home, *options: str, worker_id: str) -> WorkerProcess:
    """A worker that has only a URL and a token, or `--direct` access to the local AWS, once it is registered.

    Its id is one of its capabilities: see `only`.
    """
    logs = home.home / "workers"
    logs.mkdir(exist_ok=True)
    log = logs / f"{worker_id}-{time.time_ns()}.log"
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "ONTHEDOT_"))},
        **_way_in(home, direct="--direct" in options),
        "PYTHONPATH": str(ROOT),
    }
    command = [
        sys.executable,
        "-m",
        "onthedot.cli.main",
        "worker",
        "--worker-id",
        worker_id,
        "--capability",
        worker_id,
        "--allow-private",
        *options,
    ]
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT)
    worker = WorkerProcess(process, log)
    _wait_until_registered(home, worker, worker_id)
    return worker


def only(worker_id: str) -> dict[str, Any]:
    """The requirements of a job that this worker alone may do. Workers of other tests are in the same pool."""
    return {"requirements": {"capabilities": [worker_id]}}


def _way_in(home: Home, *, direct: bool) -> dict[str, str]:
    if direct:
        return {"ONTHEDOT_HOME": str(home.home)}
    return {"ONTHEDOT_URL": home.api.url, "ONTHEDOT_TOKEN": str(home.api.token)}


def _wait_until_registered(home: Home, worker: WorkerProcess, worker_id: str) -> None:
    began = time.time()
    while True:
        status, view = home.api.call("GET", f"/v1/workers/{worker_id}")
        if status == 200 and view["status"] == "ACTIVE" and _since(view["registered_at"]) >= began - 1:
            return
        assert worker.is_alive(), worker.said()
        assert time.time() - began < READY_SECONDS, worker.said()
        time.sleep(home.api.poll_seconds)


def _since(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


@contextmanager
def a_pull_worker(home: Home, *options: str, worker_id: str) -> Iterator[WorkerProcess]:
    worker = start_worker(home, *options, worker_id=worker_id)
    try:
        yield worker
    finally:
        if worker.is_alive():
            worker.stop()


class Restarting:
    """A worker that is started again whenever it dies, as an orchestrator does."""

    def __init__(self, deployment: Deployment, *options: str, worker_id: str) -> None:
        self._deployment, self._options, self._worker_id = deployment, options, worker_id
        self._ended = threading.Event()
        self._started = threading.Event()
        self.deaths = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.is_set():
            worker = start_worker(self._deployment, *self._options, worker_id=self._worker_id)
            self._started.set()
            while worker.is_alive() and not self._ended.wait(0.2):
                pass
            if worker.is_alive():
                worker.stop()
            else:
                self.deaths += 1

    def wait_until_started(self) -> None:
        assert self._started.wait(120)

    def stop(self) -> None:
        self._ended.set()
        self._thread.join(timeout=60)


def begin_murderer(deployment: Deployment) -> Restarting:
    """A job that kills its worker every time, and a worker that always comes back."""
    restarting = Restarting(deployment, "--app", APP, worker_id="phoenix")
    restarting.wait_until_started()
    target = {"type": "python", "handler": "kill-the-worker"}
    deployment.slow["murderer"] = deployment.api.submit(target=target, **only("phoenix"), timeout_seconds=50)
    return restarting


def end_of_murderer(deployment: Deployment) -> None:
    """Its fifth victim is lost, the worker that came back goes on with others, and leaves the pool to the tests."""
    if "survivor" in deployment.slow:
        return
    api = deployment.api
    api.wait_for(deployment.slow["murderer"]["job_id"], "FAILED", seconds=300)
    echo = {"type": "python", "handler": "echo"}
    deployment.slow["survivor"] = api.submit(target=echo, **only("phoenix"), payload="alive")
    api.wait_for(deployment.slow["survivor"]["job_id"], "SUCCEEDED", seconds=60)
    deployment.restarting.stop()

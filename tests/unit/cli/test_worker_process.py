"""`onthedot worker` as a process, as the container starts it, with the API over real HTTP."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import pytest

from onthedot.core.records import Record, Status
from onthedot.workers.records import WorkerStatus
from tests.builders import World
from tests.unit.api.kit import Api
from tests.unit.worker.world import TOKEN, ApiServer, a_passing_world, serving

SECONDS = 60
APP = """
import os
from onthedot import job

@job("greet")
def greet(payload):
    return f"hello {payload}"

@job("environment")
def environment(payload):
    return dict(os.environ)
"""


@dataclass
class Process:
    process: "subprocess.Popen[str]"
    lines: list[str] = field(default_factory=list)

    def listen(self, stream: IO[str]) -> None:
        self.lines.extend(iter(stream.readline, ""))

    @property
    def said(self) -> str:
        return "\n".join(self.lines)

    def wait_until(self, holds: Callable[[], Any]) -> None:
        deadline = time.monotonic() + SECONDS
        while not holds():
            assert self.process.poll() is None, self.said
            assert time.monotonic() < deadline, self.said
            time.sleep(0.02)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(SECONDS)


@pytest.fixture
def world() -> Iterator[World]:
    with a_passing_world() as world:
        yield world


@pytest.fixture
def server(world: World) -> Iterator[ApiServer]:
    with serving(world) as server:
        yield server


@contextmanager
def a_worker(server: ApiServer, directory: Path, *options: str) -> Iterator[Process]:
    """Start a worker whose app is in its current directory, and wait until it is ready."""
    (directory / "my_app.py").write_text(APP)
    around = {name: value for name, value in os.environ.items() if not name.startswith(("ONTHEDOT_", "AWS_"))}
    process = subprocess.Popen(
        [sys.executable, "-m", "onthedot.cli.main", "worker", *options],
        cwd=directory,
        env={**around, "ONTHEDOT_URL": server.url, "ONTHEDOT_TOKEN": TOKEN},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    worker = Process(process)
    assert process.stdout is not None
    listening = threading.Thread(target=worker.listen, args=(process.stdout,))
    listening.start()
    try:
        worker.wait_until(lambda: "ready" in worker.said)
        yield worker
    finally:
        process.kill()
        process.wait(SECONDS)
        listening.join(SECONDS)
        process.stdout.close()


def run_of(world: World, run_id: str) -> Record:
    run = world.store.get(run_id)
    assert run is not None
    return run


def has(world: World, run_id: str, status: Status) -> Callable[[], bool]:
    return lambda: run_of(world, run_id).status is status


def test_it_runs_programs_and_handlers_and_ends_with_zero_after_a_signal(
    world: World, server: ApiServer, tmp_path: Path
) -> None:
    api = Api(world)
    with a_worker(server, tmp_path, "--shell", "--app", "my_app", "--slots", "2", "--capability", "gpu") as worker:
        assert re.search(
            r"is ready: pool pull, concurrency 2, can gpu, grpc, http, python, python:environment, .*shell", worker.said
        )
        shell = api.job(target={"type": "shell", "argv": ["sh", "-c", "cat; env"]}, payload={"a": 1})
        python = api.job(target={"type": "python", "handler": "greet"}, payload="you")
        environment = api.job(target={"type": "python", "handler": "environment"})
        for job in (shell, python, environment):
            worker.wait_until(has(world, job, Status.SUCCEEDED))
        assert worker.stop() == 0
    assert run_of(world, python).result == '"hello you"'
    result = run_of(world, shell).result
    assert result is not None
    assert result.startswith('{"a":1}')
    assert f"run {python} attempt 1 succeeded" in worker.said
    [known] = world.registry.workers()
    assert known.status(world.clock.now()) is WorkerStatus.STOPPED
    outputs = [
        worker.said,
        result,
        str(run_of(world, environment).result),
        str(world.blobs.get(_ref(world, environment))),
    ]
    assert not any(TOKEN in text for text in outputs)


def _ref(world: World, run_id: str) -> str:
    return run_of(world, run_id).result_ref or "none"


def test_a_second_signal_ends_it_at_once(world: World, server: ApiServer, tmp_path: Path) -> None:
    with a_worker(server, tmp_path, "--shell", "--grace", "3600") as worker:
        job = Api(world).job(target={"type": "shell", "argv": ["sleep", "60"]})
        worker.wait_until(has(world, job, Status.RUNNING))
        worker.process.send_signal(signal.SIGINT)
        worker.wait_until(lambda: "taking no more runs" in worker.said)
        began = time.monotonic()
        worker.process.send_signal(signal.SIGTERM)
        worker.process.wait(SECONDS)
    assert time.monotonic() - began < 20

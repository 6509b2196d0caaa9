"""`onthedot serve` as a process of its own, as a user starts it."""

import json
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
ONTHEDOT = Path(sys.executable).with_name("onthedot")
READY_SECONDS = 90


def clean_environment(home: Path, **more: str) -> dict[str, str]:
    """The environment of a command that knows nothing but this home."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ONTHEDOT_", "AWS_"))}
    return {**kept, "ONTHEDOT_HOME": str(home), "PYTHONPATH": str(ROOT), **more}


def quiet_port() -> int:
    """A free port below the range from which the kernel gives ports, so that no other program gets it meanwhile."""
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = random.SystemRandom().randrange(first // 2, first)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def command(home: Path, *arguments: str, seconds: float = 120) -> "subprocess.CompletedProcess[str]":
    """Run `onthedot` beside a server of this home, and wait for its end."""
    return subprocess.run(
        [ONTHEDOT, *arguments],
        env=clean_environment(home),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )


@dataclass
class ServerProcess:
    """A server that has been started, and perhaps ended."""

    home: Path
    process: "subprocess.Popen[bytes]"
    log: Path
    seconds_to_start: float = 0.0
    place: Mapping[str, Any] = field(default_factory=dict)
    """The content of `local.json`."""

    @property
    def url(self) -> str:
        return str(self.place["api_url"])

    @property
    def token(self) -> str:
        return str(self.place["token"])

    @property
    def data(self) -> Path:
        return Path(self.place["data"])

    def said(self) -> str:
        return self.log.read_text()

    def ask_to_stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def stop(self, seconds: float = 60) -> int:
        """As an orchestrator stops; the exit code."""
        self.ask_to_stop()
        return self.process.wait(timeout=seconds)

    def kill(self) -> None:
        """As the kernel kills."""
        self.process.kill()
        self.process.wait(timeout=60)

    def run_ids(self) -> set[str]:
        """The ids of all jobs and runs in the file, read beside the server."""
        with closing(sqlite3.connect(f"file:{self.data}?mode=ro", uri=True)) as connection:
            return {str(row[0]) for row in connection.execute("SELECT run_id FROM runs")}


def start_server(
    home: Path, *options: str, program: Sequence[str] = (str(ONTHEDOT),), **environment: str
) -> ServerProcess:
    """Start a server, and return when it answers. `program` is another form of the command `onthedot`."""
    home.mkdir(parents=True, exist_ok=True)
    log = home / f"serve-{time.time_ns()}.log"
    arguments = [*program, "serve", "--port", "0", *options]
    began = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(
            arguments, env=clean_environment(home, **environment), cwd=ROOT, stdout=output, stderr=subprocess.STDOUT
        )
    server = ServerProcess(home, process, log)
    while (place := _place(home)).get("pid") != process.pid:
        assert process.poll() is None, server.said()
        assert time.monotonic() - began < READY_SECONDS, server.said()
        time.sleep(0.02)
    server.seconds_to_start = time.monotonic() - began
    server.place = place
    return server


def _place(home: Path) -> dict[str, Any]:
    try:
        return dict(json.loads((home / "local.json").read_text()))
    except FileNotFoundError:
        return {}


@contextmanager
def a_server(
    home: Path, *options: str, program: Sequence[str] = (str(ONTHEDOT),), **environment: str
) -> Iterator[ServerProcess]:
    """A server that is killed at the end, if it still runs: no test waits for its grace."""
    server = start_server(home, *options, program=program, **environment)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.kill()

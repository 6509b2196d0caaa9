"""The stores of the benchmark, on free ports of the loopback, with data folders of their own.

`onthedot serve` is its own store: one process with API, tick, workers and a SQLite file.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.common import ROOT
from benchmarks.peers.environments import find
from benchmarks.peers.programs.calls import NOTES
from benchmarks.peers.running import Program, program
from localstack.ministack_process import free_port

START_SECONDS: Final = 60
REDIS: Final = "Redis"
REDIS_SYNCED: Final = "Redis, synced"
POSTGRESQL: Final = "PostgreSQL"
_SYNCED: Final = ("--appendonly", "yes", "--appendfsync", "always")


@dataclass(frozen=True)
class Store:
    url: str
    program: Program


def await_port(running: Program, port: int) -> None:
    """Wait until the program accepts connections. Raise RuntimeError when it ends, or does not within a minute."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        running.check()
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"{running.log.stem} does not answer on port {port}: {running.tail()}")


@contextmanager
def redis(folder: Path, *, synced: bool, traced: bool = False) -> Iterator[Store]:
    """Run Redis with its defaults (snapshots only), or so that every write is on disk before its answer."""
    port = free_port()
    place = ("--bind", "127.0.0.1", "--port", str(port), "--dir", str(folder))
    command = [find("redis-server") or "redis-server", *place, *(_SYNCED if synced else ())]
    with program(command, folder / "redis.log", traced=traced) as running:
        await_port(running, port)
        yield Store(f"redis://127.0.0.1:{port}/0", running)


@contextmanager
def postgresql(folder: Path, *, traced: bool = False) -> Iterator[Store]:
    """Run PostgreSQL with its defaults: every commit is on disk before its answer."""
    port, owner = free_port(), _owner(folder)
    tools = Path(find("initdb") or "initdb").resolve().parent
    data = ("-D", str(folder / "data"))
    make = [str(tools / "initdb"), *data, "--auth=trust", "--username=peers", "--encoding=UTF8", "--no-sync"]
    subprocess.run(make, check=True, capture_output=True, timeout=START_SECONDS, cwd=folder, **owner)
    place = ("-p", str(port), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=")
    command = [str(tools / "postgres"), *data, *place]
    with program(command, folder / "postgresql.log", traced=traced, stop=signal.SIGINT, **owner) as running:
        await_port(running, port)
        yield Store(f"postgresql://peers@127.0.0.1:{port}/postgres", running)


def _owner(folder: Path) -> dict[str, Any]:
    """Return the user who runs PostgreSQL, which refuses root, and give the folder to that user."""
    if os.geteuid() != 0:
        return {}
    shutil.chown(folder, "postgres", "postgres")
    return {"user": "postgres", "group": "postgres", "extra_groups": []}


Open = Callable[..., Any]
"""Start a store in a folder."""
STORES: Final[dict[str, tuple[str, Open]]] = {
    REDIS: ("redis-server", lambda folder, traced: redis(folder, synced=False, traced=traced)),
    REDIS_SYNCED: ("redis-server", lambda folder, traced: redis(folder, synced=True, traced=traced)),
    POSTGRESQL: ("initdb", lambda folder, traced: postgresql(folder, traced=traced)),
}
"""The program that each store needs, and how it is started."""


SERVE: Final = "SQLite, synced"
APP: Final = "benchmarks.peers.noop_app"
TOKEN: Final = "peers-benchmark-token"  # noqa: S105 # of a server on loopback that lives for a minute


@contextmanager
def serve(folder: Path, *, traced: bool = False) -> Iterator[Store]:
    """Run `onthedot serve` with its data in the folder. Its URL has the token as password."""
    port = free_port()
    place = ("--data", str(folder / "data"), "--port", str(port))
    command = [sys.executable, "-m", "onthedot.cli.main", "serve", *place, "--app", APP, "--token", TOKEN]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    env = {NOTES: str(folder / "notes"), "PYTHONPATH": path, "ONTHEDOT_HOME": str(folder / "home")}
    with program(command, folder / "serve.log", env=env, traced=traced) as running:
        await_port(running, port)
        yield Store(f"http://:{TOKEN}@127.0.0.1:{port}", running)

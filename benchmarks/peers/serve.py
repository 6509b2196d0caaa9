"""onthedot's own server for the benchmark: one process with API, tick, workers and a SQLite file."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchmarks.common import ROOT
from benchmarks.peers.programs.calls import NOTES
from benchmarks.peers.running import program
from benchmarks.peers.stores import Store, await_port, free_port

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

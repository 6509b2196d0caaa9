"""`onthedot serve` as a process that is killed and started again on the same data."""

import http.client
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.e2e.homes import Api
from tests.served import quiet_port

ROOT: Final = Path(__file__).parents[3]
TOKEN: Final = "a-token-of-the-durability-tests"
READY_SECONDS: Final = 60.0


@dataclass
class Servers:
    """The servers on one folder of data, one after another."""

    folder: Path
    options: tuple[str, ...] = ()
    port: int = field(default_factory=quiet_port)
    """All of them have it, and no other program may get it between two of them."""
    pid: int | None = None
    started_at: float = 0.0
    _new: subprocess.Popen[bytes] | None = None
    """The present server, if it is a new process and not a fork."""

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        data = str(self.folder / "onthedot.db")
        self._arguments = ["--data", data, "--port", str(self.port), "--token", TOKEN, "--grace", "5", *self.options]
        self.log = self.folder / "server.log"
        # Bytecode halves the start of a process.
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        self._environment = {**kept, "ONTHEDOT_HOME": str(self.folder), "KILLS_LOG": str(self.log)}
        self._environment["PYTHONPATH"] = f"{ROOT / 'layers/core/python'}:{ROOT}"
        self._forker: subprocess.Popen[str] | None = None

    @property
    def api(self) -> Api:
        return Api(f"http://127.0.0.1:{self.port}", TOKEN)

    @property
    def data(self) -> Path:
        return self.folder / "onthedot.db"

    def start(self) -> None:
        """Start a server by the command, as a user does."""
        command = [sys.executable, "-m", "onthedot.cli.main", "serve", *self._arguments]
        self.started_at = time.monotonic()
        with self.log.open("ab") as log:
            self._new = subprocess.Popen(
                command, env=self._environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder
            )
        self.pid = self._new.pid

    def fork(self) -> None:
        """Start a server that has done its imports already."""
        if self._forker is None:
            command = [sys.executable, "-m", "tests.durability.kills.fork_server", *self._arguments]
            self._forker = subprocess.Popen(
                command, env=self._environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
            )
        self.started_at = time.monotonic()
        self.pid = int(self._ask("start"))

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        """Send the signal, and wait for the end."""
        assert self.pid is not None
        os.kill(self.pid, how)
        if self._new is not None:
            self._new.wait()
            self._new = None
        else:
            self._ask(str(self.pid))
        self.pid = None

    def wait_until_ready(self) -> float:
        """Wait until health answers. Return the seconds since the start."""
        while not self.is_healthy():
            assert time.monotonic() - self.started_at < READY_SECONDS, self.log.read_text()[-3000:]
            time.sleep(0.005)
        return time.monotonic() - self.started_at

    def cpu_seconds(self) -> float:
        """Return the CPU time of the present server, which a busy machine does not change much."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def is_healthy(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", "/v1/health")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def close(self) -> None:
        if self.pid is not None:
            with suppress(ProcessLookupError):
                self.kill()
        if self._forker is not None:
            self._forker.communicate()

    def _ask(self, line: str) -> str:
        assert self._forker is not None
        assert self._forker.stdin is not None
        assert self._forker.stdout is not None
        self._forker.stdin.write(f"{line}\n")
        self._forker.stdin.flush()
        return self._forker.stdout.readline().strip()


@contextmanager
def servers(folder: Path, *options: str) -> Iterator[Servers]:
    """Give servers on this folder, and end the last one."""
    made = Servers(folder, options)
    try:
        yield made
    finally:
        made.close()

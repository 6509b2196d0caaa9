"""The process of MiniStack: start it, find it again, and end it for certain.

`make up`, the contract tests and the benchmarks all start MiniStack here.
"""

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import urllib3

from localstack.home import ROOT, Home, LocalStackError, clean_environment

FUNCTION_PYTHON = ROOT / "build" / "function-env" / "bin" / "python"

# A process may outlive the one that started it. Python warns when a handle is collected while its process runs.
_started: list[subprocess.Popen[bytes]] = []

START_SECONDS = 60.0
STOP_SECONDS = 30.0
DIE_SECONDS = 0.5
"""The time after which a killed process is no longer in the process table."""
KEEP_WARM_SECONDS = 3600
"""The time for which unused processes of a function stay, so that a job after a quiet hour pays no cold start."""


@dataclass(frozen=True, slots=True)
class Running:
    """A local AWS that is alive. It leads a process group, which includes the processes of functions."""

    pid: int
    port: int


def find(home: Home) -> Running | None:
    """Return the local AWS of this home, or None. It holds the lock while it is alive."""
    try:
        with home.lock.open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return None
    except BlockingIOError:
        return _lock_owner(home.lock)
    return None


def _lock_owner(lock: Path) -> Running:
    # The process writes its pid right after it takes the lock.
    for _ in range(50):
        with suppress(ValueError):
            written = json.loads(lock.read_text())
            return Running(pid=int(written["pid"]), port=int(written["port"]))
        time.sleep(0.02)
    raise LocalStackError(f"{lock} is locked by a process that did not write its pid into it")


def start(home: Home) -> Running:
    """Start the local AWS of this home, with our adjustments, and return when it answers.

    Raise LocalStackError when the port is in use, or when it ends or does not answer. Then no process is left.
    """
    _require_free_port(home.port)
    # The functions' processes unpack their layers there, and killed processes leave the files behind.
    shutil.rmtree(home.data / "tmp", ignore_errors=True)
    adjusted = ["localstack.launcher", "--lock", str(home.lock), "--function-python", str(FUNCTION_PYTHON)]
    return Running(_spawn(home, adjusted, ROOT, ministack_environment(home)), home.port)


@contextmanager
def running_ministack(path: Path) -> Iterator[str]:
    """Run MiniStack on a free port while the block lasts, and yield the URL of its endpoint.

    It has none of our adjustments and keeps no data, for the contract tests and the benchmarks.
    """
    home = Home(path, free_port())
    no_data = {"PERSIST_STATE": "0", "S3_PERSIST": "0"}
    leader = _spawn(home, ["ministack"], home.path, ministack_environment(home) | no_data)
    try:
        yield home.endpoint_url
    finally:
        end_group(leader)


def _spawn(home: Home, module: list[str], directory: Path, environment: Mapping[str, str]) -> int:
    """Start a module as the leader of a process group, and return its pid when it answers."""
    for name in ("state", "s3", "tmp"):
        (home.data / name).mkdir(parents=True, exist_ok=True)
    with home.log.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", *module],
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    _started.append(process)
    try:
        _wait_until_healthy(home, process)
    except BaseException:
        end_group(process.pid)
        raise
    return process.pid


def ministack_environment(home: Home) -> dict[str, str]:
    """Return an environment for loopback only, without unused listeners, with every file under the home."""
    return clean_environment(
        home,
        BIND_HOST="127.0.0.1",
        GATEWAY_PORT=str(home.port),
        IOT_MTLS_ENABLED="0",
        SFTP_ENABLED="0",
        LOG_LEVEL="WARNING",
        AUTH="true" if home.enforce_iam else "false",
        PERSIST_STATE="1",
        S3_PERSIST="1",
        STATE_DIR=str(home.data / "state"),
        S3_DATA_DIR=str(home.data / "s3"),
        LAMBDA_WARM_TTL_SECONDS=str(KEEP_WARM_SECONDS),
    )


def stop(home: Home, grace_seconds: float = STOP_SECONDS) -> bool:
    """End the local AWS of this home with its functions, and return whether it was running.

    It gets SIGTERM first, so that it saves its data, and SIGKILL after the grace period.
    """
    running = find(home)
    if running is None:
        return False
    try:
        with suppress(ProcessLookupError):
            os.kill(running.pid, signal.SIGTERM)
        deadline = time.monotonic() + grace_seconds
        while find(home) is not None and time.monotonic() < deadline:
            time.sleep(0.02)
    finally:
        end_group(running.pid)
    return True


def _reap(pid: int) -> None:
    """Wait for the process if it is a child of this one, so that no zombie is left."""
    for process in [process for process in _started if process.pid == pid]:
        process.wait()
        _started.remove(process)


def end_group(leader: int) -> None:
    """Kill a process group that we started, and return when all of it is gone."""
    deadline = time.monotonic() + DIE_SECONDS
    with suppress(ProcessLookupError, PermissionError):
        while time.monotonic() < deadline:
            os.killpg(leader, signal.SIGKILL)
            _reap(leader)
            time.sleep(0.01)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _require_free_port(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise LocalStackError(
                f"port {port} is in use by another process ({error.strerror}); "
                f"choose another one: ONTHEDOT_PORT={port + 1} make up"
            ) from error


def _wait_until_healthy(home: Home, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise LocalStackError(f"the local AWS exited during startup:\n{tail(home.log)}")
        if _answers(f"{home.endpoint_url}/_ministack/health"):
            return
        time.sleep(0.05)
    raise LocalStackError(f"the local AWS did not answer within {START_SECONDS:.0f} s; see {home.log}")


def _answers(url: str) -> bool:
    try:
        return urllib3.request("GET", url, retries=False, timeout=2).status == 200
    except urllib3.exceptions.HTTPError:
        return False


def tail(log: Path, lines: int = 15) -> str:
    """Return the last lines of a log, for an error message."""
    try:
        return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
    except FileNotFoundError:
        return "(no log)"

"""The process of the local AWS: starting it apart from ours, finding it again, and ending it for certain."""

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import urllib3

from localstack.home import ROOT, Home, LocalStackError, clean_environment

FUNCTION_PYTHON = ROOT / "build" / "function-env" / "bin" / "python"

# It is meant to outlive us; a handle that is collected while its process runs would complain about that.
_started: list[subprocess.Popen[bytes]] = []

START_SECONDS = 60.0
STOP_SECONDS = 30.0
DIE_SECONDS = 0.5
"""The killed are dead well within this; some machines only take longer to strike them off the list."""
KEEP_WARM_SECONDS = 3600
"""How long a function's surplus processes stay: a job should not pay a cold start after a quiet hour."""


@dataclass(frozen=True, slots=True)
class Running:
    """A local AWS that is alive; it leads a process group of its own, the functions' processes included."""

    pid: int
    port: int


def find(home: Home) -> Running | None:
    """The local AWS of this home, if it is alive: it holds the lock as long as it is."""
    try:
        with home.lock.open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return None
    except BlockingIOError:
        return _holder(home.lock)
    return None


def _holder(lock: Path) -> Running:
    # The holder writes its name right after it took the lock.
    for _ in range(50):
        with suppress(ValueError):
            held = json.loads(lock.read_text())
            return Running(pid=int(held["pid"]), port=int(held["port"]))
        time.sleep(0.02)
    raise LocalStackError(f"{lock} is held by a process that did not sign it")


def start(home: Home) -> Running:
    """Start the local AWS of this home and return when it answers.

    :raises LocalStackError: the port is taken, or it ended or kept silent; then nothing is left running.
    """
    _require_free_port(home.port)
    # The functions' processes unpack their layers there, and nobody clears up after those that were killed.
    shutil.rmtree(home.data / "tmp", ignore_errors=True)
    for name in ("state", "s3", "tmp"):
        (home.data / name).mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "localstack.launcher", "--lock", str(home.lock)]
    command += ["--function-python", str(FUNCTION_PYTHON)]
    with home.log.open("ab") as log:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=ministack_environment(home),
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
    return Running(pid=process.pid, port=home.port)


def ministack_environment(home: Home) -> dict[str, str]:
    """Loopback only, no listener that we do not use, and every file under the home."""
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
    """End the local AWS of this home, its functions included, and say whether there was one.

    It is asked first, so that it keeps its data; after the grace it is killed.
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
    """Collect what is left of the process, where it was our own child."""
    for process in [process for process in _started if process.pid == pid]:
        process.wait()
        _started.remove(process)


def end_group(leader: int) -> None:
    """Kill a process group of ours, whatever of it is left, and return when it is gone."""
    deadline = time.monotonic() + DIE_SECONDS
    with suppress(ProcessLookupError, PermissionError):
        while time.monotonic() < deadline:
            os.killpg(leader, signal.SIGKILL)
            _reap(leader)
            time.sleep(0.01)


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
            raise LocalStackError(f"the local AWS ended as it started:\n{tail(home.log)}")
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
    """The last lines of a log, for a message to a person."""
    try:
        return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
    except FileNotFoundError:
        return "(no log)"

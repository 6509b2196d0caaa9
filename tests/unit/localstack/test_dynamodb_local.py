"""DynamoDB Local starts from the project's own packages, and ends with the tests, however they end."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import urllib3

from localstack import dynamodb_local
from localstack.dynamodb_local import running_dynamodb
from localstack.home import ROOT, LocalStackError

pytestmark = pytest.mark.slow

OWNER = """
import pathlib, sys, time
from localstack.dynamodb_local import running_dynamodb
with running_dynamodb(pathlib.Path(sys.argv[1])) as url:
    print(url, flush=True)
    time.sleep(60)
"""


def answers(url: str) -> bool:
    try:
        urllib3.request("GET", url, retries=False, timeout=2)
    except urllib3.exceptions.HTTPError:
        return False
    return True


def is_gone(url: str) -> bool:
    until = time.monotonic() + 20
    while answers(url) and time.monotonic() < until:
        time.sleep(0.05)
    return not answers(url)


def test_it_ends_when_its_owner_is_killed(tmp_path: Path) -> None:
    path = os.pathsep.join([str(ROOT), str(ROOT / "layers" / "core" / "python")])
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
        text=True,
    ) as owner:
        assert owner.stdout is not None
        url = owner.stdout.readline().strip()
        assert answers(url)
        owner.send_signal(signal.SIGKILL)
    assert is_gone(url)


def test_a_clone_without_its_packages_says_how_to_get_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dynamodb_local, "PROGRAMS", tmp_path)
    with pytest.raises(LocalStackError, match="make install"), running_dynamodb(tmp_path):
        pass

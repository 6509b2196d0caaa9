"""Commands whose output has no place to go, as processes with redirections."""

import subprocess
import sys
from pathlib import Path

import pytest

PATIENCE = 20.0


def shell(line: str) -> subprocess.CompletedProcess[str]:
    command = f"exec {sys.executable} -m onthedot.cli.main {line}"
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=PATIENCE, check=False)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", ["preview '0 9 * * *'", "preview '0 9 * * *' --json", "completion bash"])
def test_a_full_disk_is_one_line(arguments: str) -> None:
    done = shell(f"{arguments} > /dev/full")
    assert done.returncode == 1
    assert done.stderr == "Error: the output cannot be written: No space left on device\n"


@pytest.mark.parametrize("arguments", ["list --json", "cancel later"])
def test_a_closed_stdout_is_refused_before_anything_is_done(arguments: str) -> None:
    done = shell(f"{arguments} >&-")
    assert done.returncode == 1
    assert done.stderr.startswith("Error: stdout is closed")


def test_a_server_needs_no_stdout() -> None:
    assert "--token needs at least 16 characters" in shell("serve --token short >&-").stderr

"""The right of one process to serve a file."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from onthedot.engines.sqlite.file_lock import AlreadyServed, FileLock
from onthedot.wiring.embedded import BadFile, owned_database

HOLD = """
import sys, time
from pathlib import Path
from onthedot.engines.sqlite.file_lock import FileLock
lock = FileLock(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


def test_a_second_owner_is_told_which_process_is_the_first(tmp_path: Path) -> None:
    path = tmp_path / "jobs.db"
    with FileLock(path), pytest.raises(AlreadyServed, match=f"process {os.getpid()} serves {path}"):
        FileLock(path)
    with FileLock(path):
        pass


def test_the_error_reaches_the_one_who_opens_the_file(tmp_path: Path) -> None:
    path = tmp_path / "jobs.db"
    with owned_database(path), pytest.raises(BadFile, match="stop it first, or use other data"), owned_database(path):
        pass


def test_a_file_that_cannot_be_opened_frees_its_lock(tmp_path: Path) -> None:
    path = tmp_path / "jobs.db"
    path.write_bytes(b"no database" * 1000)
    with pytest.raises(BadFile, match="not a database"), owned_database(path):
        pass
    path.unlink()
    with owned_database(path):
        pass


def test_kill_9_frees_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "jobs.db"
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(AlreadyServed, match=f"process {holder.pid} serves"):
            FileLock(path)
        holder.send_signal(signal.SIGKILL)
    with FileLock(path):
        pass


def test_the_lock_is_the_owners_alone(tmp_path: Path) -> None:
    with FileLock(tmp_path / "jobs.db"):
        assert (tmp_path / "jobs.db.lock").stat().st_mode & 0o777 == 0o600

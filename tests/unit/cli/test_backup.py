"""`onthedot backup`: a whole copy of a data file while it is written, and a server that goes on with it."""

import json
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from onthedot.cli.main import main
from onthedot.core.records import Record
from onthedot.engines.sqlite.database import Database
from tests.builders import DEPLOYMENT, VirtualClock, World, a_run
from tests.scenarios.kits.simulation import Simulation


def backup(*arguments: str) -> Result:
    result = CliRunner().invoke(main, ["backup", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with Database(tmp_path / "onthedot.db") as database:
        yield World.on(database, VirtualClock(), DEPLOYMENT)


@pytest.fixture
def data(tmp_path: Path) -> str:
    return str(tmp_path / "onthedot.db")


def restored(path: Path, clock: VirtualClock) -> Iterator[Simulation]:
    with Database(path) as database:
        yield Simulation(World.on(database, clock, DEPLOYMENT))


class Writer(threading.Thread):
    """Stores runs until it is told to stop, and remembers all acknowledged ones."""

    def __init__(self, world: World) -> None:
        super().__init__(daemon=True)
        self._world = world
        self.stop = threading.Event()
        self.some = threading.Event()
        self.acknowledged: list[Record] = []

    def run(self) -> None:
        while not self.stop.is_set():
            self.acknowledged.append(a_run(self._world.clock).due_in(600).pending().stored_in(self._world.store))
            if len(self.acknowledged) >= 20:
                self.some.set()


def test_a_copy_of_a_file_that_is_written_has_all_that_was_acknowledged_and_runs(
    world: World, data: str, tmp_path: Path
) -> None:
    writer = Writer(world)
    writer.start()
    assert writer.some.wait(30)
    before = list(writer.acknowledged)
    # In a process of its own, as an operator does it beside a server.
    command = [sys.executable, "-m", "onthedot.cli.main", "backup", str(tmp_path / "copy.db"), "--data", data, "--json"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    after = len(writer.acknowledged)
    writer.stop.set()
    writer.join(30)
    assert result.returncode == 0, result.stderr
    records = json.loads(result.stdout)["records"]
    assert len(before) <= records <= after + 1
    clock = VirtualClock()
    for simulation in restored(tmp_path / "copy.db", clock):
        assert all(simulation.world.store.get(run.run_id) is not None for run in before)
        simulation.let_pass(700)
        assert len(simulation.target.calls) == records


def test_a_copy_is_one_file_for_its_owner_only(world: World, data: str, tmp_path: Path) -> None:
    a_run(world.clock).stored_in(world.store)
    result = backup(str(tmp_path / "copies" / "a.db"), "--data", data)
    assert result.exit_code == 1, "there is no such folder"
    assert "cannot be written: No such file or directory" in result.stderr
    (tmp_path / "copies").mkdir()
    result = backup(str(tmp_path / "copies" / "a.db"), "--data", data)
    assert result.exit_code == 0, result.output
    assert "a.db: 1 jobs and runs, " in result.stdout
    [copy] = (tmp_path / "copies").iterdir()
    assert copy.stat().st_mode & 0o777 == 0o600


def test_the_file_of_a_server_that_has_stopped_is_copied(tmp_path: Path, data: str) -> None:
    with Database(data) as database:
        world = World.on(database, VirtualClock(), DEPLOYMENT)
        a_run(world.clock).stored_in(world.store)
    assert backup(str(tmp_path / "copy.db"), "--data", data).exit_code == 0


def test_no_file_is_replaced_without_force(world: World, data: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    copy.write_text("mine")
    result = backup(str(copy), "--data", data)
    assert result.exit_code == 1
    assert "exists; give another name, or --force to replace it" in result.stderr
    assert copy.read_text() == "mine"
    assert backup(str(copy), "--data", data, "--force").exit_code == 0
    assert backup(data, "--data", data, "--force").exit_code == 1, "the data file itself"
    assert world.store.get("job_x") is None


@pytest.mark.parametrize("content", [b"", b"no database" * 1_000])
def test_another_file_is_not_copied(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "other").write_bytes(content)
    result = backup(str(tmp_path / "copy.db"), "--data", str(tmp_path / "other"))
    assert result.exit_code == 1
    assert "other" in result.stderr
    assert not (tmp_path / "copy.db").exists()


def test_a_missing_file_and_a_file_of_a_newer_version_are_named(world: World, data: str, tmp_path: Path) -> None:
    assert "there is no data file" in backup(str(tmp_path / "c"), "--data", str(tmp_path / "none")).stderr
    with sqlite3.connect(data) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    assert "has format 99, and this version of onthedot knows" in backup(str(tmp_path / "c"), "--data", data).stderr
    assert not (tmp_path / "c").exists()


def test_a_damaged_file_gives_no_copy(tmp_path: Path, data: str) -> None:
    with Database(data) as database:
        world = World.on(database, VirtualClock(), DEPLOYMENT)
        for _ in range(200):
            a_run(world.clock).stored_in(world.store)
    content = bytearray(Path(data).read_bytes())
    middle = len(content) // 2 // 4096 * 4096
    content[middle : middle + 4096] = b"\xff" * 4096
    Path(data).write_bytes(content)
    result = backup(str(tmp_path / "copy.db"), "--data", data)
    assert result.exit_code == 1
    assert not (tmp_path / "copy.db").exists()


def test_the_data_of_the_server_of_this_folder_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".onthedot" / "serve").mkdir(parents=True)
    (tmp_path / "below").mkdir()
    monkeypatch.delenv("ONTHEDOT_HOME", raising=False)
    monkeypatch.chdir(tmp_path / "below")
    with Database(tmp_path / ".onthedot" / "serve" / "onthedot.db"):
        assert backup("copy.db").exit_code == 0
    monkeypatch.setenv("ONTHEDOT_HOME", str(tmp_path / "elsewhere"))
    assert str(tmp_path / "elsewhere" / "serve" / "onthedot.db") in backup("other.db").stderr

"""Files of earlier versions: each step forward keeps all rows, and a step that fails changes nothing."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from onthedot.access.tokens import authenticate
from onthedot.core.clock import VirtualClock
from onthedot.core.gate_names import GateId
from onthedot.engines.sqlite import older_files, tables
from onthedot.engines.sqlite.database import Database
from onthedot.engines.sqlite.older_files import STEPS
from onthedot.engines.sqlite.tables import FORMAT
from onthedot.gates.limits import GateLimits, TenantLimits
from onthedot.serve.recovery import recover
from onthedot.targets.rules import AllowList
from onthedot.wiring.embedded import embedded, owned_database, server_deployment
from tests.builders import World
from tests.recorded.record import DEPLOYMENT, HERE

RECORDED = HERE / "format-1.sqlite.json"
"""Rows of each kind, written by the version before files had a format."""
TABLES = HERE / "registries-2.sqlite.json"
"""A file of format 2, with a table for each kind of item."""
KEPT = ("runs", "blobs", "messages")


def recording(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


@pytest.fixture
def recorded() -> dict[str, Any]:
    return recording(RECORDED)


@pytest.fixture
def format_2(tmp_path: Path) -> Path:
    path = tmp_path / "format-2.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("\n".join(recording(TABLES)["sql"]))
    return path


def content_of(path: Path) -> dict[str, list[dict[str, Any]]]:
    return {table: rows(path, table) for table in table_names(path)}


@pytest.fixture
def old(tmp_path: Path, recorded: dict[str, Any]) -> Path:
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("\n".join(recorded["sql"]))
    return path


def rows(path: Path, table: str) -> list[dict[str, Any]]:
    """Return the rows, without empty columns: a new column is empty. Lists may show a job in another place."""
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        found = connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall()
    columns = [name for name in (found[0].keys() if found else ()) if name != "listed_under"]
    return [{name: row[name] for name in columns if row[name] is not None} for row in found]


def table_names(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        return [row[0] for row in connection.execute(query)]


def format_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def test_each_format_has_the_step_to_the_next_one() -> None:
    assert len(STEPS) == FORMAT


def test_a_file_of_the_version_before_keeps_all_rows(old: Path) -> None:
    before = {table: rows(old, table) for table in KEPT}
    assert len(before["runs"]) > 20
    assert format_of(old) == 0

    with owned_database(old):
        pass

    assert {table: rows(old, table) for table in KEPT} == before
    assert set(table_names(old)) == {*KEPT, "items"}
    assert format_of(old) == FORMAT


def test_old_tokens_get_ids_and_stay_valid(old: Path, recorded: dict[str, Any]) -> None:
    clock = VirtualClock(recorded["at"])
    assert "tokens" in table_names(old)
    with owned_database(old) as database:
        parts = embedded(database, clock, server_deployment(["http"], AllowList(), cpus=1.0, memory_mb=1024))
        assert authenticate(parts.engine.tokens, f"Bearer {recorded['token']}") is not None
        tokens = parts.engine.tokens.page(100).items
        assert tokens
        assert all(token.id.startswith("tok_") for token in tokens)
        parts.writer.close()
    assert "tokens" not in table_names(old)


def test_a_server_takes_up_the_runs_of_the_version_before(old: Path, recorded: dict[str, Any]) -> None:
    clock = VirtualClock(recorded["at"])
    with owned_database(old) as database:
        parts = embedded(database, clock, server_deployment(["http"], AllowList(), cpus=1.0, memory_mb=1024))
        counts = recover(parts, "serve-1")
        parts.writer.close()

    assert counts["sent"] > 3
    assert counts["left"] == 0


def test_a_second_opening_changes_nothing(old: Path) -> None:
    with owned_database(old):
        pass
    before = old.read_bytes()
    with owned_database(old):
        pass
    # SQLite counts its changes in the first page.
    assert old.read_bytes()[4096:] == before[4096:]


def test_a_step_that_fails_leaves_the_file_as_it_was(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM runs")
        raise KeyboardInterrupt

    before = content_of(old)
    monkeypatch.setattr(tables, "STEPS", (fail,))
    with pytest.raises(KeyboardInterrupt):
        Database(old)

    assert content_of(old) == before
    assert format_of(old) == 0


DIES = """
import os, sys
from onthedot.engines.sqlite import older_files
from onthedot.engines.sqlite.database import Database
older_files._minutes = lambda rows: os._exit(9)
Database(sys.argv[1])
"""


def test_a_process_that_dies_while_it_moves_items_leaves_the_file_as_it_was(format_2: Path) -> None:
    before = content_of(format_2)
    assert len(before) > 10
    for _ in range(2):
        assert subprocess.run([sys.executable, "-c", DIES, format_2], check=False).returncode == 9
        assert content_of(format_2) == before
        assert format_of(format_2) == 2


def test_an_error_while_items_are_moved_leaves_the_file_as_it_was_and_the_next_try_moves_them(
    format_2: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = content_of(format_2)
    with monkeypatch.context() as failing:
        failing.setattr(older_files, "_minutes", lambda _: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            Database(format_2)
    assert (content_of(format_2), format_of(format_2)) == (before, 2)
    with Database(format_2):
        pass
    assert format_of(format_2) == FORMAT
    assert set(table_names(format_2)) == {*KEPT, "items"}
    assert {table: rows(format_2, table) for table in KEPT} == {table: before[table] for table in KEPT}


def test_damaged_rows_of_an_earlier_version_stop_no_start(format_2: Path) -> None:
    recorded_at = recording(TABLES)["at"]
    with closing(sqlite3.connect(format_2)) as connection:
        connection.executescript(
            """
            UPDATE gate_states SET holders = '[', priorities = '{' WHERE gate LIKE '%stripe' AND page = 1;
            UPDATE limits SET content = '{' WHERE name = 'acme';
            UPDATE gates SET limits = '' WHERE name = 'rate';
            UPDATE workers SET about = '{', load = '[' WHERE worker_id = 'w1';
            UPDATE signing SET keys = '{';
            UPDATE shard_progress SET done = '[' WHERE shard = 1;
            INSERT INTO assigned VALUES ('nobody', 'job_x');
            INSERT INTO events SELECT tenant, 'sha256:1488de1e', time, expires_at FROM events LIMIT 1;
            """
        )
        connection.commit()
    with Database(format_2) as database:
        world = World.on(database, VirtualClock(recorded_at), DEPLOYMENT)
        assert world.limits.find("acme") == TenantLimits(paused=True)
        assert [name for name, _ in world.gates.names("acme", 9).items] == ["rate", "stripe"]
        assert world.gates.find("acme", "rate") == GateLimits(paused=True)
        stripe = GateId("acme", "stripe")
        assert [len(page) for page in world.gates.pages(stripe)] == [2, 0]
        assert [worker.worker_id for worker in world.registry.workers()] == ["w ü"]
        assert list(world.progress.last_ticks([0, 1])) == [0]
        assert world.tokens.find("hash-1") is not None

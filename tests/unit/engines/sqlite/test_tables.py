"""Files of earlier versions: each step forward keeps all rows, and a step that fails changes nothing."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from onthedot.clock import VirtualClock
from onthedot.domain.targets.allow_list import AllowList
from onthedot.engines.sqlite import tables
from onthedot.engines.sqlite.database import Database
from onthedot.engines.sqlite.tables import FORMAT, STEPS
from onthedot.serve.recovery import recover
from onthedot.use_cases.access.tokens import authenticate
from onthedot.wiring.embedded import embedded, owned_database, server_deployment
from tests.recorded.record import HERE

RECORDED = HERE / "format-1.sqlite.json"
"""Rows of each kind, written by the version before files had a format."""


@pytest.fixture
def recorded() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RECORDED.read_text())
    return found


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
    kept = [table for table in table_names(old) if table not in ("tokens", "api_tokens")]
    before = {table: rows(old, table) for table in kept}
    assert len(before["runs"]) > 20
    assert format_of(old) == 0

    with owned_database(old):
        pass

    assert {table: rows(old, table) for table in kept} == before
    assert format_of(old) == FORMAT


def test_old_tokens_get_ids_and_stay_valid(old: Path, recorded: dict[str, Any]) -> None:
    clock = VirtualClock(recorded["at"])
    assert "tokens" in table_names(old)
    with owned_database(old) as database:
        parts = embedded(database, clock, server_deployment(["http"], AllowList(), cpus=1.0, memory_mb=1024))
        assert authenticate(parts.engine.tokens, f"Bearer {recorded['token']}") is not None
        assert all(row["id"].startswith("tok_") for row in rows(old, "api_tokens"))
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

    before = {table: rows(old, table) for table in table_names(old)}
    monkeypatch.setattr(tables, "STEPS", (fail,))
    with pytest.raises(KeyboardInterrupt):
        Database(old)

    assert {table: rows(old, table) for table in table_names(old)} == before
    assert format_of(old) == 0

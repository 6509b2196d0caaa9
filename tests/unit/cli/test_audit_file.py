"""`onthedot audit` on the file of `onthedot serve`."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from onthedot.cli.main import main
from onthedot.core.clock import SystemClock
from onthedot.core.shards import ShardStore
from onthedot.engines.sqlite.database import Database
from onthedot.engines.sqlite.items import SqliteItems
from onthedot.engines.sqlite.store import SqliteRunStore
from onthedot.engines.store_around import announce
from tests.handlers.audited import AUDITED, a_job_with_history_in


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "onthedot.db"


def audit(*arguments: str) -> Result:
    result = CliRunner().invoke(main, ["audit", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.mark.parametrize(("without", "code", "holes"), [(None, 0, 0), (2, 1, 1)])
def test_holes_are_found_while_the_file_is_in_use(without: int | None, code: int, holes: int, data: Path) -> None:
    with Database(data) as database:
        announce(ShardStore(SqliteItems(database, SystemClock())), 1, SystemClock().now())
        job = a_job_with_history_in(SqliteRunStore(database, SystemClock()), shards=1, without=without)
        before = data.read_bytes()
        for arguments in ((), (job.job_id,)):
            result = audit("--data", str(data), "--json", *arguments)
            assert result.exit_code == code, result.output
            found = json.loads(result.stdout)
            assert [one["job_id"] for one in found["jobs"]] == [job.job_id]
            assert (found["counts"]["expected"], found["counts"]["holes"]) == (AUDITED, holes)
        assert data.read_bytes() == before, "it reads a copy"


def test_the_ticks_of_a_server_that_stopped_are_late(data: Path) -> None:
    with Database(data) as database:
        announce(ShardStore(SqliteItems(database, SystemClock())), 1, SystemClock().now() - 600_000)
    result = audit("--data", str(data))
    assert result.exit_code == 1
    assert "no tick has ended" in result.stderr


def test_a_file_that_is_none_of_a_server_is_not_audited(tmp_path: Path, data: Path) -> None:
    (tmp_path / "text.db").write_text("no database")
    for name, words in (("none.db", "there is no data file"), ("text.db", "not a database")):
        result = audit("--data", str(tmp_path / name))
        assert (result.exit_code, words in result.stderr) == (2, True), result.stderr
    Database(data).close()
    assert "no job was stored there yet" in audit("--data", str(data)).stderr


@pytest.mark.parametrize("option", [("--table", "t"), ("--take-up",)])
def test_options_of_a_table_are_refused(option: tuple[str, ...], data: Path) -> None:
    assert audit("--data", str(data), *option).exit_code == 2

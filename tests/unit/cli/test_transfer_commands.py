"""`onthedot export`, `import` and `thaw` over HTTP."""

import io
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from rich.console import Console
from rich.progress import Progress

from onthedot.cli.main import main
from onthedot.cli.transfer.export_file import ExportWriter, read_export
from tests.unit.api.kit import Api
from tests.unit.worker.world import TOKEN, ApiServer, a_passing_world, serving


@pytest.fixture
def source() -> Iterator[ApiServer]:
    with a_passing_world() as world, serving(world) as server:
        world.stage.settle_ms = 0
        yield server


@pytest.fixture
def destination() -> Iterator[ApiServer]:
    with a_passing_world() as world, serving(world) as server:
        world.stage.settle_ms = 0
        yield server


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("ONTHEDOT_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("onthedot.worker.rest_client._PAUSES", (0.001, 0.002))


def command(server: ApiServer, *arguments: str) -> Result:
    result = CliRunner().invoke(main, [*arguments, "--url", server.url, "--token", TOKEN])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def test_a_stage_is_moved_by_two_commands(source: ApiServer, destination: ApiServer) -> None:
    job = Api(source.world).job(delay=600, payload="ä" * 2_000)
    exported = command(source, "export", "--freeze", "jobs.jsonl")
    assert exported.exit_code == 0, exported.output
    assert "jobs.jsonl: 1 blob, 1 record.\nThe stage is frozen." in exported.stdout
    result = command(destination, "import", "jobs.jsonl", "--release", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == {
        "created": 2,
        "present": 0,
        "refused": [],
        "unknown_pools": [],
        "released": True,
    }
    assert Api(destination.world).get(f"/v1/jobs/{job}").status == 200
    assert command(source, "thaw").exit_code == 3
    assert json.loads(command(source, "thaw", "--force", "--json").stdout)["mode"] == "open"


def test_calls_that_fail_for_a_moment_are_repeated(source: ApiServer, destination: ApiServer) -> None:
    Api(source.world).job(delay=600)
    source.answers = {"/v1/stage/freeze": [503], "/v1/export": [503, 503]}
    destination.answers = {"/v1/import": [503, 500, 429]}
    assert command(source, "export", "--freeze", "jobs.jsonl").exit_code == 0
    assert command(destination, "import", "jobs.jsonl", "--release").exit_code == 0


def test_the_bar_of_an_export_is_full_at_the_end(source: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        Api(source.world).job(delay=600, payload="ä" * 2_000)
    terminal = io.StringIO()
    bar = Progress(console=Console(file=terminal, force_terminal=True, width=100))
    monkeypatch.setattr("onthedot.cli.transfer.export.progress_bar", lambda: bar)
    monkeypatch.setattr("onthedot.use_cases.transfer.export_entries.PAGE", 2)
    assert command(source, "export", "jobs.jsonl").exit_code == 0
    [task] = bar.tasks
    assert (task.completed, task.total, task.description) == (4, 4, "6 entries"), "with the number of shards"
    assert "100%" in terminal.getvalue()


def test_an_export_to_stdout_is_the_same_file(source: ApiServer, tmp_path: Path) -> None:
    Api(source.world).job(delay=600, payload="ä" * 2_000)
    exported = command(source, "export", "-")
    assert exported.exit_code == 0, exported.output
    assert "stdout: 1 blob, 1 record." in exported.stderr
    assert list(tmp_path.iterdir()) == []
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(exported.stdout_bytes)
    assert read_export(copy).counts == {"blob": 1, "record": 1}


@pytest.mark.parametrize("option", ["--freeze", "--json"])
def test_an_export_to_stdout_is_refused_with(option: str, source: ApiServer, tmp_path: Path) -> None:
    refused = command(source, "export", "-", option)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert f"give a FILE with {option}" in refused.stderr
    assert list(tmp_path.iterdir()) == []
    assert Api(source.world).get("/v1/stage").body["mode"] == "open"


def test_a_token_that_is_not_an_admins_is_told_so(source: ApiServer) -> None:
    source.role = "operator"
    result = command(source, "export", "--freeze", "jobs.jsonl")
    assert result.exit_code == 1
    assert "give an admin's as ONTHEDOT_TOKEN" in result.stderr
    assert not Path("jobs.jsonl").exists()


def test_text_that_utf_8_cannot_carry_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    with path.open("wb") as file:
        writer = ExportWriter(file)
        writer.begin({"freeze_id": None})
        writer.add([{"kind": "gate", "format": 1, "id": "\ud800", "content": {}}])
        writer.end()
    [[entry]] = read_export(path).pages(10, 1_000)
    assert entry["id"] == "\ud800"


def test_the_blobs_of_a_record_are_on_its_page(tmp_path: Path) -> None:
    path = tmp_path / "jobs.jsonl"
    kinds = ["blob", "record", "blob", "blob", "record", "limits"]
    with path.open("wb") as file:
        writer = ExportWriter(file)
        writer.begin({"freeze_id": None})
        writer.add([{"kind": kind, "format": 1, "id": str(n), "content": {}} for n, kind in enumerate(kinds)])
        writer.end()
    export = read_export(path)
    assert export.total == 6
    assert [[one["kind"] for one in page] for page in export.pages(4, 10_000)] == [kinds[:2], kinds[2:]]
    assert [[one["kind"] for one in page] for page in export.pages(9, 1)] == [kinds[:2], kinds[2:5], kinds[5:]]

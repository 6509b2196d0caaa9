"""`onthedot export`, `import` and `thaw` over HTTP."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

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
    assert command(source, "thaw").exit_code == 1
    assert json.loads(command(source, "thaw", "--force", "--json").stdout)["mode"] == "open"


def test_calls_that_fail_for_a_moment_are_repeated(source: ApiServer, destination: ApiServer) -> None:
    Api(source.world).job(delay=600)
    source.answers = {"/v1/stage/freeze": [503], "/v1/export": [503, 503]}
    destination.answers = {"/v1/import": [503, 500, 429]}
    assert command(source, "export", "--freeze", "jobs.jsonl").exit_code == 0
    assert command(destination, "import", "jobs.jsonl", "--release").exit_code == 0


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

"""`onthedot export`, `import` and `thaw` over HTTP."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from onthedot.cli.documents import Calls
from onthedot.cli.operations import transfer
from onthedot.cli.operations.export_file import ExportWriter, read_export
from onthedot.cli.output import Bar
from onthedot.client.requests import Operation
from tests.unit.api.kit import Api
from tests.unit.cli.conftest import Command, invoke
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


def on(server: ApiServer) -> Command:
    return partial(invoke, ONTHEDOT_URL=server.url, ONTHEDOT_TOKEN=TOKEN)


def test_calls_that_fail_for_a_moment_are_repeated(source: ApiServer, destination: ApiServer) -> None:
    Api(source.world).job(delay=600)
    source.answers = {"/v1/stage/freeze": [503], "/v1/export": [503, 503]}
    destination.answers = {"/v1/import": [503, 500, 429]}
    assert on(source)("export", "--freeze", "jobs.jsonl").exit_code == 0
    assert on(destination)("import", "jobs.jsonl", "--release").exit_code == 0


class Shown(Bar):
    """A bar that remembers what it shows."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[tuple[int, int | None, str | None]] = []

    def show(self, done: int, total: int | None = None, text: str | None = None) -> None:
        self.steps.append((done, total, text))


class Pages(Calls):
    """The calls of an export of pages with these numbers."""

    def __init__(self, *pages: dict[str, Any]) -> None:
        cursors = [*map(str, range(1, len(pages))), None]
        self._pages = [
            {"running": [], "entries": [], "about_total": None, **one, "next_cursor": cursor}
            for one, cursor in zip(pages, cursors, strict=True)
        ]

    def ask(self, operation: Operation[Any], missing: str | None = None, *, job: str | None = None) -> Any:
        is_stage = operation.path == "/v1/stage"
        return {"version": "1", "freeze_id": None} if is_stage else self._pages.pop(0)


@pytest.mark.parametrize(
    ("pages", "shown"),
    [
        ([{"read": 40, "about_total": 100}, {"read": 40}, {"read": 10}], [(40, 100), (80, 100), (90, 100)]),
        ([{"read": 40, "about_total": 50}, {"read": 40}], [(40, 50), (80, 80)]),
        ([{"read": 40, "about_total": None}], [(40, None)]),
    ],
    ids=["a total", "more than the total", "no total"],
)
def test_the_bar_of_an_export_has_a_total_as_soon_as_a_page_names_one(
    tmp_path: Path, pages: list[dict[str, Any]], shown: list[tuple[int, int | None]]
) -> None:
    bar, calls = Shown(), Pages(*pages)
    with (tmp_path / "jobs.jsonl").open("wb") as file:
        transfer._write(calls, ExportWriter(file), {}, bar, freeze=False, wait_ms=0)
    assert [(done, total) for done, total, _ in bar.steps] == shown


def test_an_export_to_stdout_is_the_same_file(source: ApiServer, tmp_path: Path) -> None:
    Api(source.world).job(delay=600, payload="ä" * 2_000)
    exported = on(source)("export", "-")
    assert exported.exit_code == 0, exported.output
    assert "stdout: 1 blob, 1 record." in exported.stderr
    assert list(tmp_path.iterdir()) == []
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(exported.stdout_bytes)
    assert read_export(copy).counts == {"blob": 1, "record": 1}


def test_an_export_to_stdout_is_refused_with_options_for_a_file(source: ApiServer, tmp_path: Path) -> None:
    for option in ("--freeze", "--json"):
        refused = on(source)("export", "-", option)
        assert (refused.exit_code, refused.stdout, option in refused.stderr) == (2, "", True)
    assert list(tmp_path.iterdir()) == []
    assert Api(source.world).get("/v1/stage").body["mode"] == "open"


def an_export(path: Path, *entries: dict[str, Any]) -> Path:
    with path.open("wb") as file:
        writer = ExportWriter(file)
        writer.begin({"freeze_id": None})
        writer.add({"format": 1, "content": {}, **entry} for entry in entries)
        writer.end()
    return path


def test_text_that_utf_8_cannot_carry_is_kept(tmp_path: Path) -> None:
    [[entry]] = read_export(an_export(tmp_path / "odd.jsonl", {"kind": "gate", "id": "\ud800"})).pages(10, 1_000)
    assert entry["id"] == "\ud800"


def test_the_blobs_of_a_record_are_on_its_page(tmp_path: Path) -> None:
    kinds = ["blob", "record", "blob", "blob", "record", "limits"]
    export = read_export(an_export(tmp_path / "a", *({"kind": kind, "id": str(n)} for n, kind in enumerate(kinds))))
    assert export.total == 6
    assert [[one["kind"] for one in page] for page in export.pages(4, 10_000)] == [kinds[:2], kinds[2:]]
    assert [[one["kind"] for one in page] for page in export.pages(9, 1)] == [kinds[:2], kinds[2:5], kinds[5:]]

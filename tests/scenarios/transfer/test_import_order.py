"""An import changes nothing before its file is known to be whole, and opens the stage only by its release."""

import json
import re

import pytest

from onthedot.transfer.stage_state import StageMode
from tests.scenarios.kits.two_stages import DESTINATION, TwoStages


@pytest.fixture
def moved(stages: TwoStages) -> TwoStages:
    """A stage that is frozen and exported, with one job that was due meanwhile."""
    stages.source.submit(3)
    stages.command("export", "--freeze", str(stages.file))
    return stages


def refusal(stages: TwoStages, *arguments: str) -> str:
    result = stages.try_command(*arguments)
    assert result.exit_code == 1
    return result.stderr


def assert_untouched(stages: TwoStages) -> None:
    assert stages.destination.world.stage.fresh().is_open
    assert stages.destination.world.stored_entries.page(10).items == []


def test_nothing_runs_before_the_release_and_once_after_it(moved: TwoStages) -> None:
    moved.command("import", str(moved.file))
    moved.let_pass(600)
    assert moved.called() == {}
    assert moved.api(DESTINATION).submit(delay=1).body["error"]["code"] == "frozen"
    result = moved.command("import", "--release", str(moved.file))
    assert re.findall(r"\d+", result.stdout) == ["0", "1", "0"], "created, already there, refused"
    moved.let_pass(120)
    assert list(moved.called().values()) == [1]
    assert moved.api(DESTINATION).submit(delay=1).status == 202


def test_a_released_import_is_not_imported_again(moved: TwoStages) -> None:
    moved.command("import", "--release", str(moved.file))
    moved.let_pass(60)
    again = moved.command("import", "--release", str(moved.file))
    assert re.findall(r"\d+", again.stdout) == ["0", "0", "0"]
    moved.let_pass(120)
    assert list(moved.called().values()) == [1]


@pytest.mark.parametrize("kept", [0.3, 0.999])
def test_a_truncated_file_is_refused(moved: TwoStages, kept: float) -> None:
    content = moved.file.read_bytes()
    moved.file.write_bytes(content[: int(len(content) * kept)])
    assert "cannot be imported: it ends" in refusal(moved, "import", "--release", str(moved.file))
    assert_untouched(moved)


def test_a_file_without_its_last_line_is_refused(moved: TwoStages) -> None:
    lines = moved.file.read_bytes().splitlines(keepends=True)
    moved.file.write_bytes(b"".join(lines[:-1]))
    assert "the last line with the counts is missing" in refusal(moved, "import", "--release", str(moved.file))
    assert_untouched(moved)


def test_a_changed_file_is_refused(moved: TwoStages) -> None:
    moved.file.write_bytes(moved.file.read_bytes().replace(b'"acme"', b'"acma"', 1))
    assert "it was changed or damaged" in refusal(moved, "import", "--release", str(moved.file))
    assert_untouched(moved)


def test_a_file_of_another_kind_or_format_is_refused(stages: TwoStages) -> None:
    stages.file.write_text('{"a": 1}\n')
    assert "is not an export" in refusal(stages, "import", str(stages.file))
    stages.file.write_text(json.dumps({"onthedot": "onthedot export", "format": 2}) + "\n")
    assert "it has format 2, and this version knows format 1" in refusal(stages, "import", str(stages.file))
    stages.file.write_text("[]\n")
    assert "line 1 " in refusal(stages, "import", str(stages.file))
    assert "cannot be read: No such file" in refusal(stages, "import", str(stages.folder / "none"))
    assert_untouched(stages)


def test_a_dry_run_stores_nothing(moved: TwoStages) -> None:
    result = moved.command("import", "--dry-run", "--json", str(moved.file))
    assert json.loads(result.stdout)["created"] == 1
    assert_untouched(moved)


def test_an_export_without_a_freeze_is_not_released_by_mistake(stages: TwoStages) -> None:
    stages.source.submit(30)
    stages.command("export", str(stages.file))
    message = refusal(stages, "import", "--release", str(stages.file))
    assert "was exported without --freeze, so the stage that it comes from may still run its jobs" in message
    assert_untouched(stages)
    stages.command("import", "--release", "--without-freeze", str(stages.file))
    stages.let_pass(60)
    assert list(stages.called().values()) == [2], "both stages run it, as the option says"


def test_a_stage_whose_jobs_were_exported_is_not_opened_by_mistake(moved: TwoStages) -> None:
    message = refusal(moved, "thaw")
    assert "if another stage has released them, they would run twice; use force if none has" in message
    moved.command("thaw", "--force")
    assert moved.source.world.stage.fresh().is_open


def test_an_export_during_which_the_stage_was_opened_is_not_whole(stages: TwoStages) -> None:
    stages.source.submit(30)
    answer = stages.call

    def call(url: str, method: str, path: str, body: object) -> object:
        if path == "/v1/export/finish":
            assert stages.api().send("POST", "/v1/stage/thaw").status == 200
            assert stages.api().send("POST", "/v1/stage/freeze").status == 200
        return answer(url, method, path, body)  # type: ignore[arg-type]

    stages.call = call  # type: ignore[method-assign]
    assert "the freeze of this export has ended" in refusal(stages, "export", "--freeze", str(stages.file))
    assert not stages.file.exists()


def test_a_stage_imports_one_export_at_a_time_and_none_while_it_is_frozen(moved: TwoStages) -> None:
    moved.command("import", str(moved.file))
    other = moved.api(DESTINATION).send("POST", "/v1/import/begin", freeze_id="other")
    assert (other.status, other.body["error"]["code"]) == (409, "conflict")
    for path in ("import/release", "import"):
        assert moved.api(DESTINATION).send("POST", f"/v1/{path}", freeze_id="other", entries=[]).status in (409, 422)
    assert moved.api(DESTINATION).send("POST", "/v1/stage/freeze").status == 409
    assert moved.api(DESTINATION).send("POST", "/v1/stage/thaw", force=True).status == 409
    assert moved.api().send("POST", "/v1/import/begin", freeze_id="other").status == 409
    assert moved.destination.world.stage.fresh().mode is StageMode.IMPORTING


def test_a_page_is_not_stored_before_all_processes_know_of_the_import(stages: TwoStages) -> None:
    assert stages.api().send("POST", "/v1/import/begin", freeze_id="x").body["settles_in_ms"] == 5_000
    assert stages.api().send("POST", "/v1/import", freeze_id="x", entries=[]).status == 503
    stages.clock.advance(5)
    assert stages.api().send("POST", "/v1/import", freeze_id="x", entries=[]).status == 200


def test_an_export_replaces_no_file_without_force(stages: TwoStages) -> None:
    stages.file.write_text("mine")
    assert "exists; give another name, or --force to replace it" in refusal(stages, "export", str(stages.file))
    assert stages.file.read_text() == "mine"
    stages.command("export", "--force", str(stages.file))
    assert stages.file.read_text() != "mine"
    assert [one.name for one in stages.folder.iterdir()] == [stages.file.name]

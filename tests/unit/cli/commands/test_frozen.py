"""Commands on a stage that is frozen."""

import json
import logging
from pathlib import Path

import pytest
from click.testing import CliRunner

from onthedot.cli.main import main
from onthedot.transfer.change_stage import begin_import, finish_export, freeze
from tests.unit.api.kit import Api
from tests.unit.cli.conftest import Command
from tests.unit.worker.world import TOKEN, ApiServer

SCHEDULE = ("schedule", "--in", "1h", "--http", "https://a.test/", "--name", "later")


def test_doctor_says_since_when_and_how_to_end_the_freeze(api: Api, onthedot: Command) -> None:
    freeze(api.world.engine)
    result = onthedot("doctor")
    assert result.exit_code == 1
    [line] = [line for line in result.stdout.splitlines() if line.startswith("✗")]
    assert "the stage has been frozen since 20" in line
    assert line.endswith("`onthedot thaw`")
    assert "docs/moving.md" in result.stderr
    finish_export(api.world.engine, freeze(api.world.engine).freeze_id or "")
    assert "`onthedot thaw --force`" in onthedot("doctor").stdout


def test_doctor_says_that_a_stage_imports_data(api: Api, onthedot: Command) -> None:
    begin_import(api.world.engine, "frz_other")
    result = onthedot("doctor")
    assert (result.exit_code, "`onthedot import --release`" in result.stdout) == (1, True)


def test_explain_and_overview_say_it_first(api: Api, onthedot: Command) -> None:
    job = api.job(delay=600)
    done = api.job(delay=600)
    api.send("PUT", f"/v1/jobs/{done}/cancel")
    freeze(api.world.engine)
    explained = json.loads(onthedot("explain", job, "--json").stdout)
    assert explained["reasons"][0]["code"] == "stage_closed"
    assert [one["action"] for one in explained["what_if"]] == ["open_stage"]
    ended = json.loads(onthedot("explain", done, "--json").stdout)
    assert "stage_closed" not in [one["code"] for one in ended["reasons"]]
    overview = json.loads(onthedot("overview", "--json").stdout)
    assert overview["summary"]["state"] == "held_up"
    assert "Nothing starts: the stage has been frozen since" in overview["summary"]["message"]
    assert (overview["hold_ups"][0]["code"], overview["hold_ups"][0]["since"][:2]) == ("stage_closed", "20")


@pytest.mark.parametrize("arguments", [SCHEDULE, ("gates", "set", "stripe", "--in-flight", "1")])
def test_a_refused_command_names_the_way_out_and_starts_no_server(
    arguments: tuple[str, ...], server: ApiServer, tmp_path: Path
) -> None:
    freeze(server.world.engine)
    home = tmp_path / ".onthedot"
    home.mkdir()
    (home / "local.json").write_text(json.dumps({"api_url": server.url, "token": TOKEN}))
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 5
    assert "`onthedot thaw`" in result.stderr
    assert "onthedot serve" not in result.stderr


def test_a_refused_call_is_logged_without_a_traceback(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    freeze(api.world.engine)
    with caplog.at_level(logging.WARNING):
        assert api.submit(delay=1).status == 503
    [record] = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert (record.message, record.exc_info) == ("stage_closed", None)

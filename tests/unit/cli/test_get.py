"""`onthedot get` shows a job of a real API as a table or as the API's document, and ends in a sentence otherwise."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from onthedot.api.core.http import Response
from onthedot.cli.main import main
from tests.unit.api.kit import SHELL, Api, a_worker
from tests.unit.worker.world import TOKEN, ApiServer, a_passing_world, serving


@pytest.fixture(autouse=True)
def _a_bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("ONTHEDOT_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with a_passing_world() as world, serving(world) as server:
        yield server


@pytest.fixture
def api(server: ApiServer) -> Api:
    return Api(server.world)


def get(*arguments: str, **environment: str) -> Result:
    result = CliRunner(env={"COLUMNS": "100", **environment}).invoke(main, ["get", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), "no traceback"
    return result


def get_from(server: ApiServer, *arguments: str) -> Result:
    return get(*arguments, ONTHEDOT_URL=server.url, ONTHEDOT_TOKEN=TOKEN)


def local_stack(folder: Path, **described: Any) -> None:
    (folder / ".onthedot").mkdir()
    (folder / ".onthedot" / "local.json").write_text(json.dumps(described))


def rows(result: Result) -> dict[str, str]:
    assert (result.exit_code, result.stderr) == (0, "")
    return dict(line.split("\t") for line in result.stdout.splitlines())


def seen(server: ApiServer, *arguments: str, columns: int = 80) -> list[str]:
    """The lines that a terminal gets."""
    result = get(
        *arguments, ONTHEDOT_URL=server.url, ONTHEDOT_TOKEN=TOKEN, FORCE_COLOR="1", COLUMNS=str(columns), TZ="UTC"
    )
    assert result.exit_code == 0
    return click.unstyle(result.stdout).splitlines()


def test_a_pipe_gets_the_fields_that_have_a_value(server: ApiServer, api: Api) -> None:
    job = api.job(name="remind-42", delay=3600, payload={"user": 42}, callback_url="https://example.com/a")
    shown = rows(get_from(server, job))
    assert shown["job_id"] == job
    assert (shown["name"], shown["status"], shown["retry_count"]) == ("remind-42", "PENDING", "0")
    assert (json.loads(shown["target"])["url"], shown["payload"]) == ("https://example.com/a", '{"user": 42}')
    assert shown["fire_time"] == api.get(f"/v1/jobs/{job}").body["fire_time"]
    assert not {"cron", "tags", "result", "finished_at"} & shown.keys()


def test_a_recurring_job_is_shown_with_its_schedule(server: ApiServer, api: Api) -> None:
    shown = rows(get_from(server, api.job(cron="0 9 * * *", timezone="Europe/Berlin")))
    assert (shown["cron"], shown["timezone"], shown["status"]) == ("0 9 * * *", "Europe/Berlin", "ACTIVE")


def test_people_see_a_job_in_words(server: ApiServer, api: Api) -> None:
    job = api.job(
        cron="0 9 * * *", timezone="UTC", name="report", callback_url="https://example.com/a", tags={"a": "b"}
    )
    api.send("PATCH", f"/v1/jobs/{job}", cron="0 8 * * *")
    shown = seen(server, job)
    assert shown[:3] == ["name          report", f"job           {job}", "status        ACTIVE"]
    assert "schedule      08:00 every day (cron 0 8 * * *)" in shown
    assert "target        POST https://example.com/a" in shown
    assert "tags          a=b" in shown
    changed, created = shown[-2:]
    assert re.fullmatch(r"changes       changed by a test .*: cron", changed)
    assert created.startswith(" " * 14 + "created ")


def test_people_see_how_the_latest_runs_ended(server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = {"execution_id": "job_a.1", "status": "FAILED", "finished_at": "2026-03-01T12:00:00.000Z"}
    last = {**outcome, "reason": "HTTP 503 " * 20}
    job = {"job_id": "job_a", "status": "ACTIVE", "last_outcome": last, "outcomes": ["FAILED", "SUCCEEDED"], "runs": 2}
    monkeypatch.setattr(server, "answer", lambda _: Response(200, job))
    shown = seen(server, "job_a")
    assert "outcomes      ✗✓  1 of the latest 2 failed" in shown
    place = next(number for number, line in enumerate(shown) if line.startswith("last "))
    assert shown[place].startswith("last          failed Sun 1 Mar 12:00 UTC, ")
    assert shown[place + 1].startswith(" " * 14 + "503 HTTP 503"), "a long text goes on below"
    assert max(map(len, shown)) <= 80


def test_lateness_is_shown_with_the_run_that_it_belongs_to(server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    skipped = {"execution_id": "job_a.2", "status": "SKIPPED", "finished_at": "2026-03-01T12:00:00.000Z"}
    last: dict[str, Any] = {**skipped, "lateness_ms": None, "reason": "schedule changed"}
    job = {"job_id": "job_a", "status": "ACTIVE", "last_outcome": last, "lateness_ms": 2}
    monkeypatch.setattr(server, "answer", lambda _: Response(200, job))
    assert not any(" late" in line for line in seen(server, "job_a")), "the run before it was 2 ms late"
    last.update(status="SUCCEEDED", lateness_ms=40, reason=None)
    assert any(line.endswith(", started 40 ms late") for line in seen(server, "job_a", columns=200))


def test_people_see_the_progress_of_a_job_that_runs(server: ApiServer, api: Api) -> None:
    worker = a_worker(api)
    job = api.job(target=SHELL, timeout_seconds=900)
    assert worker.keep(worker.take(), progress={"fraction": 0.42, "text": "rows 420 of 1,000"}).status == 200
    shown = next(line for line in seen(server, job) if line.startswith("progress"))
    assert shown.startswith("progress      42 %, rows 420 of 1,000, running for ")
    assert ", deadline " in shown


def test_json_is_the_document_of_the_api_unchanged(server: ApiServer, api: Api) -> None:
    job = api.job(delay=3600, payload={"text": "é \x1b[31m", "long": "x" * 900, "number": 1.0})
    result = get_from(server, job, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == api.get(f"/v1/jobs/{job}").text + "\n"


def test_text_of_users_cannot_control_the_terminal_and_is_cut(server: ApiServer, api: Api) -> None:
    job = api.job(delay=3600, name="[red]\x1b[31m", payload="x" * 900)
    result = get_from(server, job)
    assert rows(result)["name"] == r"[red]\x1b[31m"
    assert "(900 characters)" in result.stdout


def test_a_whole_id_is_shown_in_a_narrow_terminal(server: ApiServer, api: Api) -> None:
    job = api.job(delay=3600)
    assert job in get(job, "--url", server.url, "--token", TOKEN, COLUMNS="50").stdout


@pytest.mark.parametrize("job_id", ["job_a", "job_a.000001", "a/b?c=d#e", "../health", "é", "%2e"])
def test_an_unknown_job_ends_with_four(server: ApiServer, job_id: str) -> None:
    result = get_from(server, job_id, "--json")
    assert (result.exit_code, result.stdout) == (4, "")
    assert result.stderr.startswith("Error: there is no job ")
    assert server.url in result.stderr


def test_a_job_of_another_tenant_is_unknown(server: ApiServer, api: Api) -> None:
    assert get_from(server, api.called_by("other").job(delay=3600)).exit_code == 4


def test_options_go_before_the_environment_and_it_before_the_local_stack(
    server: ApiServer, api: Api, tmp_path: Path
) -> None:
    job = api.job(delay=3600)
    wrong = "http://127.0.0.1:1"
    assert get(job, "--url", server.url, "--token", TOKEN, ONTHEDOT_URL=wrong, ONTHEDOT_TOKEN="t").exit_code == 0
    local_stack(tmp_path, api_url=wrong, token="t")
    assert get(job, ONTHEDOT_URL=server.url, ONTHEDOT_TOKEN=TOKEN).exit_code == 0


def test_otherwise_it_is_the_local_stack(server: ApiServer, api: Api, tmp_path: Path) -> None:
    local_stack(tmp_path, api_url=server.url, token=TOKEN)
    assert get(api.job(delay=3600)).exit_code == 0


def test_a_local_stack_that_is_down_can_be_started(tmp_path: Path) -> None:
    local_stack(tmp_path, api_url="http://127.0.0.1:1", token="t")
    result = get("job_a")
    assert result.exit_code == 5
    assert "http://127.0.0.1:1 cannot be reached" in result.stderr
    assert "`onthedot serve` or `onthedot up` starts one" in result.stderr


@pytest.mark.parametrize("content", ["", "[1]", "null", "{"])
def test_a_broken_description_of_the_local_stack_is_named(tmp_path: Path, content: str) -> None:
    local_stack(tmp_path)
    (tmp_path / ".onthedot" / "local.json").write_text(content)
    result = get("job_a")
    assert result.exit_code == 1
    assert "local.json cannot be read" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "Missing argument 'JOB'"),
        (
            ["job_a"],
            "start one with `onthedot serve` or `onthedot up`, or name an API with --url",
        ),
        (["job_a", "--url", "https://api.example.com"], "needs a token; set it as ONTHEDOT_TOKEN"),
        (["job_a", "--url", "ftp://api.example.com", "--token", "t"], "is not the URL of an API"),
        (["job_a", "--url", "http://[", "--token", "t"], "is not the URL of an API"),
        (["job_a", "--url", "https://api.example.com", "--token", "a\nb"], "has characters that no token has"),
    ],
)
def test_options_that_cannot_work_are_refused_in_a_sentence(arguments: list[str], complaint: str) -> None:
    result = get(*arguments)
    assert result.exit_code == 2
    assert complaint in result.stderr


@pytest.mark.parametrize(
    ("statuses", "code", "complaint"),
    [
        ([401], 3, "the token is not valid"),
        ([403], 3, "the token's role does not allow this call"),
        ([404], 3, "as the test wants"),
        ([422], 3, "as the test wants"),
        ([503] * 4, 5, "as the test wants"),
    ],
)
def test_a_refusal_is_a_sentence(server: ApiServer, statuses: list[int], code: int, complaint: str) -> None:
    server.answers = {"/v1/jobs/": statuses}
    result = get_from(server, "job_a")
    assert (result.exit_code, result.stdout) == (code, "")
    assert complaint in result.stderr
    assert TOKEN not in result.stderr


def test_an_api_that_fails_for_a_moment_is_asked_again(server: ApiServer, api: Api) -> None:
    server.answers = {"/v1/jobs/": [503]}
    assert get_from(server, api.job(delay=3600)).exit_code == 0


@pytest.mark.parametrize("body", ["<html>", "[]", "{}", '"job_id"'])
def test_another_server_is_recognised(server: ApiServer, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    monkeypatch.setattr(server, "answer", lambda _: Response(200, body))
    result = get_from(server, "job_a")
    assert (result.exit_code, result.stdout) == (5, "")
    assert "is the URL right" in result.stderr

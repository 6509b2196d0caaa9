"""`onthedot get` shows a job of a real API as facts or as the API's document, and ends in a sentence otherwise."""

import json
import re
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import Result

from onthedot.api.http import Response
from tests.unit.api.kit import SHELL, Api, a_worker
from tests.unit.cli.conftest import Command, invoke, local_stack
from tests.unit.worker.world import TOKEN, ApiServer


def facts(result: Result) -> dict[str, str]:
    assert (result.exit_code, result.stderr) == (0, "")
    return dict(line.split("\t") for line in result.stdout.splitlines())


def seen(onthedot: Command, job: str, columns: int = 80) -> list[str]:
    """The lines that a terminal gets."""
    result = onthedot("get", job, FORCE_COLOR="1", COLUMNS=str(columns), TZ="UTC")
    assert result.exit_code == 0
    return click.unstyle(result.stdout).splitlines()


def test_people_see_a_job_in_words(api: Api, onthedot: Command) -> None:
    job = api.job(
        cron="0 9 * * *", timezone="UTC", name="report", callback_url="https://example.com/a", tags={"a": "b"}
    )
    api.send("PATCH", f"/v1/jobs/{job}", cron="0 8 * * *")
    shown = seen(onthedot, job)
    assert shown[:3] == ["name          report", f"job           {job}", "status        ACTIVE"]
    assert "schedule      08:00 every day (cron 0 8 * * *)" in shown
    assert "target        POST https://example.com/a" in shown
    assert "tags          a=b" in shown
    changed, created = shown[-2:]
    assert re.fullmatch(r"changes       changed by a test .*: cron", changed)
    assert created.startswith(" " * 14 + "created ")
    assert job in onthedot("get", job, COLUMNS="50").stdout, "an id is not cut"


def test_people_see_how_the_latest_runs_ended(
    server: ApiServer, onthedot: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = {"execution_id": "job_a.1", "status": "FAILED", "finished_at": "2026-03-01T12:00:00.000Z"}
    last = {**outcome, "reason": "HTTP 503 " * 20}
    job = {"job_id": "job_a", "status": "ACTIVE", "last_outcome": last, "outcomes": ["FAILED", "SUCCEEDED"], "runs": 2}
    monkeypatch.setattr(server, "answer", lambda _: Response(200, job))
    shown = seen(onthedot, "job_a")
    assert "outcomes      ✗✓  1 of the latest 2 failed" in shown
    place = next(number for number, line in enumerate(shown) if line.startswith("last "))
    assert shown[place].startswith("last          failed Sun 1 Mar 12:00 UTC, ")
    assert shown[place + 1].startswith(" " * 14 + "503 HTTP 503"), "a long text goes on below"
    assert max(map(len, shown)) <= 80


def test_lateness_is_shown_with_the_run_that_it_belongs_to(
    server: ApiServer, onthedot: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    skipped = {"execution_id": "job_a.2", "status": "SKIPPED", "finished_at": "2026-03-01T12:00:00.000Z"}
    last: dict[str, Any] = {**skipped, "lateness_ms": None, "reason": "schedule changed"}
    job = {"job_id": "job_a", "status": "ACTIVE", "last_outcome": last, "lateness_ms": 2}
    monkeypatch.setattr(server, "answer", lambda _: Response(200, job))
    assert not any(" late" in line for line in seen(onthedot, "job_a")), "the run before it was 2 ms late"
    last.update(status="SUCCEEDED", lateness_ms=40, reason=None)
    assert any(line.endswith(", started 40 ms late") for line in seen(onthedot, "job_a", columns=200))


def test_people_see_the_progress_of_a_job_that_runs(api: Api, onthedot: Command) -> None:
    worker = a_worker(api)
    job = api.job(target=SHELL, timeout_seconds=900)
    assert worker.keep(worker.take(), progress={"fraction": 0.42, "text": "rows 420 of 1,000"}).status == 200
    shown = next(line for line in seen(onthedot, job) if line.startswith("progress"))
    assert shown.startswith("progress      42 %, rows 420 of 1,000, running for ")
    assert ", deadline " in shown


def test_json_is_the_document_of_the_api_unchanged(api: Api, onthedot: Command) -> None:
    job = api.job(delay=3600, payload={"text": "é \x1b[31m", "long": "x" * 900, "number": 1.0})
    result = onthedot("get", job, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == api.get(f"/v1/jobs/{job}").text + "\n"


def test_text_of_users_cannot_control_the_terminal_and_is_cut(api: Api, onthedot: Command) -> None:
    shown = facts(onthedot("get", api.job(delay=3600, name="[red]\x1b[31m", payload="x" * 900)))
    assert shown["name"] == r"[red]\x1b[31m"
    assert shown["payload"].endswith("(900 characters)")


def test_an_unknown_job_ends_with_four(server: ApiServer, api: Api, onthedot: Command) -> None:
    of_another = api.called_by("other").job(delay=3600)
    for job in (of_another, "job_a", "job_a.000001", "a/b?c=d#e", "../health", "é", "%2e"):
        result = onthedot("get", job, "--json")
        assert (result.exit_code, result.stdout) == (4, ""), job
        assert server.url in result.stderr


def test_options_go_before_the_environment_and_it_before_the_local_stack(
    server: ApiServer, api: Api, tmp_path: Path
) -> None:
    job, wrong = api.job(delay=3600), "http://127.0.0.1:1"
    named = invoke("get", job, "--url", server.url, "--token", TOKEN, ONTHEDOT_URL=wrong, ONTHEDOT_TOKEN="t")
    assert named.exit_code == 0
    local_stack(tmp_path, api_url=wrong, token="t")
    assert invoke("get", job, ONTHEDOT_URL=server.url, ONTHEDOT_TOKEN=TOKEN).exit_code == 0
    unreachable = invoke("get", job)
    assert unreachable.exit_code == 5
    assert "`onthedot serve`" in unreachable.stderr, "a local stack can be started"
    (tmp_path / ".onthedot" / "local.json").write_text(json.dumps({"api_url": server.url, "token": TOKEN}))
    assert invoke("get", job).exit_code == 0


def test_a_broken_description_of_the_local_stack_is_named(tmp_path: Path) -> None:
    local_stack(tmp_path)
    for content in ("", "[1]", "null", "{"):
        (tmp_path / ".onthedot" / "local.json").write_text(content)
        result = invoke("get", "job_a")
        assert (result.exit_code, "local.json" in result.stderr) == (1, True), content


def test_another_server_is_recognised(server: ApiServer, onthedot: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    for body in ("<html>", "[]", "{}", '"job_id"'):
        monkeypatch.setattr(server, "answer", lambda _, body=body: Response(200, body))
        for command in ("get", "explain"):
            assert onthedot(command, "job_a").exit_code == 5

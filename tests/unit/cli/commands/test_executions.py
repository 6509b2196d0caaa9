"""`onthedot executions`, `backfill`, `forecast` and `workflow` on a real API."""

import json
import re
from datetime import UTC, datetime, timedelta

import click
import pytest

from onthedot.cli.jobs import backfill as backfills
from tests.unit.api.kit import SHELL, Api, a_worker
from tests.unit.cli.conftest import Command, Script, failed_jobs
from tests.unit.client.scripted import LOST, a_reply


def test_pages_are_read_only_as_far_as_they_are_needed(script: Script, onthedot: Command) -> None:
    one = {"execution_id": "job_1.1", "job_id": "job_1", "status": "SUCCEEDED"}
    transport = script(a_reply({"executions": [one] * 100, "next_cursor": "c"}), a_reply({"executions": [one]}))
    assert len(onthedot("executions", "job_1", "--limit", "101", "--json").stdout.splitlines()) == 101
    assert transport.sent[1].query["cursor"] == "c"
    transport = script(a_reply({"executions": [one] * 100, "next_cursor": "c"}))
    onthedot("executions", "job_1", "--limit", "100", "--json")
    assert len(transport.sent) == 1


def test_people_get_one_line_for_each_execution(api: Api, onthedot: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    [job] = failed_jobs(api, 1)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    shown = onthedot("executions", job).stdout
    assert "today" in shown or "tomorrow" in shown
    assert len([line for line in shown.splitlines() if "FAILED" in line]) == 1
    assert job not in shown, "ids have no room"


def test_executions_that_run_now_and_that_a_worker_had(api: Api, onthedot: Command) -> None:
    worker = a_worker(api)
    job = api.job(target=SHELL, name="nightly")
    run = worker.take()
    shown = [json.loads(line) for line in onthedot("executions", "--status", "running", "--json").stdout.splitlines()]
    assert [(one["execution_id"], one["name"]) for one in shown] == [(job, "nightly")]
    worker.complete(run)
    worker.beat(ended=[job])
    (row,) = onthedot("executions", "--worker", worker.worker_id).stdout.splitlines()[1:]
    assert row.split("\t")[5:8] == ["nightly", job, job]


def test_a_range_of_skipped_fire_times_is_one_row(script: Script, onthedot: Command) -> None:
    skipped = {"execution_id": "job_1.1", "job_id": "job_1", "status": "SKIPPED", "count": 1200, "reason": "misfire"}
    script(a_reply({"executions": [{**skipped, "fire_time": "2026-11-18T09:00:00.000Z"}], "next_cursor": None}))
    assert "SKIPPED ×1,200\t-\t-\t0\t-\tjob_1\tjob_1.1\tmisfire" in onthedot("executions", "job_1").stdout


def test_a_backfill_goes_on_until_nothing_is_left(api: Api, onthedot: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backfills, "AT_ONCE", 7)
    job = api.job(cron="* * * * *")
    result = onthedot("backfill", job, "--from", "20m")
    assert result.exit_code == 0
    # The window ends a second ago, so that it has 19 or 20 whole minutes.
    assert re.fullmatch(r"Runs of past fire times: (19|20) new, 0 already there\.\n", result.stdout)
    again = onthedot("backfill", job, "--from", "15m").stdout
    assert re.search(r": [01] new, 1[345] already", again), "a minute may begin in between"


def test_a_backfill_of_a_window_with_a_limit(api: Api, onthedot: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backfills, "AT_ONCE", 3)
    job, end = api.job(cron="* * * * *"), datetime.now(UTC).replace(second=0, microsecond=0)
    window = ["--from", (end - timedelta(minutes=10)).isoformat(), "--to", end.isoformat()]
    result = onthedot("backfill", job, *window, "--limit", "5", "--priority", "high")
    assert result.stdout == "Runs of past fire times: 5 new, 0 already there, 5 left.\n"
    answers = [json.loads(line) for line in onthedot("backfill", job, *window, "--json").stdout.splitlines()]
    assert [(one["created"], one["existing"]) for one in answers] == [(0, 3), (1, 2), (3, 0), (1, 0)]
    found = api.get(f"/v1/jobs/{job}/executions").body["executions"]
    assert sorted(one["priority"] for one in found if one["trigger"] == "backfill") == ["HIGH"] * 5 + ["LOW"] * 5


def test_a_backfill_that_gets_no_further_ends(script: Script, onthedot: Command) -> None:
    stuck = {"created": 0, "existing": 0, "left": 5, "next_from": "2026-11-18T00:00:00.000Z", "executions": []}
    script(*[a_reply(stuck, 202)] * 2)
    result = onthedot("backfill", "job_1", "--from", "1d")
    assert result.exit_code == 1
    assert "with --from 2026-11-18T00:00:00.000Z" in result.stderr


def test_a_backfill_that_fails_midway_says_how_far_it_came(script: Script, onthedot: Command) -> None:
    first = {"created": 7, "existing": 0, "left": 5, "next_from": "2026-11-18T00:00:00.000Z", "executions": []}
    script(a_reply(first, 202), *[LOST] * 4)
    result = onthedot("backfill", "job_1", "--from", "1d")
    assert (result.exit_code, result.stdout) == (5, "")
    assert "Created 7 runs so far." in result.stderr


@pytest.mark.parametrize(
    ("options", "code"),
    [(["--from", "x"], 2), ([], 2), (["--from", "1h", "--to", "2h"], 3)],
)
def test_wrong_windows(options: list[str], code: int, api: Api, onthedot: Command) -> None:
    result = onthedot("backfill", api.job(cron="* * * * *"), *options)
    assert (result.exit_code, result.stdout) == (code, "")


def test_a_forecast_without_runs_and_one_that_is_cut(api: Api, onthedot: Command, script: Script) -> None:
    none = onthedot("forecast")
    assert (none.exit_code, none.stdout, bool(none.stderr)) == (0, "", True)
    script(a_reply({"minutes": [{"time": "2026-11-18T09:00:00.000Z", "runs": 5}], "truncated": True}))
    assert "more runs than were counted" in onthedot("forecast").stderr


def test_a_forecast_of_a_day_says_what_it_could_not_count(api: Api, onthedot: Command, script: Script) -> None:
    assert len(json.loads(onthedot("forecast", "--for", "24h", "--json").stdout)["minutes"]) == 1_440
    assert onthedot("forecast", "--for", "26h").exit_code == 2
    heavy = [{"job_id": "job_a", "name": None, "runs": 4}, {"job_id": "job_b", "name": "report", "runs": 1}]
    minute = {"time": "2026-11-18T09:00:00.000Z", "runs": 5, "heaviest": heavy}
    script(a_reply({"minutes": [minute], "truncated": True, "complete_until": "2026-11-18T10:00:00.000Z"}))
    result = onthedot("forecast", "--for", "24h")
    assert result.stdout.splitlines()[1].endswith("job_a ×4, report")
    assert "on, some one-off runs are missing." in result.stderr


@pytest.mark.parametrize(("document", "code"), [("x", 2), ("[]", 2), ("{}", 3)])
def test_wrong_workflows(document: str, code: int, api: Api, onthedot: Command) -> None:
    result = onthedot("workflow", "start", document)
    assert (result.exit_code, result.stdout) == (code, "")


def test_who_uses_the_capacity(api: Api, onthedot: Command) -> None:
    worker = a_worker(api, resources={"slots": 10})
    for name in ("resize", "resize", "report"):
        api.job(target=SHELL, name=name)
    assert len(worker.lease(max=10)) == 3
    result = onthedot("executions", "--status", "running", "--by", "name")
    header, *rows = [line.split("\t") for line in result.stdout.splitlines()]
    assert header == ["COUNT", "NAME", "JOBS", "POOL", "LONGEST"]
    assert [row[:3] for row in rows] == [["2", "resize", "2"], ["1", "report", "1"]]
    assert "onthedot list --name resize" in result.stderr
    (first, _) = onthedot("executions", "--status", "running", "--by", "name", "--json").stdout.splitlines()
    assert json.loads(first)["executions"] == 2


def test_people_see_how_far_a_run_is(api: Api, onthedot: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = a_worker(api)
    job = api.job(target=SHELL, name="resize", timeout_seconds=900)
    worker.keep(worker.take(), progress={"fraction": 0.5, "text": "half"})
    assert onthedot("executions", job).stdout.splitlines()[1].endswith("\t50 %, half"), "a pipe gets it at the end"
    monkeypatch.setenv("FORCE_COLOR", "1")
    header, row = click.unstyle(onthedot("executions", "--status", "running").stdout).splitlines()
    assert header.split()[-1] == "PROGRESS"
    assert "WHY" not in header, "no row has one"
    assert "50 %, half, running for" in row

"""`pause`, `resume`, `cancel`, `delete` and `run` act on all jobs that pass filters, after a question."""

import json

import pytest

from tests.unit.api.kit import Api
from tests.unit.cli.commands.conftest import Command, Script
from tests.unit.client.scripted import LOST, REFUSED, a_reply


def statuses(api: Api) -> list[str]:
    return sorted(job["status"] for job in api.get("/v1/jobs?limit=100").body["jobs"])


@pytest.fixture
def jobs(api: Api) -> Api:
    for number in range(3):
        api.job(every=3600, name=f"report-{number}", tags={"team": "a"})
    api.job(every=3600, name="other")
    return api


def test_a_dry_run_shows_the_jobs_and_changes_nothing(jobs: Api, onthedot: Command) -> None:
    result = onthedot("pause", "--all", "--name", "report-", "--dry-run")
    assert (result.exit_code, len(result.stdout.splitlines())) == (0, 1 + 3)
    assert "Would pause 3 jobs." in result.stderr
    assert statuses(jobs) == ["ACTIVE"] * 4


def test_the_question_is_asked_and_no_is_the_default(jobs: Api, onthedot: Command) -> None:
    no = onthedot("pause", "--all", "--tag", "team=a", typed="\n")
    assert (no.exit_code, "Pause 3 jobs? [y/N]" in no.stderr) == (1, True)
    assert statuses(jobs) == ["ACTIVE"] * 4
    yes = onthedot("pause", "--all", "--tag", "team=a", typed="y\n")
    assert (yes.exit_code, yes.stdout) == (0, "3 jobs are paused.\n")
    assert statuses(jobs) == ["ACTIVE", *["PAUSED"] * 3]


def test_each_act(jobs: Api, onthedot: Command) -> None:
    chosen = ("--all", "--name", "report-", "--yes")
    assert onthedot("pause", *chosen).stdout == "3 jobs are paused.\n"
    assert onthedot("resume", *chosen, "--status", "paused").stdout == "3 jobs are resumed.\n"
    assert onthedot("run", *chosen).stdout == "3 jobs run now.\n"
    assert onthedot("cancel", *chosen[:-1], "--kind", "recurring", "--yes").stdout == (
        "3 jobs are cancelled, or asked to stop if running.\n"
    )
    assert onthedot("delete", "--all", "--name", "report-1", "--yes").stdout == "1 job is deleted.\n"


def test_json_is_the_answer_of_each_step(jobs: Api, onthedot: Command) -> None:
    counted = onthedot("pause", "--all", "--name", "report-", "--dry-run", "--json")
    assert [json.loads(line)["matched"] for line in counted.stdout.splitlines()] == [3]
    result = onthedot("pause", "--all", "--name", "report-", "--yes", "--json")
    assert [json.loads(line)["done"] for line in result.stdout.splitlines()] == [3]


def test_failures_are_listed_and_stop_no_other_job(jobs: Api, onthedot: Command) -> None:
    onthedot("cancel", "report-1")
    result = onthedot("resume", "--all", "--name", "report-", "--yes")
    assert (result.exit_code, result.stdout) == (1, "2 jobs are resumed.\n")
    assert "CANCELLED" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["pause"], "say which jobs"),
        (["pause", "--all"], "--all needs a filter"),
        (["pause", "--name", "report-"], "say which jobs"),
        (["pause", "report", "--all", "--name", "r"], "say which jobs"),
        (["pause", "report", "--kind", "event"], "work only with --all"),
        (["pause", "--all", "--name", ""], "--name is empty"),
        (["pause", "--all", "--kind", "recuring"], "'recuring' is not one of"),
        (["run", "--all", "--name", "r", "--payload", "1"], "--payload works only with JOB"),
    ],
)
def test_mistakes_of_the_command_line_call_nothing(
    arguments: list[str], complaint: str, script: Script, onthedot: Command
) -> None:
    transport = script()
    result = onthedot(*arguments)
    assert (result.exit_code, transport.sent) == (2, [])
    assert complaint in result.stderr


def test_no_job_passes(api: Api, onthedot: Command) -> None:
    result = onthedot("delete", "--all", "--name", "report-", "--yes")
    assert (result.exit_code, result.stderr) == (0, "No job passes these filters.\n")


def step(**values: object) -> dict[str, object]:
    return {"matched": 0, "done": 0, "failed": 0, "failures": [], "next_cursor": None, **values}


def test_many_steps_are_one_act(script: Script, onthedot: Command) -> None:
    failure = {"id": "job_a", "code": "conflict", "message": "no"}
    transport = script(
        a_reply(step(matched=100, next_cursor="a")),
        a_reply(step(matched=1)),
        a_reply(step(matched=100, done=75, failures=[failure] * 25, next_cursor="b")),
        a_reply(step(matched=1, done=1)),
    )
    result = onthedot("cancel", "--all", "--name", "r", "--yes")
    assert (result.exit_code, result.stdout) == (1, "76 jobs are cancelled, or asked to stop if running.\n")
    assert result.stderr.count("job_a: no") == 20
    assert "… and 5 more failures" in result.stderr
    assert [sent.body.get("cursor") for sent in transport.sent] == [None, "a", None, "b"]


def test_a_count_without_an_end_ends(script: Script, onthedot: Command) -> None:
    script(*[a_reply(step(matched=100, next_cursor="x"))] * 100)
    result = onthedot("cancel", "--all", "--name", "r", typed="n\n")
    assert "Cancel more than 10,000 jobs? [y/N]" in result.stderr


def test_a_step_that_fails_says_how_far_it_came(script: Script, onthedot: Command) -> None:
    counted, done = a_reply(step(matched=2)), a_reply(step(matched=1, done=1, next_cursor="x"))
    script(counted, done, *[REFUSED] * 4)
    result = onthedot("pause", "--all", "--name", "r", "--yes")
    assert result.exit_code == 5
    assert "1 job are paused so far. Repeat the command to go on." not in result.stderr
    assert "1 job is paused so far. Repeat the command to go on." in result.stderr


def test_runs_are_not_repeated_when_the_reply_was_lost(script: Script, onthedot: Command) -> None:
    transport = script(a_reply(step(matched=2)), LOST)
    assert onthedot("run", "--all", "--name", "r", "--yes").exit_code == 5
    assert len(transport.sent) == 2

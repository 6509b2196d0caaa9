"""`onthedot dead-letters`, `redrive` and `workers`."""

import json

import pytest
from click.testing import Result

from onthedot.cli.jobs.executions import COLUMNS
from onthedot.cli.operations import dead_letters as letters
from tests.unit.api.kit import Api
from tests.unit.cli.conftest import Command, Script, failed_jobs
from tests.unit.client.scripted import LOST, a_reply


def dead(api: Api) -> list[str]:
    return [one["execution_id"] for one in api.get("/v1/dead-letters").body["dead_letters"]]


def rows(result: Result) -> list[list[str]]:
    header, *found = [line.split("\t") for line in result.stdout.splitlines()]
    assert header == list(COLUMNS)
    return found


def test_dead_letters_are_listed_the_latest_first(api: Api, onthedot: Command) -> None:
    jobs = failed_jobs(api, 3)
    result = onthedot("dead-letters", "--limit", "2")
    assert [row[6] for row in rows(result)] == jobs[:2]
    assert "onthedot redrive" in result.stderr
    assert "the latest 2, and there are more: --limit" in result.stderr
    assert "there are more" not in onthedot("dead-letters", "--limit", "3").stderr
    lines = onthedot("dead-letters", "--job", jobs[2], "--json").stdout.splitlines()
    assert [json.loads(line)["job_id"] for line in lines] == [jobs[2]]


def test_a_cause_is_one_word_of_the_command_that_is_suggested(script: Script, onthedot: Command) -> None:
    cause = {"cause": '"; reboot \x1b[2J', "count": 1, "latest": None, "successes_since": 0, "jobs": 1}
    script(a_reply({"causes": [{**cause, "name": "n", "job_id": "job_1"}], "truncated": False}))
    assert r"""redrive --cause '"; reboot \x1b[2J' --dry-run""" in onthedot("dead-letters", "--by", "cause").stderr


def test_more_causes_than_were_counted_are_said(script: Script, onthedot: Command) -> None:
    script(a_reply({"causes": [], "truncated": True}))
    assert "There are more than were counted." in onthedot("dead-letters", "--by", "cause").stderr


def test_people_see_which_runs_a_dry_run_found(api: Api, onthedot: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    jobs = failed_jobs(api, 2)
    result = onthedot("redrive", "--all", "--dry-run")
    assert [line.split()[-3] for line in result.stdout.splitlines()[1:]] == jobs
    assert "Would run 2 runs again." in result.stderr


def test_a_redrive_by_cause_and_name(api: Api, onthedot: Command) -> None:
    jobs = failed_jobs(api, 2)
    for nothing in (["--cause", "HTTP 503"], ["--name", "other"]):
        result = onthedot("redrive", *nothing, "--yes")
        assert (result.exit_code, result.stdout, bool(result.stderr)) == (0, "", True)
    assert dead(api) == jobs
    assert onthedot("redrive", "--cause", "boom …", "--since", "1h", "--yes").stdout == "2 runs start again.\n"


def test_a_redrive_asks_first(api: Api, onthedot: Command) -> None:
    jobs = failed_jobs(api, 2)
    refused = onthedot("redrive", "--all", typed="n\n")
    assert (refused.exit_code, refused.stdout, dead(api)) == (1, "", jobs)
    assert "Run 2 runs again?" in refused.stderr
    assert onthedot("redrive", "--all", typed="").exit_code == 1, "a pipe that says nothing is no yes"
    done = onthedot("redrive", "--all", typed="y\n")
    assert (done.exit_code, done.stdout, dead(api)) == (0, "2 runs start again.\n", [])


def test_a_redrive_works_in_parts(api: Api, onthedot: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(letters, "AT_ONCE", 2)
    jobs = failed_jobs(api, 3)
    answers = [json.loads(line) for line in onthedot("redrive", *jobs, "--yes", "--json").stdout.splitlines()]
    assert [one["redriven"] for one in answers] == [2, 1]


def test_an_undecided_one_is_named(script: Script, onthedot: Command) -> None:
    undecided = [{"id": "job_1", "reason": "no answer"}]
    counted = a_reply({"redriven": 0, "matched": 1, "refused": [], "undecided": [], "left": False}, 202)
    script(counted, a_reply({"redriven": 0, "refused": [], "undecided": undecided, "left": False}, 202))
    result = onthedot("redrive", "job_1", "--yes", "--json")
    assert result.exit_code == 1
    assert "job_1 may run again: no answer" in result.stderr


def test_a_redrive_by_filter_goes_on_with_the_cursor(script: Script, onthedot: Command) -> None:
    counted = a_reply({"redriven": 0, "matched": 1500, "refused": [], "undecided": [], "left": False}, 202)
    first = {"redriven": 1000, "refused": [], "undecided": [], "left": True, "next_cursor": "c"}
    rest = {"redriven": 500, "refused": [], "undecided": [], "left": False, "next_cursor": None}
    transport = script(counted, a_reply(first, 202), a_reply(rest, 202))
    assert onthedot("redrive", "--name", "re", "--yes").stdout == "1,500 runs start again.\n"
    assert [one.body for one in transport.sent] == [
        {"name": "re", "dry_run": True},
        {"name": "re"},
        {"name": "re", "cursor": "c"},
    ]


def test_a_redrive_that_fails_midway_says_how_far_it_came(
    script: Script, onthedot: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(letters, "AT_ONCE", 1)
    counted = a_reply({"redriven": 0, "matched": 1, "refused": [], "undecided": [], "left": False}, 202)
    done = a_reply({"redriven": 1, "refused": [], "undecided": [], "left": False}, 202)
    script(counted, counted, done, LOST)
    result = onthedot("redrive", "job_1", "job_2", "--yes")
    assert (result.exit_code, result.stdout) == (5, "")
    assert "1 of 2 runs start again." in result.stderr


def test_a_redrive_must_say_which(script: Script, onthedot: Command) -> None:
    transport = script()
    for options in ([], ["job_1", "--all"], ["--all", "--since", "1h"]):
        assert onthedot("redrive", *options).exit_code == 2
    assert onthedot("dead-letters", "--since", "soon").exit_code == 2
    assert transport.sent == []

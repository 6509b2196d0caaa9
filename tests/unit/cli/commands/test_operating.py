"""`onthedot dead-letters`, `redrive` and `workers`."""

import json

import pytest
from click.testing import Result

from onthedot.cli.jobs.executions import COLUMNS
from onthedot.cli.operations import redrive as redrives
from tests.unit.api.kit import Api, a_worker
from tests.unit.cli.commands.conftest import Command, Script, failed_jobs
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
    assert [row[5] for row in rows(result)] == jobs[:2]
    assert "onthedot redrive" in result.stderr
    lines = onthedot("dead-letters", "--job", jobs[2], "--json").stdout.splitlines()
    assert [json.loads(line)["job_id"] for line in lines] == [jobs[2]]


def test_dead_letters_of_the_latest_time(api: Api, onthedot: Command) -> None:
    failed_jobs(api, 2)
    assert len(rows(onthedot("dead-letters", "--since", "12h"))) == 2


def test_no_dead_letter(api: Api, onthedot: Command) -> None:
    result = onthedot("dead-letters")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "There is no such dead letter." in result.stderr


def test_an_old_dead_letter_ends_the_list(script: Script, onthedot: Command) -> None:
    one = {"execution_id": "job_1", "job_id": "job_1", "status": "FAILED"}
    new, old = {**one, "finished_at": "2999-01-01T00:00:00.000Z"}, {**one, "finished_at": "2020-01-01T00:00:00.000Z"}
    transport = script(a_reply({"dead_letters": [new, old], "next_cursor": "c"}))
    assert len(onthedot("dead-letters", "--since", "1h", "--json").stdout.splitlines()) == 1
    assert len(transport.sent) == 1, "older pages are not read"


def test_a_dry_run_shows_and_changes_nothing(api: Api, onthedot: Command) -> None:
    jobs = failed_jobs(api, 2)
    result = onthedot("redrive", "--since", "12h", "--dry-run")
    assert result.exit_code == 0
    assert [row[5] for row in rows(result)] == jobs
    assert "Would run 2 runs again." in result.stderr
    assert len(onthedot("redrive", "--all", "--dry-run", "--json").stdout.splitlines()) == 2
    assert dead(api) == jobs


def test_a_redrive_asks_first(api: Api, onthedot: Command) -> None:
    jobs = failed_jobs(api, 2)
    refused = onthedot("redrive", "--all", typed="n\n")
    assert (refused.exit_code, refused.stdout, dead(api)) == (1, "", jobs)
    assert "Run 2 runs again?" in refused.stderr
    assert onthedot("redrive", "--all", typed="").exit_code == 1, "a pipe that says nothing is no yes"
    done = onthedot("redrive", "--all", typed="y\n")
    assert (done.exit_code, done.stdout, dead(api)) == (0, "2 runs start again.\n", [])


def test_a_redrive_of_one_job_and_by_ids(api: Api, onthedot: Command) -> None:
    jobs = failed_jobs(api, 3)
    assert onthedot("redrive", "--job", jobs[0], "--yes").stdout == "1 run starts again.\n"
    assert dead(api) == jobs[1:]
    answer = json.loads(onthedot("redrive", jobs[1], "--yes", "--json").stdout)
    assert (answer["redriven"], dead(api)) == (1, jobs[2:])


def test_a_redrive_works_in_parts(api: Api, onthedot: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redrives, "AT_ONCE", 2)
    failed_jobs(api, 3)
    answers = [json.loads(line) for line in onthedot("redrive", "--all", "--yes", "--json").stdout.splitlines()]
    assert [one["redriven"] for one in answers] == [2, 1]


def test_an_execution_that_does_not_run_again_is_named(api: Api, onthedot: Command) -> None:
    (job,) = failed_jobs(api, 1)
    result = onthedot("redrive", job, "job_none", "--yes")
    assert (result.exit_code, result.stdout) == (1, "1 run starts again.\n")
    assert "job_none does not run again: " in result.stderr


def test_an_undecided_one_is_named(script: Script, onthedot: Command) -> None:
    undecided = [{"id": "job_1", "reason": "no answer"}]
    script(a_reply({"redriven": 0, "refused": [], "undecided": undecided, "left": False}, 202))
    result = onthedot("redrive", "job_1", "--yes", "--json")
    assert result.exit_code == 1
    assert "job_1 may run again: no answer" in result.stderr


def test_a_redrive_that_fails_midway_says_how_far_it_came(
    script: Script, onthedot: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redrives, "AT_ONCE", 1)
    script(a_reply({"redriven": 1, "refused": [], "undecided": [], "left": False}, 202), LOST)
    result = onthedot("redrive", "job_1", "job_2", "--yes")
    assert (result.exit_code, result.stdout) == (5, "")
    assert "1 of 2 runs start again. Repeat the command to go on." in result.stderr


def test_a_time_before_all_calendars(script: Script, onthedot: Command) -> None:
    script(a_reply({"dead_letters": [], "next_cursor": None}))
    assert onthedot("dead-letters", "--since", "999999999999w").exit_code == 0


def test_nothing_to_run_again(api: Api, onthedot: Command) -> None:
    result = onthedot("redrive", "--all")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "Nothing runs again.\n")


@pytest.mark.parametrize("options", [[], ["job_1", "--all"], ["--all", "--since", "1h"]])
def test_a_redrive_must_say_which(options: list[str], script: Script, onthedot: Command) -> None:
    transport = script()
    result = onthedot("redrive", *options)
    assert result.exit_code == 2
    assert "say which" in result.stderr
    assert transport.sent == []


def test_workers_are_listed(api: Api, onthedot: Command) -> None:
    assert "onthedot worker --pool" in onthedot("workers").stderr
    a_worker(api, resources={"slots": 10})
    header, row = [line.split("\t") for line in onthedot("workers").stdout.splitlines()]
    assert header[0] == "WORKER"
    assert row[2:4] == ["ACTIVE", "0 of 10"]
    lines = onthedot("workers", "--status", "active", "--json").stdout.splitlines()
    assert [json.loads(line) for line in lines] == api.get("/v1/workers").body["workers"]
    assert onthedot("workers", "--status", "lost", "--json").stdout == ""

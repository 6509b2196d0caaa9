"""`onthedot cancel`, `pause`, `resume`, `delete` and `run` act on jobs by name, or on all that pass filters."""

import pytest

from tests.unit.api.kit import SHELL, Api, a_worker
from tests.unit.cli.conftest import Command, Script
from tests.unit.client.scripted import REFUSED, a_reply


def status_of(api: Api, job: str) -> str:
    return str(api.get(f"/v1/jobs/{job}").body["status"])


def test_the_life_of_a_job(api: Api, onthedot: Command) -> None:
    job = api.job(every=3600, name="report")
    paused = onthedot("pause", job)
    assert (paused.stdout, status_of(api, job)) == (f"report ({job}) is paused.\n", "PAUSED")
    assert f"onthedot resume {job}" in paused.stderr
    resumed = onthedot("resume", job).stdout
    assert resumed.startswith(f"report ({job}) is resumed, next ")
    assert resumed.endswith("minutes.\n")
    assert onthedot("cancel", job).stdout == f"report ({job}) is cancelled.\n"
    assert status_of(api, job) == "CANCELLED"
    assert onthedot("delete", job).stdout == f"{job} is deleted.\n"
    assert api.get(f"/v1/jobs/{job}").status == 404


def test_a_job_that_runs_is_not_called_cancelled(api: Api, onthedot: Command) -> None:
    worker = a_worker(api)
    job = api.job(target=SHELL, name="report")
    run = worker.take()
    said = onthedot("cancel", job).stdout
    assert said.startswith(f"report ({job}) ")
    assert "is cancelled" not in said
    assert status_of(api, job) == "RUNNING"
    assert worker.complete(run, "FAILED", error="asked to stop").status == 200
    assert status_of(api, job) == "CANCELLED"


def test_the_id_of_an_execution_gets_a_hint(api: Api, onthedot: Command) -> None:
    result = onthedot("cancel", "job_7qk3.001794964793237")
    assert (result.exit_code, "(that is an execution; its job is job_7qk3)" in result.stderr) == (4, True)


def test_a_job_that_fails_stops_no_other(api: Api, onthedot: Command) -> None:
    first, last = api.job(every=3600), api.job(every=3600)
    result = onthedot("pause", first, "job_none", last)
    assert result.exit_code == 4
    assert "there is no job job_none" in result.stderr
    assert [status_of(api, job) for job in (first, last)] == ["PAUSED", "PAUSED"]


def test_an_api_that_does_not_answer_ends_the_command(script: Script, onthedot: Command) -> None:
    transport = script(*[REFUSED] * 8)
    assert onthedot("cancel", "job_a", "job_b").exit_code == 5
    assert {sent.path for sent in transport.sent} == {"/v1/jobs/job_a/cancel"}


def test_an_id_that_is_empty_or_no_text_calls_nothing(script: Script, onthedot: Command) -> None:
    transport = script()
    for command in ("cancel", "run", "executions", "backfill --from 1h", "workflow show"):
        assert onthedot(*command.split(), "").exit_code == 2
    assert (onthedot("cancel", "job_\udcff").exit_code, transport.sent) == (2, [])


def test_a_run_with_a_payload_of_its_own(script: Script, onthedot: Command) -> None:
    transport = script(a_reply({"execution_id": "job_a.1", "job_id": "job_a", "status": "PENDING"}))
    assert onthedot("run", "job_a", "--payload", '{"to": "x@y.z"}').exit_code == 0
    assert transport.sent[0].body == {"payload": {"to": "x@y.z"}}
    assert onthedot("run", "job_a", "--payload", "{").exit_code == 2


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


def test_failures_are_listed_and_stop_no_other_job(jobs: Api, onthedot: Command) -> None:
    onthedot("cancel", "report-1")
    result = onthedot("resume", "--all", "--name", "report-", "--yes")
    assert (result.exit_code, result.stdout) == (1, "2 jobs are resumed.\n")
    assert "CANCELLED" in result.stderr


def test_mistakes_of_the_command_line_call_nothing(script: Script, onthedot: Command) -> None:
    transport = script()
    for arguments, named in (
        (["pause"], "JOB"),
        (["pause", "--all"], "--name"),
        (["pause", "--name", "report-"], "--all"),
        (["pause", "report", "--all", "--name", "r"], "--all"),
        (["pause", "report", "--kind", "event"], "--all"),
        (["pause", "--all", "--name", ""], "--name"),
        (["pause", "--all", "--kind", "recuring"], "--kind"),
        (["run", "--all", "--name", "r", "--payload", "1"], "--payload"),
    ):
        result = onthedot(*arguments)
        assert (result.exit_code, named in result.stderr) == (2, True), arguments
    assert transport.sent == []


def test_no_job_passes(api: Api, onthedot: Command) -> None:
    result = onthedot("delete", "--all", "--name", "report-", "--yes")
    assert (result.exit_code, result.stdout, bool(result.stderr)) == (0, "", True)


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
    assert "1 job is paused so far." in result.stderr

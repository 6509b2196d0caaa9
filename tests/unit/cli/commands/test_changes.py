"""`onthedot cancel`, `pause`, `resume`, `delete` and `run` change jobs, each on its own."""

import json

import pytest

from tests.unit.api.kit import SHELL, Api, a_worker
from tests.unit.cli.commands.conftest import Command, Script
from tests.unit.client.scripted import LOST, REFUSED, a_reply


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
    assert said.startswith(f"report ({job}) still runs: cancel was asked for; the run stops at its next heartbeat")
    assert status_of(api, job) == "RUNNING"
    assert worker.complete(run, "FAILED", error="asked to stop").status == 200
    assert status_of(api, job) == "CANCELLED"


@pytest.mark.parametrize("command", ["cancel", "pause", "resume"])
def test_json_is_the_document_of_the_api(command: str, api: Api, onthedot: Command) -> None:
    job = api.job(every=3600)
    result = onthedot(command, job, "--json")
    assert json.loads(result.stdout) == api.get(f"/v1/jobs/{job}").body
    assert result.stderr == ""


def test_a_deletion_as_json(api: Api, onthedot: Command) -> None:
    assert json.loads(onthedot("delete", api.job(every=3600), "--json").stdout) == {"deleted": True}


@pytest.mark.parametrize("command", ["cancel", "pause", "resume", "delete", "run", "executions"])
def test_there_is_no_such_job(command: str, api: Api, onthedot: Command) -> None:
    result = onthedot(command, "job_none")
    assert (result.exit_code, result.stdout) == (4, "")
    assert "there is no job job_none at http" in result.stderr


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


def test_a_state_that_does_not_allow_it_is_a_refusal(api: Api, onthedot: Command) -> None:
    job = api.job(every=3600)
    onthedot("cancel", job)
    result = onthedot("resume", job)
    assert result.exit_code == 3
    assert "CANCELLED" in result.stderr


@pytest.mark.parametrize("command", ["cancel", "run", "executions", "backfill", "workflow show"])
def test_an_empty_id_calls_nothing(command: str, script: Script, onthedot: Command) -> None:
    transport = script()
    result = onthedot(*command.split(), "")
    assert (result.exit_code, "is empty; give an id" in result.stderr) == (2, True)
    assert transport.sent == []


def test_an_id_that_is_no_text_calls_nothing(script: Script, onthedot: Command) -> None:
    transport = script()
    assert (onthedot("cancel", "job_\udcff").exit_code, transport.sent) == (2, [])


def test_a_run_now(api: Api, onthedot: Command) -> None:
    job = api.job(every=3600)
    result = onthedot("run", job)
    assert result.stdout.startswith(f"{job} runs now as {job}.")
    assert f"onthedot executions {job}" in result.stderr
    assert json.loads(onthedot("run", job, "--json").stdout)["trigger"] == "manual"


def test_a_run_with_a_payload_of_its_own(script: Script, onthedot: Command) -> None:
    transport = script(a_reply({"execution_id": "job_a.1", "job_id": "job_a", "status": "PENDING"}))
    assert onthedot("run", "job_a", "--payload", '{"to": "x@y.z"}').exit_code == 0
    assert transport.sent[0].body == {"payload": {"to": "x@y.z"}}
    assert onthedot("run", "job_a", "--payload", "{").exit_code == 2


def test_a_run_whose_reply_was_lost_is_not_repeated(script: Script, onthedot: Command) -> None:
    transport = script(LOST)
    assert onthedot("run", "job_a").exit_code == 5
    assert len(transport.sent) == 1

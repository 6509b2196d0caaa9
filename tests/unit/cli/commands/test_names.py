"""Commands take the name of a job in place of its id, and ask back when they do not know it."""

import pytest
from click.testing import CliRunner

from onthedot.cli.main import main
from tests.unit.api.kit import Api
from tests.unit.cli.conftest import Command, Script
from tests.unit.client.scripted import REFUSED, a_reply
from tests.unit.worker.world import TOKEN, ApiServer

NAMED = ["get", "explain", "executions", "run", "pause", "resume", "change --priority high", "cancel", "delete"]
PATTERN = {"source": ["shop"]}
NO_JOBS: dict[str, object] = {"jobs": [], "next_cursor": None}


def test_a_job_is_known_by_its_name(api: Api, onthedot: Command) -> None:
    api.job(every=3600, name="report-2")
    job = api.job(every=3600, name="report")
    for command in NAMED:
        result = onthedot(*command.split(), "report", "--json")
        assert (result.exit_code, result.stderr) == (0, ""), command
        assert command in ("delete", "executions") or job in result.stdout


def test_backfill_and_workflows_take_names_too(api: Api, onthedot: Command) -> None:
    api.job(every=3600, name="report")
    assert onthedot("backfill", "report", "--from", "1m").exit_code == 0
    made = api.send("POST", "/v1/workflows", name="nightly", jobs=[{"key": "a", "callback_url": "https://x.example/"}])
    assert made.body["workflow_id"] in onthedot("workflow", "show", "nightly", "--json").stdout


def test_event_jobs_and_new_one_off_jobs_have_names(api: Api, onthedot: Command) -> None:
    on_event, once = api.job(on_event=PATTERN, name="on upload"), api.job(delay=3600, name="remind")
    assert onthedot("pause", "on upload").stdout == f"on upload ({on_event}) is paused.\n"
    assert onthedot("cancel", "remind").stdout == f"remind ({once}) is cancelled.\n"


def test_a_recurring_job_hides_one_off_jobs_of_its_name(api: Api, onthedot: Command) -> None:
    recurring = api.job(every=3600, name="report")
    api.job(delay=3600, name="report")
    assert recurring in onthedot("pause", "report").stdout


def test_a_name_that_several_jobs_have_is_refused_with_their_ids(api: Api, onthedot: Command) -> None:
    ids = [api.job(every=3600, name="report") for _ in range(12)]
    result = onthedot("pause", "report")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "12 jobs are called report; give the id of one:" in result.stderr
    assert sum(job in result.stderr for job in ids) == 10
    assert "and 2 more" in result.stderr
    assert {api.get(f"/v1/jobs/{job}").body["status"] for job in ids} == {"ACTIVE"}


def test_an_ambiguous_name_stops_no_other_job(api: Api, onthedot: Command) -> None:
    for _ in range(2):
        api.job(every=3600, name="twice")
    job = api.job(every=3600, name="once")
    result = onthedot("pause", "twice", "once")
    assert result.exit_code == 2
    assert api.get(f"/v1/jobs/{job}").body["status"] == "PAUSED"


@pytest.mark.slow
def test_a_mistyped_id_or_name_is_answered_with_the_nearest_job(api: Api, onthedot: Command) -> None:
    job = api.job(every=3600, name="remind-42")
    for command in NAMED:
        for wrong in (f"jbo_{job[4:12]}", job[:-3], "remnid-42"):
            result = onthedot(*command.split(), wrong)
            assert (result.exit_code, result.stdout) == (4, "")
            assert f"there is no job {wrong} at http" in result.stderr
            assert f"Did you mean {job} (remind-42)?" in result.stderr
    assert "Did you mean" not in onthedot("cancel", "nothing like it").stderr


def test_an_id_costs_no_further_call(script: Script, onthedot: Command) -> None:
    transport = script(a_reply({"job_id": "job_a", "status": "PAUSED"}))
    assert onthedot("pause", "job_a").exit_code == 0
    assert [sent.path for sent in transport.sent] == ["/v1/jobs/job_a/pause"]


def test_a_name_that_does_not_exist_costs_a_bounded_number_of_calls(script: Script, onthedot: Command) -> None:
    transport = script(*[a_reply(NO_JOBS)] * 6)
    assert onthedot("pause", "report").exit_code == 4
    assert {sent.path for sent in transport.sent} == {"/v1/jobs"}


def completed(url: str, *words: str) -> str:
    env = {"ONTHEDOT_URL": url, "ONTHEDOT_TOKEN": TOKEN, "_ONTHEDOT_COMPLETE": "bash_complete"}
    place = {"COMP_WORDS": " ".join(("onthedot", *words)), "COMP_CWORD": str(len(words))}
    return CliRunner(env={**env, **place}).invoke(main, prog_name="onthedot").output


def test_a_shell_completes_names(api: Api, server: ApiServer) -> None:
    api.job(every=3600, name="report")
    api.job(every=3600, name="cleanup")
    assert completed(server.url, "pause", "re") == "plain,report\n"


def test_without_an_api_nothing_is_completed(script: Script) -> None:
    script(REFUSED)
    assert completed("http://api.test", "pause", "re").strip() == ""


def test_a_shell_completes_options_of_jobs_and_their_values(script: Script) -> None:
    script()
    assert completed("http://api.test", "schedule", "--misf") == "plain,--misfire\nplain,--misfire-grace\n"
    assert completed("http://api.test", "schedule", "--backoff-jitter", "").split() == ["plain,on", "plain,off"]

"""`onthedot change` changes one job, names the new values and the next fire, and ends in a sentence otherwise."""

from datetime import timedelta
from typing import Any

import pytest

from onthedot.cli.jobs.change import CLEARED
from onthedot.cli.times import this_moment
from tests.unit.api.kit import Api
from tests.unit.cli.conftest import Command, Script
from tests.unit.client.scripted import a_reply

URL = "https://api.example.com/remind"
WEEKDAYS = "0 8 * * mon-fri"
JOB = {"job_id": "job_1", "status": "ACTIVE", "name": "n", "next_fire_time": None}


def the_job(api: Api, job: str) -> Any:
    return api.get(f"/v1/jobs/{job}").body


def test_people_read_the_change_the_next_fire_and_the_next_commands(api: Api, onthedot: Command) -> None:
    job = api.job(cron="0 9 * * *", timezone="Asia/Tokyo", name="report")
    result = onthedot("change", "report", "--cron", WEEKDAYS, "--timeout", "2m", "--tag", "a=b")
    first, *others = result.stdout.splitlines()
    assert first.startswith(
        f"Changed report ({job}): at 08:00 on weekdays, Asia/Tokyo, tags a=b, timeout_seconds 120; next "
    )
    assert " 08:00 JST, in " in first
    assert (others, result.stderr) == ([], f"  onthedot get {job}    onthedot explain {job}\n")
    changed = the_job(api, job)
    assert (changed["cron"], changed["timezone"], changed["timeout_seconds"]) == (WEEKDAYS, "Asia/Tokyo", 120)


def test_a_new_time_is_the_next_fire(api: Api, onthedot: Command) -> None:
    job = api.job(delay=3600, name="remind")
    assert onthedot("change", job, "--in", "10m").stdout.endswith(", in 10 minutes.\n")
    at = (this_moment() + timedelta(days=3)).strftime("%Y-%m-%d 9:00")
    result = onthedot("change", job, "--at", at, "--tz", "Asia/Tokyo", "--payload", "[1]")
    assert result.stdout.startswith(f"Changed remind ({job}): new payload; next ")
    assert " 09:00 JST, in " in result.stdout
    assert onthedot("change", job, "--at", "2020-01-01T00:00:00Z").exit_code == 3
    assert onthedot("change", job, "--in", "0s").stdout == f"Changed remind ({job}): it is due now.\n"


def test_a_paused_job_and_a_job_for_events_have_no_next_fire(api: Api, onthedot: Command) -> None:
    paused, on_event = api.job(every=3600), api.job(on_event={"source": ["a"]})
    onthedot("pause", paused)
    assert onthedot("change", paused, "--every", "90s").stdout == f"Changed {paused}: every 90 seconds; it is paused.\n"
    told = onthedot("change", on_event, "--on-event", '{"source": ["b"]}', "--max-retries", "5").stdout
    assert told == f"Changed {on_event}: new on_event, retry max_retries=5.\n"


def test_every_field_that_can_go_is_cleared(api: Api, onthedot: Command) -> None:
    api.send("PUT", "/v1/gates/stripe", in_flight=5)
    texts = {"name": "n", "description": "d", "start_at": "2030-01-01T00:00:00Z", "end_at": "2031-01-01T00:00:00Z"}
    more = {"max_runs": 5, "gates": ["stripe"], "start_within_seconds": 60, "payload": [1], "tags": {"a": "b"}}
    job = api.job(every=3600, **texts, **more, requirements={"memory_mb": 1})
    result = onthedot("change", job, *(word for name in CLEARED for word in ("--clear", name.replace("_", "-"))))
    assert all(f"no {name}" in result.stdout for name in CLEARED)
    changed = the_job(api, job)
    assert [changed[name] for name in (*texts, *more)] == [None] * 5 + [[], None, None, {}]
    assert changed["requirements"]["memory_mb"] == 0


def test_only_the_version_that_was_seen_is_changed(api: Api, onthedot: Command) -> None:
    job = api.job(every=3600)
    assert onthedot("change", job, "--name", "a", "--if-version", "1").exit_code == 0
    result = onthedot("change", job, "--name", "b", "--if-version", "1")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "the job has version 2, not 1" in result.stderr
    assert the_job(api, job)["name"] == "a"


def test_a_refusal_has_the_words_of_the_api_and_names_the_field(api: Api, onthedot: Command) -> None:
    job = api.job(every=3600)
    result = onthedot("change", job, "--cron", "61 * * * *")
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.startswith("Error: cron: minute")
    other_kind = onthedot("change", job, "--in", "5m", "--max-retries", "1000")
    assert "retry.max_retries" in other_kind.stderr
    assert "delay: is for jobs that run once" in onthedot("change", job, "--in", "5m").stderr
    assert the_job(api, job)["version"] == 1


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ([], "say what changes: at least one option, such as --cron, --payload or --clear"),
        (["--if-version", "3"], "say what changes"),
        (["--http", URL, "--python", "a"], "one of --http, --python, --shell and --target"),
        (["--method", "PUT"], "--method works only with --http"),
        (["--clear", "cron"], "'cron' is not one of"),
        (["--clear", "name", "--name", "n"], "--clear name removes a field that another option sets"),
        (["--clear", "gates", "--gate", "stripe"], "--clear gates removes"),
        (["--payload", "text"], "--payload: is not JSON"),
        (["--payload", "NaN"], "not JSON compliant"),
        (["--depends-on", "job_2"], "No such option"),
    ],
)
def test_wrong_options_are_named_and_nothing_is_sent(
    options: list[str], why: str, script: Script, onthedot: Command
) -> None:
    transport = script()
    result = onthedot("change", "job_1", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert why in result.stderr
    assert transport.sent == []


def test_texts_of_others_cannot_control_the_terminal(script: Script, onthedot: Command) -> None:
    script(a_reply({**JOB, "name": "\x1b[31m"}))
    assert "\x1b[31m" not in onthedot("change", "job_1", "--description", "\x1b[31m").stdout

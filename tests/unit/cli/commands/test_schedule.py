"""`onthedot schedule` submits a job, says when it fires, and ends in a sentence otherwise."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.api.kit import Api
from tests.unit.cli.conftest import Command, Script
from tests.unit.client.scripted import REFUSED, a_refusal, a_reply

URL = "https://api.example.com/remind"
JOB = {"job_id": "job_1", "status": "PENDING", "name": "n", "next_fire_time": "2026-11-18T09:00:00.000Z"}


def the_job(api: Api, answer: str) -> Any:
    return api.get(f"/v1/jobs/{json.loads(answer)['job_id']}").body


def test_people_read_when_it_fires_and_what_to_do_next(api: Api, onthedot: Command) -> None:
    result = onthedot("schedule", "--in", "10m", "--http", URL, "--name", "remind-42")
    assert result.stdout.startswith("Scheduled remind-42 (job_")
    assert result.stdout.endswith(", in 10 minutes.\n")
    assert "onthedot explain job_" in result.stderr
    assert "onthedot cancel job_" in result.stderr


def test_a_recurring_job_shows_its_next_fires_in_its_zone(api: Api, onthedot: Command) -> None:
    result = onthedot("schedule", "--cron", "0 9 * * mon", "--tz", "Asia/Tokyo", "--http", URL, "--name", "report")
    first, following = result.stdout.splitlines()
    assert first.endswith("): at 09:00 on Mondays, Asia/Tokyo.")
    fires = following.removeprefix("Next: ").removesuffix(".").split(", ")
    assert [(fire[:3], fire[-5:]) for fire in fires] == [("Mon", "09:00")] * 3


def test_an_interval_and_the_most_runs(api: Api, onthedot: Command) -> None:
    result = onthedot("schedule", "--every", "90s", "--max-runs", "2", "--http", URL)
    assert ": every 90 seconds.\n" in result.stdout
    assert result.stdout.count(",") == 1, "it fires twice only"
    assert ": rate(5 minutes).\n" in onthedot("schedule", "--every", "rate(5 minutes)", "--http", URL).stdout


def test_the_example_of_h_is_no_fire_time_of_the_job(api: Api, onthedot: Command) -> None:
    result = onthedot("schedule", "--cron", "H H * * *", "--http", URL)
    assert "," not in result.stdout.splitlines()[1], "only the first fire is known"


def test_a_preview_that_fails_does_not_hide_that_the_job_was_accepted(script: Script, onthedot: Command) -> None:
    script(a_reply(JOB, 202), a_refusal(500, "internal_error"))
    result = onthedot("schedule", "--cron", "0 9 * * *", "--http", URL)
    assert result.exit_code == 0
    assert result.stdout.startswith("Scheduled n (job_1): at 09:00 every day, UTC.\nNext: ")


def test_a_job_after_others_and_one_for_events_say_so(api: Api, onthedot: Command) -> None:
    parent = api.job(delay=3600)
    assert f"after {parent}" in onthedot("schedule", "--http", URL, "--depends-on", parent).stdout
    event = onthedot("schedule", "--http", URL, "--on-event", '{"source": ["a"]}')
    assert event.stdout.endswith(" for each event that matches.\n")


def test_the_payload_of_a_file_and_of_stdin(api: Api, onthedot: Command, tmp_path: Path) -> None:
    (tmp_path / "mail.json").write_text('{"to": "ä"}', encoding="utf-8")
    by_file = onthedot("schedule", "--in", "1h", "--http", URL, "--payload", "@mail.json", "--json")
    assert the_job(api, by_file.stdout)["payload"] == {"to": "ä"}
    typed = onthedot("schedule", "--in", "1h", "--http", URL, "--payload", "-", "--json", typed="[1, 2]")
    assert the_job(api, typed.stdout)["payload"] == [1, 2]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ([], "one of --http, --python, --shell and --target"),
        (["--http", URL, "--python", "a"], "one of --http, --python, --shell and --target"),
        (["--python", "a", "--header", "A: b"], "--header works only with --http"),
        (["--http", URL, "--header", "A"], "--header: 'A' has no ':'"),
        (["--http", URL, "--tag", "A"], "--tag: 'A' has no '='"),
        (["--http", URL, "--in", "soon"], "'soon' is not a duration"),
        (["--http", URL, "--at", "soon"], "--at: 'soon' is not a time"),
        (["--http", URL, "--at", "tomorrow 9:00", "--tz", "Mars/X"], "--at: there is no time zone 'Mars/X'"),
        (["--http", URL, "--every", "1.5s"], "--every: '1.5s' is not whole seconds"),
        (["--http", URL, "--misfire-grace", "0.5s"], "'--misfire-grace': '0.5s' is not a whole number"),
        (["--http", URL, "--misfire", "later"], "'--misfire': 'later' is not one of"),
        (["--http", URL, "--cpu", "1e999"], "'--cpu': '1e999' is not a number"),
        (["--http", URL, "--memory-mb", "0.5"], "'--memory-mb'"),
        (["--http", URL, "--payload", "text"], "--payload: is not JSON"),
        (["--http", URL, "--payload", "@none.json"], "--payload: "),
        (["--http", URL, "--payload", "[" * 100_000], "--payload: is nested too deeply"),
        (["--http", URL, "--payload", "NaN"], "not JSON compliant"),
        (["--http", URL, "--at", "0001-01-01 0:00"], "--at: "),
        (["--http", URL, "--name", "\udcff"], "can't encode"),
        (["--shell", "echo 'a"], "--shell: "),
    ],
)
def test_wrong_options_are_named_and_nothing_is_sent(
    options: list[str], why: str, script: Script, onthedot: Command
) -> None:
    transport = script()
    result = onthedot("schedule", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert why in " ".join(result.stderr.split())
    assert transport.sent == []


def test_a_refusal_names_each_field(api: Api, onthedot: Command) -> None:
    result = onthedot("schedule", "--cron", "61 * * * *", "--http", "nonsense")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "Error: 2 fields are wrong:\n  cron: " in result.stderr
    assert "\n  callback_url: " in result.stderr
    alone = onthedot("schedule", "--cron", "61 * * * *", "--http", URL)
    assert alone.exit_code == 3
    assert alone.stderr.startswith("Error: cron: minute")


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (REFUSED, 5),
        (a_refusal(503, "unavailable"), 5),
        (a_refusal(429, "throttled"), 5),
        (a_refusal(500, "internal_error"), 1),
        (a_refusal(401, "unauthorized"), 3),
        (a_refusal(403, "forbidden"), 3),
        (a_refusal(413, "too_large"), 3),
        (a_reply(["not a job"]), 5),
    ],
)
def test_exit_codes_by_class(outcome: Any, code: int, script: Script, onthedot: Command) -> None:
    script(*[outcome] * 4)
    result = onthedot("schedule", "--http", URL)
    assert (result.exit_code, result.stdout) == (code, "")
    assert result.stderr.startswith("Error: ")


def test_a_machine_without_the_data_of_a_zone_shows_its_own_time(script: Script, onthedot: Command) -> None:
    script(a_reply(JOB, 202), a_reply({"fire_times": []}))
    result = onthedot("schedule", "--cron", "0 9 * * *", "--tz", "Mars/New", "--http", URL)
    assert (result.exit_code, result.stdout.splitlines()[0]) == (
        0,
        "Scheduled n (job_1): at 09:00 every day, Mars/New.",
    )


def test_texts_of_others_cannot_control_the_terminal(script: Script, onthedot: Command) -> None:
    script(a_reply({**JOB, "name": "\x1b[31m"}, 202))
    assert "\x1b[31m" not in onthedot("schedule", "--http", URL).stdout
    script(a_refusal(422, "invalid", "\x1b[31m"))
    assert "\x1b[31m" not in onthedot("schedule", "--http", URL).stderr

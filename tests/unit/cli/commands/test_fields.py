"""The command line can say every field of a job that the API takes, and sends no other field than those said."""

import json
from collections.abc import Sequence
from typing import Any

import click
import pytest

from onthedot.api.reading import read_shape
from onthedot.cli.jobs.change import change
from onthedot.cli.jobs.schedule import schedule
from onthedot.jobs.shapes import JobFields, PatchFields
from tests.unit.api.kit import Api
from tests.unit.cli.conftest import Command, Script
from tests.unit.cli.job_cases import CASES, URL, Case, fields_of, with_work
from tests.unit.client.scripted import a_reply

ANSWER = {"job_id": "job_1", "status": "ACTIVE", "name": "n", "next_fire_time": None}
CHANGES = [case for case in CASES if case.fields() <= fields_of(PatchFields)]


def named(cases: Sequence[Case]) -> list[Any]:
    return [pytest.param(case, id=" ".join(case.words)) for case in cases]


def said(cases: Sequence[Case]) -> set[str]:
    return {name for case in cases for name in case.fields()}


def test_a_new_job_can_have_every_field() -> None:
    assert said(CASES) == fields_of(JobFields)


def test_a_change_can_have_every_field() -> None:
    assert said(CHANGES) == fields_of(PatchFields)


@pytest.mark.parametrize("case", named(CASES))
def test_a_new_job_is_sent_as_it_was_said(case: Case, script: Script, onthedot: Command) -> None:
    words, body = with_work(case)
    transport = script(a_reply(ANSWER, 202), a_reply({"fire_times": []}))
    assert onthedot("schedule", *words, "--json").exit_code == 0
    made = transport.sent[0].body
    assert {"idempotency_key": made["idempotency_key"], **body} == made
    assert read_shape(JobFields, made).keys() == {*body, "idempotency_key"}


@pytest.mark.parametrize("case", named(CHANGES))
def test_a_change_is_sent_as_it_was_said(case: Case, script: Script, onthedot: Command) -> None:
    transport = script(a_reply(ANSWER))
    assert onthedot("change", "job_1", *case.words).exit_code == 0
    assert [one.body for one in transport.sent] == [case.body]
    assert read_shape(PatchFields, case.body).keys() == case.body.keys()


def test_the_job_has_what_was_said_and_a_change_keeps_the_rest(api: Api, onthedot: Command) -> None:
    times = ["--cron", "30 2 * * *", "--tz", "Europe/Berlin", "--dst-gap", "skip", "--misfire-grace", "5m"]
    how = ["--http", URL, "--backoff", "5s", "--memory-mb", "1", "--name", "report", "--json"]
    made = json.loads(onthedot("schedule", *times, *how).stdout)
    options = ["--dst-overlap", "twice", "--misfire", "run_all", "--backoff-jitter", "off", "--cpu", "0.5"]
    told = onthedot("change", "report", *options).stdout
    assert "dst overlap=twice, misfire policy=run_all, retry jitter=false, requirements cpu=0.5; next " in told
    job = api.get(f"/v1/jobs/{made['job_id']}").body
    assert (job["dst"], job["misfire"]) == (
        {"gap": "skip", "overlap": "twice"},
        {"policy": "run_all", "grace_seconds": 300},
    )
    assert (job["retry"]["backoff_seconds"], job["retry"]["jitter"]) == (5, False)
    assert job["requirements"] == {"capabilities": [], "cpu": 0.5, "memory_mb": 0, "storage_mb": 0}


@pytest.mark.parametrize("command", [schedule, change])
def test_the_help_has_a_line_for_each_option_of_a_job_in_100_columns(command: click.Command) -> None:
    context = click.Context(command, info_name="onthedot", terminal_width=100, **command.context_settings)
    text = command.get_help(context)
    sections = ["When:", "If a run cannot start in time:", "What:", "Labels:", "How:", "Retries:"]
    places = [text.index(f"\n{title}\n") for title in [*sections, "Worker requirements:", "Options:"]]
    assert places == sorted(places)
    lines = text[places[0] : places[-1]].splitlines()
    assert [line for line in lines if line.startswith("   ")] == [], "no text goes on in a second line"

"""`onthedot list` finds jobs and shows how each of them does."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from onthedot.cli.jobs.listing import in_short, row_of
from onthedot.cli.output import Cells
from onthedot.cli.times import schedule_in_words
from tests.unit.api.kit import SHELL, Api, a_worker
from tests.unit.cli.conftest import Command, Script, failed_jobs
from tests.unit.client.scripted import a_reply

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _utc() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


def table(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines()]


def test_old_jobs_are_not_recent(api: Api, onthedot: Command) -> None:
    api.job(every=86_400, name="old")
    api.world.clock.advance(-7200)
    api.job(delay=86_400, name="older")
    assert onthedot("list", "--since", "1h", "--json").stdout.count("\n") == 1


@pytest.mark.parametrize("status", [(), ("--status", "failed")])
def test_since_is_a_duration_or_a_time_as_for_dead_letters(
    status: tuple[str, ...], api: Api, onthedot: Command
) -> None:
    failed_jobs(api, 1)
    now = datetime.now(UTC)
    before, after = now - timedelta(hours=1), now + timedelta(hours=1)
    for since, count in (
        ("1h", 1),
        (before.isoformat(), 1),
        (str(int(before.timestamp())), 1),
        (after.isoformat(), 0),
        (f"{after.astimezone():%Y-%m-%d %H:%M}", 0),
    ):
        for command in (("list", *status), ("dead-letters",)):
            assert onthedot(*command, "--since", since, "--json").stdout.count("\n") == count, (command, since)
    hint = onthedot("list", "--status", "failed", "--since", f"{before.astimezone():%Y-%m-%d %H:%M}").stderr
    assert f"--since '{before.astimezone():%Y-%m-%d %H:%M}' --dry-run" in hint


def test_failed_jobs_with_the_reason_and_the_command_that_runs_them_again(api: Api, onthedot: Command) -> None:
    ids = failed_jobs(api, 3)
    api.job(every=60)
    result = onthedot("list", "--status", "failed", "--since", "12h")
    _, *rows = table(result.stdout)
    assert [row[-1] for row in rows] == ids
    assert [row[4] for row in rows] == ["boom 2", "boom 1", "boom 0"]
    assert rows[0][2].startswith("failed 20")
    assert "onthedot redrive --since 12h --dry-run" in result.stderr
    assert onthedot("list", "--status", "failed", "--limit", "2", "--json").stdout.count("\n") == 2
    assert onthedot("list", "--status", "failed", "--name", "x").stdout == ""


@pytest.mark.parametrize(
    "schedule",
    [
        {"priority": "HIGH", "tags": {"a": "b"}},
        {"every": 60, "name": "often"},
        {"cron": "* * * * *", "timezone": "Europe/Berlin"},
        {"on_event": {"source": ["shop"]}},
    ],
)
def test_a_failed_job_is_listed_as_in_every_other_list(schedule: Any, api: Api, onthedot: Command) -> None:
    job = api.job(target=SHELL, retry={"max_retries": 0}, **schedule)
    worker = a_worker(api)
    if "on_event" in schedule:
        api.send("POST", "/v1/events", source="shop", detail_type="order", detail={})
    elif "priority" not in schedule:
        api.send("POST", f"/v1/jobs/{job}/run")
    worker.complete(worker.take(), "FAILED", error="boom")
    [listed] = map(json.loads, onthedot("list", "--json").stdout.splitlines())
    [failed] = map(json.loads, onthedot("list", "--status", "failed", "--json").stdout.splitlines())
    assert (listed["job_id"], listed["target"]) == (job, "shell true")
    assert list(failed.items()) == list(listed.items())


def test_a_deleted_job_hides_no_other_failed_one(api: Api, onthedot: Command) -> None:
    latest, middle, first = failed_jobs(api, 3)
    onthedot("delete", middle)
    shown = [
        json.loads(line)["job_id"] for line in onthedot("list", "--status", "failed", "--json").stdout.splitlines()
    ]
    assert shown == [latest, first]


def test_empty_pages_are_read_on_but_not_for_ever(script: Script, onthedot: Command) -> None:
    transport = script(*[a_reply({"jobs": [], "next_cursor": "x"})] * 50)
    assert onthedot("list", "--name", "x").exit_code == 0
    assert len(transport.sent) == 50


def test_there_are_more_than_the_limit(api: Api, onthedot: Command) -> None:
    for _ in range(3):
        api.job(delay=60)
    assert "2 jobs, and there are more: --limit." in onthedot("list", "--limit", "2").stderr


def a_job(**fields: Any) -> dict[str, Any]:
    return {"job_id": "job_a", "kind": "recurring", "status": "ACTIVE", "name": "report", "reason": None, **fields}


def at(**back: float) -> str:
    return (NOW - timedelta(**back)).isoformat()


@pytest.mark.parametrize(
    ("job", "cells"),
    [
        (
            a_job(
                cron="0 9 * * mon-fri",
                next_fire_time="2026-11-19T09:00:00Z",
                last_outcome={
                    "status": "FAILED",
                    "finished_at": "2026-11-18T09:00:03Z",
                    "reason": "4 of 4 attempts failed: HTTP 503",
                },
            ),
            ("report", "09:00 on weekdays", "failed 09:00:03", "tomorrow 09:00", "HTTP 503 after 4 attempts"),
        ),
        (
            a_job(every=900, outcomes=["SUCCEEDED"], status="PAUSED", next_fire_time=at(hours=-1)),
            ("report", "every 15 minutes", "succeeded", "paused", "-"),
        ),
        (
            a_job(kind="one-off", status="RUNNING", name=None, reason="x"),
            ("job_a", "once", "running", "-", "x"),
        ),
        (
            a_job(kind="event", last_outcome={"status": "SUCCEEDED", "finished_at": at(days=1), "reason": "ok"}),
            ("report", "on events", "succeeded yesterday 12:00", "-", "-"),
        ),
    ],
)
def test_the_cells_for_people(job: dict[str, Any], cells: tuple[str, ...]) -> None:
    of_now = Cells()
    of_now.now, of_now.for_people = NOW, True
    assert row_of(job, of_now)[:5] == cells


def test_the_zone_is_named_where_its_clocks_differ() -> None:
    berlin = a_job(cron="0 9 * * *", timezone="Europe/Berlin")
    assert schedule_in_words(berlin, NOW) == "09:00 every day, Europe/Berlin"
    assert schedule_in_words({**berlin, "timezone": "Africa/Abidjan"}, NOW) == "09:00 every day"
    assert schedule_in_words({**berlin, "timezone": "Nowhere/X"}, NOW) == "09:00 every day, Nowhere/X"


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        ("failed while connecting to 127.0.0.1 port 9: Connection refused", "connection refused: 127.0.0.1:9"),
        ("failed while connecting to a.example: connection refused", "connection refused: a.example"),
        ("answered 503: no healthy upstream", "answered 503: no healthy upstream"),
    ],
)
def test_a_reason_has_its_cause_first(reason: str, shown: str) -> None:
    assert in_short(reason) == shown

"""`onthedot overview`, `queues` and `top` on answers of the API."""

import pytest

from tests.unit.cli.conftest import Command, Script
from tests.unit.cli.overview_document import an_overview
from tests.unit.client.scripted import REFUSED, a_reply


@pytest.mark.parametrize("command", ["overview", "top"])
def test_a_pipe_gets_one_fact_on_a_line(command: str, script: Script, onthedot: Command) -> None:
    script(a_reply(an_overview()))
    result = onthedot(command)
    rows = [line.split("\t") for line in result.stdout.splitlines()]
    assert rows[0] == ["summary", "12,322 runs in the last hour, 23 failed."]
    assert ["last hour", "late by p50 4 ms, p99 88 ms, max 1.2 s"] in rows
    assert ["queues", "default high", "3 waiting, the oldest for 9 min, 2 in flight, 1 delayed"] in rows
    assert "\x1b" not in result.output
    assert result.exit_code == 0


def test_people_get_a_screen(script: Script, onthedot: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    script(a_reply(an_overview()))
    shown = onthedot("overview").stdout.splitlines()
    assert "Ticks      ok, the last one was 14 s ago" in shown
    assert max(map(len, shown)) <= 80


@pytest.mark.parametrize("command", ["overview", "top", "queues"])
def test_an_api_that_does_not_answer(command: str, script: Script, onthedot: Command) -> None:
    script(*[REFUSED] * 4)
    assert onthedot(command).exit_code == 5


def test_a_queue_that_cannot_be_read_hides_no_other(script: Script, onthedot: Command) -> None:
    script(a_reply({"queues": an_overview()["queues"]}))
    result = onthedot("queues")
    assert "default\tHIGH\t3\t540\t1\t2\t0" in result.stdout
    assert "batch\tall\t-\t-\t-\t-\t-" in result.stdout
    assert "batch: it was not asked in time" in result.stderr

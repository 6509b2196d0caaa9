"""`onthedot doctor` and `completion`."""

import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from click.testing import CliRunner, Result

from onthedot.cli.main import main
from onthedot.cli.operations import doctor as checkup
from tests.unit.api.kit import Api
from tests.unit.cli.conftest import Command, Script, failed_jobs
from tests.unit.client.scripted import REFUSED, a_refusal, a_reply
from tests.unit.worker.world import TOKEN, ApiServer

HEALTHY = {"status": "ok", "version": "1", "time": "", "last_tick": None, "tick_age_seconds": 5}

OPEN = {"time": "2026-03-01T12:00:00.000Z", "status": "ok", "hold_ups": [], "unknown": []}


@pytest.fixture(autouse=True)
def _a_busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no answer be slow, and no time in a scripted answer old, because tests run side by side."""
    monkeypatch.setattr(checkup, "SLOW_SECONDS", 60.0)
    monkeypatch.setattr(checkup, "CLOCK_SECONDS", 30.0)


def findings(result: Result) -> dict[str, str]:
    return {one["check"]: one["state"] for one in json.loads(result.stdout)["findings"]}


def test_a_healthy_stack(api: Api, onthedot: Command) -> None:
    result = onthedot("doctor")
    assert result.exit_code == 0
    assert [line[0] for line in result.stdout.splitlines()] == ["✓"] * 7
    assert json.loads(onthedot("doctor", "--json").stdout)["ok"] is True


@pytest.mark.parametrize(("seconds", "state"), [(0.5, "ok"), (61.0, "notice")])
def test_a_slow_answer_is_a_notice(seconds: float, state: str) -> None:
    assert checkup.answer_time(seconds).state == state


def test_dead_letters_are_a_notice(api: Api, onthedot: Command) -> None:
    failed_jobs(api, 1)
    result = onthedot("doctor")
    assert result.exit_code == 0
    assert "! 1 dead letter in the last hour" in result.stdout
    assert "onthedot dead-letters" in result.stderr


@pytest.mark.parametrize(
    ("age", "words"), [(600, "the last tick was 10 minutes ago"), (None, "the scheduler is late: no tick is known")]
)
def test_a_scheduler_that_is_late_is_wrong(age: int | None, words: str, script: Script, onthedot: Command) -> None:
    late = {**HEALTHY, "status": "late", "time": datetime.now(UTC).isoformat(), "tick_age_seconds": age}
    transport = script(
        a_reply(late, 503),
        a_reply(OPEN),
        a_reply({"queues": []}),
        a_reply({"dead_letters": [], "next_cursor": None}),
        a_reply({"workers": []}),
    )
    result = onthedot("doctor")
    assert result.exit_code == 1
    assert words in result.stdout
    assert len(transport.sent) == 5, "503 is the answer, so the call is not repeated"


def test_a_clock_that_differs_is_wrong(api: Api, onthedot: Command) -> None:
    api.world.clock.advance(60)
    result = onthedot("doctor")
    assert result.exit_code == 1
    assert re.search(r"✗ this machine's clock is [56]\d seconds behind the API's", result.stdout)


def test_an_api_that_cannot_be_reached_is_the_only_finding(script: Script, onthedot: Command) -> None:
    script(*[REFUSED] * 8)
    result = onthedot("doctor")
    assert result.exit_code == 1
    assert result.stdout.startswith("✗ ")
    assert len(result.stdout.splitlines()) == 1


def test_a_token_that_is_not_valid_is_found(api: Api, onthedot: Command) -> None:
    result = onthedot("doctor", "--token", "otd_wrong", "--json")
    assert result.exit_code == 1
    assert (findings(result)["api"], findings(result)["dead_letters"], findings(result)["workers"]) == (
        "ok",
        "wrong",
        "wrong",
    )


def test_lost_workers_and_one_failing_check(script: Script, onthedot: Command) -> None:
    lost = {"worker_id": "w-1", "pool": "p", "status": "LOST"}
    script(
        a_reply({**HEALTHY, "time": datetime.now(UTC).isoformat()}),
        a_reply(OPEN),
        a_reply({"queues": []}),
        a_refusal(500, "internal_error"),
        a_reply({"workers": [lost]}),
    )
    result = onthedot("doctor", "--json")
    assert findings(result) == {
        **dict.fromkeys(("api", "ticks", "clock", "stage", "queues"), "ok"),
        "dead_letters": "wrong",
        "workers": "notice",
    }


def a_queue(**values: Any) -> dict[str, Any]:
    return {"pool": "batch", "kind": "pull", "priority": "HIGH", "waiting": 0, "oldest_age_seconds": None, **values}


A_WORKER = {"worker_id": "w-1", "pool": "batch", "status": "ACTIVE"}


@pytest.mark.parametrize(
    ("queue", "workers", "words"),
    [
        (
            a_queue(waiting=3, oldest_age_seconds=540),
            [],
            "oldest message waits 9 minutes; 3 wait; 0 workers in pool batch",
        ),
        (a_queue(waiting=3, oldest_age_seconds=60), [], "0 workers in pool batch"),
        (a_queue(waiting=3, oldest_age_seconds=540), [A_WORKER], "queue batch-high: oldest message waits 9 minutes"),
        (a_queue(waiting=1, oldest_age_seconds=301, kind="push", priority=None), [], "queue batch: oldest message"),
    ],
)
def test_a_queue_that_waits_too_long_is_wrong(
    queue: dict[str, Any], workers: list[Any], words: str, script: Script, onthedot: Command
) -> None:
    answers = [a_reply({"workers": workers})] * 2
    pulled = answers if queue["kind"] == "pull" else answers[:1]
    healthy = {**HEALTHY, "time": datetime.now(UTC).isoformat()}
    script(
        a_reply(healthy),
        a_reply(OPEN),
        a_reply({"queues": [queue]}),
        *pulled[1:],
        a_reply({"dead_letters": [], "next_cursor": None}),
        answers[0],
    )
    result = onthedot("doctor")
    assert result.exit_code == 1
    assert words in result.stdout
    assert "Runbook: docs/operations.md#backlog" in result.stderr
    assert ("onthedot worker --pool batch" in result.stderr) is ("0 workers" in words)


@pytest.mark.parametrize(
    ("queue", "workers"),
    [
        (a_queue(waiting=3, oldest_age_seconds=29), []),
        (a_queue(waiting=3, oldest_age_seconds=299), ["batch"]),
        (a_queue(waiting=0), []),
        (a_queue(waiting=None), []),
    ],
)
def test_a_queue_that_waits_a_little_is_well(queue: dict[str, Any], workers: list[str]) -> None:
    assert checkup._queue(queue, set(workers)) is None


def test_a_queue_that_cannot_be_read_is_a_notice() -> None:
    found = checkup._queue(a_queue(error="throttled"), set())
    assert found is not None
    assert (found.state, found.message) == ("notice", "queue batch-high: throttled")


def test_a_machine_without_any_stack_is_told_how_to_start_one() -> None:
    result = CliRunner(env={"ONTHEDOT_URL": "", "ONTHEDOT_HOME": "/nowhere"}).invoke(main, ["doctor"])
    assert result.exit_code == 1
    assert result.stdout.startswith("✗ ")
    for command in ("onthedot serve", "onthedot up", "ONTHEDOT_URL"):
        assert command in result.stderr
    as_json = CliRunner(env={"ONTHEDOT_URL": "", "ONTHEDOT_HOME": "/nowhere"}).invoke(main, ["doctor", "--json"])
    assert findings(as_json) == {"stack": "wrong"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_of_each_shell(shell: str, onthedot: Command) -> None:
    script = onthedot("completion", shell).stdout
    assert "_ONTHEDOT_COMPLETE" in script
    assert onthedot("completion", "tcsh").exit_code == 2


def test_completion_knows_commands_and_options() -> None:
    def completed(words: str, place: int) -> str:
        env = {"_ONTHEDOT_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(place)}
        return CliRunner(env=env).invoke(main, prog_name="onthedot").output

    assert "plain,schedule" in completed("onthedot sche", 1)
    assert "plain,--payload" in completed("onthedot schedule --pay", 2)


@pytest.mark.parametrize(("value", "has_colours"), [("", True), ("1", False)])
def test_no_color(value: str, has_colours: bool, api: Api, server: ApiServer) -> None:
    environment = {"NO_COLOR": value, "ONTHEDOT_URL": server.url, "ONTHEDOT_TOKEN": TOKEN}
    result = CliRunner(env=environment).invoke(main, ["doctor"], color=True)
    assert ("\x1b" in result.output) is has_colours

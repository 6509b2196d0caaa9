"""`onthedot doctor`, and `completion`."""

import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from click.testing import CliRunner, Result

from onthedot.cli.main import main
from onthedot.cli.operations import doctor
from onthedot.client.transport import Reply
from tests.unit.api.kit import Api
from tests.unit.cli.conftest import Command, Script, failed_jobs, invoke
from tests.unit.client.scripted import REFUSED, a_refusal, a_reply
from tests.unit.worker.world import TOKEN, ApiServer

OPEN = {"time": "2026-03-01T12:00:00.000Z", "status": "ok", "hold_ups": [], "unknown": []}
NO_LETTERS = a_reply({"dead_letters": [], "next_cursor": None})
A_WORKER = {"worker_id": "w-1", "pool": "batch", "status": "ACTIVE"}


@pytest.fixture(autouse=True)
def _a_busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no answer be slow, and no time in a scripted answer old, because tests run side by side."""
    monkeypatch.setattr(doctor, "SLOW_SECONDS", 60.0)
    monkeypatch.setattr(doctor, "CLOCK_SECONDS", 30.0)


def answers(
    letters: Reply = NO_LETTERS, queues: Any = (), workers: Any = (), alive: Any = None, **health: Any
) -> list[Reply]:
    """The answers to all calls of the doctor. `alive` are the workers that are read for the queues."""
    known = {"status": "ok", "version": "1", "time": datetime.now(UTC).isoformat(), "tick_age_seconds": 5, **health}
    of_queues = [] if alive is None else [a_reply({"workers": alive})]
    return [
        a_reply(known, 503 if known["status"] == "late" else 200),
        a_reply(OPEN),
        a_reply({"queues": list(queues)}),
        *of_queues,
        letters,
        a_reply({"workers": list(workers)}),
    ]


def findings(result: Result) -> dict[str, str]:
    return {one["check"]: one["state"] for one in json.loads(result.stdout)["findings"]}


def test_a_healthy_stack(api: Api, onthedot: Command) -> None:
    result = onthedot("doctor")
    assert result.exit_code == 0
    assert [line[0] for line in result.stdout.splitlines()] == ["✓"] * 7
    assert json.loads(onthedot("doctor", "--json").stdout)["ok"] is True


def test_a_slow_answer_is_a_notice() -> None:
    assert [doctor.answer_time(seconds).state for seconds in (0.5, 61.0)] == ["ok", "notice"]


def test_dead_letters_are_a_notice(api: Api, onthedot: Command) -> None:
    failed_jobs(api, 1)
    result = onthedot("doctor")
    assert (result.exit_code, "! 1 dead letter in" in result.stdout) == (0, True)
    assert "onthedot dead-letters" in result.stderr


@pytest.mark.parametrize(("age", "words"), [(600, "10 minutes ago"), (None, "no tick")])
def test_a_scheduler_that_is_late_is_wrong(age: int | None, words: str, script: Script, onthedot: Command) -> None:
    transport = script(*answers(status="late", tick_age_seconds=age))
    result = onthedot("doctor")
    assert (result.exit_code, words in result.stdout) == (1, True)
    assert len(transport.sent) == 5, "503 is the answer, so the call is not repeated"


def test_a_clock_that_differs_is_wrong(api: Api, onthedot: Command) -> None:
    api.world.clock.advance(60)
    result = onthedot("doctor")
    assert result.exit_code == 1
    assert re.search(r"✗ .*clock is [56]\d seconds behind", result.stdout)


def test_an_api_that_cannot_be_reached_is_the_only_finding(script: Script, onthedot: Command) -> None:
    script(*[REFUSED] * 8)
    result = onthedot("doctor", "--json")
    assert (result.exit_code, findings(result)) == (1, {"api": "wrong"})


def test_a_token_that_is_not_valid_is_found(api: Api, onthedot: Command) -> None:
    found = findings(onthedot("doctor", "--token", "otd_wrong", "--json"))
    assert [found[name] for name in ("api", "dead_letters", "workers")] == ["ok", "wrong", "wrong"]


def test_lost_workers_and_one_failing_check(script: Script, onthedot: Command) -> None:
    script(*answers(a_refusal(500, "internal_error"), workers=[{**A_WORKER, "status": "LOST"}]))
    assert findings(onthedot("doctor", "--json")) == {
        **dict.fromkeys(("api", "ticks", "clock", "stage", "queues"), "ok"),
        "dead_letters": "wrong",
        "workers": "notice",
    }


def a_queue(**values: Any) -> dict[str, Any]:
    return {"pool": "batch", "kind": "pull", "priority": "HIGH", "waiting": 0, "oldest_age_seconds": None, **values}


@pytest.mark.parametrize(
    ("queue", "alive", "words"),
    [
        (a_queue(waiting=3, oldest_age_seconds=540), [], "9 minutes; 3 wait; 0 workers in pool batch"),
        (a_queue(waiting=3, oldest_age_seconds=60), [], "0 workers in pool batch"),
        (a_queue(waiting=3, oldest_age_seconds=540), [A_WORKER], "queue batch-high: "),
        (a_queue(waiting=1, oldest_age_seconds=301, kind="push", priority=None), None, "queue batch: "),
    ],
)
def test_a_queue_that_waits_too_long_is_wrong(
    queue: dict[str, Any], alive: Any, words: str, script: Script, onthedot: Command
) -> None:
    script(*answers(queues=[queue], alive=alive))
    result = onthedot("doctor")
    assert (result.exit_code, words in result.stdout) == (1, True), result.stdout
    assert "docs/operations.md#backlog" in result.stderr
    assert ("onthedot worker --pool batch" in result.stderr) is ("0 workers" in words)


def test_a_queue_that_waits_a_little_is_well_and_one_that_cannot_be_read_a_notice() -> None:
    for queue, alive in (
        (a_queue(waiting=3, oldest_age_seconds=29), set[str]()),
        (a_queue(waiting=3, oldest_age_seconds=299), {"batch"}),
        (a_queue(waiting=0), set[str]()),
        (a_queue(waiting=None), set[str]()),
    ):
        assert doctor._queue(queue, alive) is None
    unread = doctor._queue(a_queue(error="throttled"), set())
    assert unread is not None
    assert (unread.state, "throttled" in unread.message) == ("notice", True)


def test_a_machine_without_any_stack_is_told_how_to_start_one() -> None:
    result = invoke("doctor", ONTHEDOT_HOME="/nowhere")
    assert result.exit_code == 1
    for command in ("onthedot serve", "onthedot up", "ONTHEDOT_URL"):
        assert command in result.stderr
    assert findings(invoke("doctor", "--json", ONTHEDOT_HOME="/nowhere")) == {"stack": "wrong"}


def test_completion_knows_commands_and_options() -> None:
    for shell in ("bash", "zsh", "fish"):
        assert "_ONTHEDOT_COMPLETE" in invoke("completion", shell).stdout
    assert invoke("completion", "tcsh").exit_code == 2

    def completed(words: str, place: int) -> str:
        return invoke(_ONTHEDOT_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(place)).output

    assert "plain,schedule" in completed("onthedot sche", 1)
    assert "plain,--payload" in completed("onthedot schedule --pay", 2)


@pytest.mark.parametrize(("value", "has_colours"), [("", True), ("1", False)])
def test_no_color(value: str, has_colours: bool, api: Api, server: ApiServer) -> None:
    environment = {"NO_COLOR": value, "ONTHEDOT_URL": server.url, "ONTHEDOT_TOKEN": TOKEN}
    result = CliRunner(env=environment).invoke(main, ["doctor"], color=True)
    assert ("\x1b" in result.output) is has_colours

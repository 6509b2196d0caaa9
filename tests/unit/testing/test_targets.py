"""Handlers run in the test's process, and HTTP calls go nowhere."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from onthedot import InvalidRequest, webhooks
from onthedot.testing import HttpCall, HttpReply, Kit
from tests.unit.testing.handlers import outbox

URL = "https://x.example/hook"


def test_a_handler_runs_with_payload_and_context(onthedot: Kit) -> None:
    job = onthedot.client.schedule("kit-send-once", {"to": "a"}, delay=60, name="welcome")
    onthedot.clock.advance("1m")
    assert outbox == [{"to": "a"}]
    [call] = onthedot.handled
    assert (call.handler, call.payload, call.context.attempt) == ("kit-send-once", {"to": "a"}, 1)
    assert call.context.fire_time == call.at == datetime(2026, 3, 1, 12, 1, tzinfo=UTC)
    [run] = onthedot.runs(job)
    assert (run.result, run.worker) == ('"sent"', "test-worker")


def test_a_handler_reports_its_progress_and_knows_its_times(onthedot: Kit) -> None:
    job = onthedot.client.schedule("kit-reports", delay=60, timeout_seconds=30)
    onthedot.clock.advance("1m")
    [call] = onthedot.handled
    assert [(report.fraction, report.text) for report in call.progress] == [(0.5, "half"), (None, "almost")]
    [run] = onthedot.runs(job)
    assert run.result == '[false, 0.0, "2026-03-01T12:01:30+00:00"]'


def test_an_async_handler_is_awaited_also_inside_a_loop(onthedot: Kit) -> None:
    onthedot.client.schedule("kit-async", 1)
    onthedot.settle()

    async def inside() -> None:
        onthedot.client.schedule("kit-async", 2)
        onthedot.settle()

    asyncio.run(inside())
    assert outbox == [1, 2]
    onthedot.assert_succeeded("kit-async", times=2)


def test_errors_of_handlers_are_retried_or_not(onthedot: Kit) -> None:
    broken = onthedot.client.schedule("kit-broken", retry=2)
    hopeless = onthedot.client.schedule("kit-hopeless")
    exits = onthedot.client.schedule("kit-exits", retry=0)
    unknown = onthedot.client.schedule("kit-unknown")
    onthedot.settle()
    assert [len(onthedot.runs(job)[0].attempts) for job in (broken, hopeless, exits, unknown)] == [3, 1, 1, 1]
    onthedot.assert_failed(times=4)
    onthedot.assert_not_called("kit-unknown")


def test_a_handler_may_ask_to_be_tried_later(onthedot: Kit) -> None:
    onthedot.client.schedule("kit-later")
    onthedot.clock.advance("59m")
    assert len(onthedot.handled) == 1
    onthedot.clock.advance("1m")
    assert len(onthedot.handled) == 2


def test_an_interrupt_ends_the_test_and_not_the_attempt(onthedot: Kit) -> None:
    onthedot.client.schedule("kit-interrupted")
    with pytest.raises(KeyboardInterrupt):
        onthedot.settle()


def test_a_handler_may_schedule_a_job(onthedot: Kit) -> None:
    def follow_up(call: HttpCall) -> int:
        if call.json() < 3:
            onthedot.client.schedule(url=URL, payload=call.json() + 1, delay=60)
        return 200

    onthedot.reply_to(URL, follow_up)
    onthedot.client.schedule(url=URL, payload=1)
    onthedot.clock.advance("1h")
    assert [call.json() for call in onthedot.calls] == [1, 2, 3]


def test_a_call_is_captured_as_it_would_be_sent(onthedot: Kit) -> None:
    job = onthedot.client.schedule(url=URL, payload={"n": 1}, method="PUT", headers={"X-Mine": "a"})
    onthedot.settle()
    [call] = onthedot.calls
    assert (call.method, call.url, call.json(), call.attempt) == ("PUT", URL, {"n": 1}, 1)
    assert call.headers["X-Mine"] == "a"
    assert call.headers["Idempotency-Key"] == call.execution_id == job.id
    assert webhooks.verify(call.body, call.headers, onthedot.signing_key, now=call.at.timestamp()) == job.id


def test_replies_are_judged_like_real_ones(onthedot: Kit) -> None:
    replies: list[Any] = [
        503,
        HttpReply(429, headers={"Retry-After": "600"}),
        ConnectionError("refused"),
        TimeoutError(),
        HttpReply(200, {"fine": True}),
    ]
    onthedot.reply_next(*replies)
    job = onthedot.client.schedule(url=URL, retry=4)
    onthedot.settle()
    [run] = onthedot.runs(job)
    assert [one.error_class for one in run.attempts] == ["http_503", "http_429", "connection", "timeout", None]
    assert run.result == '{"fine": true}'
    second, third = onthedot.calls[1:3]
    assert (third.at - second.at).total_seconds() >= 600


def test_a_refusal_is_final(onthedot: Kit) -> None:
    onthedot.reply_to("https://x.example/", 404)
    onthedot.client.schedule(url=URL, name="refused")
    onthedot.client.schedule(url="https://y.example/", name="fine")
    onthedot.settle()
    onthedot.assert_called_once(URL)
    onthedot.assert_failed("refused", times=1)
    onthedot.assert_succeeded("fine", times=1)


def test_the_latest_rule_counts_and_single_replies_come_first(onthedot: Kit) -> None:
    onthedot.reply_to("https://", 500)
    onthedot.reply_to(URL, HttpReply(200, "mine"))
    onthedot.reply_next(HttpReply(200, b"first"))
    for _ in range(2):
        onthedot.client.schedule(url=URL)
    onthedot.settle()
    assert [run.result for run in onthedot.runs()] in (["first", "mine"], ["mine", "first"])


def test_targets_that_cannot_run_here_are_refused(onthedot: Kit) -> None:
    with pytest.raises(InvalidRequest, match="shell"):
        onthedot.client.schedule(target={"type": "shell", "argv": ["ls"]})


def test_tenants_do_not_see_each_other(onthedot: Kit) -> None:
    other = onthedot.client_for("other")
    other.schedule(url=URL)
    onthedot.settle()
    assert len(onthedot.calls) == 1
    assert onthedot.runs() == []

"""Each fault strikes one attempt, and the run ends as it would in production."""

import pytest

from onthedot.testing import Kit
from onthedot.testing.kit import kit
from onthedot.testing.scheduler import Fault
from tests.unit.testing import handlers
from tests.unit.testing.handlers import outbox


@pytest.fixture(autouse=True)
def _clean() -> None:
    handlers.outbox.clear()
    handlers.delivered.clear()


def outcomes(onthedot: Kit) -> list[list[str]]:
    return [[attempt.outcome for attempt in run.attempts] for run in onthedot.runs()]


def test_a_message_that_comes_twice_runs_once(onthedot: Kit) -> None:
    onthedot.client.schedule("kit-send", 1, delay=600)
    onthedot.deliver_twice()
    onthedot.clock.advance("10m")
    assert outbox == [1]
    onthedot.clock.advance("1d")
    assert outbox == [1]
    onthedot.assert_succeeded("kit-send", times=1)


def test_a_worker_that_dies_before_the_start_loses_nothing(onthedot: Kit) -> None:
    onthedot.client.schedule("kit-send", 1)
    onthedot.crash_before_start()
    onthedot.clock.advance(0)
    assert outbox == []
    onthedot.settle()
    assert outbox == [1]
    assert outcomes(onthedot) == [["succeeded"]]


def test_a_worker_that_dies_before_the_call_is_replaced(onthedot: Kit) -> None:
    onthedot.client.schedule("kit-send", 1)
    onthedot.crash_before_call()
    onthedot.settle()
    assert outbox == [1]
    assert outcomes(onthedot) == [["lost", "succeeded"]]


def test_a_worker_that_dies_before_the_finish_calls_twice_with_one_key(onthedot: Kit) -> None:
    onthedot.client.schedule("kit-send", 1)
    onthedot.crash_before_finish()
    onthedot.settle()
    assert outbox == [1, 1]
    assert outcomes(onthedot) == [["lost", "succeeded"]]
    first, second = onthedot.handled
    assert first.context.idempotency_key == second.context.idempotency_key
    assert (first.context.attempt, second.context.attempt) == (1, 2)


def test_attempts_fail_as_asked(onthedot: Kit) -> None:
    onthedot.client.schedule("kit-send", 1, retry=3)
    onthedot.fail_next(2, error="the mail server is away", retry_after="1h")
    onthedot.settle()
    assert outbox == [1]
    [run] = onthedot.runs()
    assert [one.error for one in run.attempts] == ["the mail server is away"] * 2 + [None]
    assert run.started_at is not None
    assert (run.started_at - onthedot.runs()[0].attempts[0].started_at).total_seconds() >= 7200  # type: ignore[operator]


def test_a_failure_for_good_and_one_after_the_call(onthedot: Kit) -> None:
    onthedot.client.schedule("kit-send", 1)
    onthedot.fail_next(retryable=False)
    onthedot.settle()
    onthedot.assert_failed("kit-send", times=1)
    assert outbox == []
    onthedot.client.schedule("kit-send-once", 2)
    onthedot.fail_next(after_call=True)
    onthedot.settle()
    assert outbox == [2]
    assert len(onthedot.handled) == 2


def test_faults_strike_one_attempt_each_in_order(onthedot: Kit) -> None:
    onthedot.client.schedule("kit-send", 1)
    onthedot.crash_before_call()
    onthedot.fail_next()
    onthedot.deliver_twice()
    onthedot.settle()
    assert outcomes(onthedot) == [["lost", "failed", "succeeded"]]


def test_a_fault_that_never_struck_is_reported() -> None:
    opened = kit()
    with pytest.raises(AssertionError, match=Fault.DELIVERED_TWICE.value), opened as k:
        k.deliver_twice()


def test_recurring_runs_survive_faults(onthedot: Kit) -> None:
    onthedot.client.schedule("kit-send-once", "x", every=3600, name="hourly")
    onthedot.crash_before_finish()
    onthedot.crash_before_start()
    onthedot.clock.advance("10h")
    onthedot.settle()
    assert len(outbox) == 10
    onthedot.assert_succeeded("hourly", times=10)

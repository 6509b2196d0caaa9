"""Each fault strikes one attempt, and the run ends as it would in production."""

from collections.abc import Callable

import pytest

from onthedot.testing import Kit
from onthedot.testing.kit import kit
from onthedot.testing.scheduler import Fault
from tests.unit.testing.handlers import outbox


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


@pytest.mark.parametrize(
    ("crash", "calls", "attempts"),
    [
        (Kit.crash_before_start, [1], ["succeeded"]),
        (Kit.crash_before_call, [2], ["lost", "succeeded"]),
        (Kit.crash_before_finish, [1, 2], ["lost", "succeeded"]),
    ],
)
def test_the_run_of_a_worker_that_died_is_done_by_another(
    onthedot: Kit, crash: Callable[[Kit], None], calls: list[int], attempts: list[str]
) -> None:
    onthedot.client.schedule("kit-send", 1)
    crash(onthedot)
    onthedot.clock.advance(0)
    assert len(outbox) == len(calls) - 1, "the run comes again later"
    onthedot.settle()
    assert outbox == [1] * len(calls)
    assert outcomes(onthedot) == [attempts]
    assert [call.context.attempt for call in onthedot.handled] == calls
    assert len({call.context.idempotency_key for call in onthedot.handled}) == 1


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

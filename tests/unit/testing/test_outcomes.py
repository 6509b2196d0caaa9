"""Assertions pass when they should, and their messages show what happened."""

import pytest

from onthedot.testing import Kit
from onthedot.testing.history import NotIdempotent
from onthedot.testing.scheduler import Fault
from tests.unit.testing.handlers import outbox


def test_runs_are_found_by_id_name_handler_or_job(onthedot: Kit) -> None:
    job = onthedot.client.schedule("kit-send", 1, name="welcome")
    onthedot.client.schedule("kit-async", 1)
    onthedot.settle()
    for named in (job, job.id, "welcome", "kit-send"):
        assert [run.job_id for run in onthedot.runs(named)] == [job.id]
    assert len(onthedot.runs()) == 2


def test_an_unknown_name_is_refused_with_the_known_ones(onthedot: Kit) -> None:
    onthedot.client.schedule("kit-send", 1, name="welcome")
    with pytest.raises(AssertionError, match=r"'wellcome'.*: kit-send, welcome"):
        onthedot.runs("wellcome")


def test_a_failed_assertion_has_the_story_and_the_cause(onthedot: Kit) -> None:
    onthedot.client.schedule("kit-broken", retry=1, name="job-x")
    onthedot.settle()
    with pytest.raises(AssertionError) as caught:
        onthedot.assert_succeeded("job-x")
    message = str(caught.value)
    assert all(fact in message for fact in ("job-x", "SUCCEEDED", "0 of 1"))
    assert "2026-03-01T12:00:00+00:00  FAILED" in message
    assert "attempt 1 failed: boom; attempt 2 failed: boom" in message
    assert isinstance(caught.value.__cause__, ValueError)


def test_no_execution_is_no_success(onthedot: Kit) -> None:
    onthedot.client.schedule("kit-send", 1, cron="0 9 * * *", name="daily")
    with pytest.raises(AssertionError, match=r"\(no executions\)"):
        onthedot.assert_succeeded("daily")
    onthedot.assert_succeeded("daily", times=0)


def test_the_number_counts(onthedot: Kit) -> None:
    onthedot.client.schedule("kit-send", 1, every=60, max_runs=3)
    onthedot.clock.advance("10m")
    onthedot.assert_succeeded(times=3)
    with pytest.raises(AssertionError, match=r"4 executions.*3 of 3"):
        onthedot.assert_succeeded(times=4)


def test_skipped_ranges_count_their_times(onthedot: Kit) -> None:
    job = onthedot.client.schedule("kit-send", 1, every=60, misfire={"policy": "skip", "grace_seconds": 0})
    onthedot.client.pause(job.id)
    onthedot.clock.advance("10m")
    onthedot.client.cancel(job.id)
    runs = onthedot.runs(job)
    assert sum(run.count for run in runs) >= 9
    onthedot.assert_skipped(job)


def test_calls_are_counted_by_handler_or_url(onthedot: Kit) -> None:
    onthedot.client.schedule("kit-send", {"n": 1})
    onthedot.client.schedule(url="https://x.example/")
    onthedot.settle()
    onthedot.assert_called_once("kit-send")
    onthedot.assert_called_once("https://x.example/")
    onthedot.assert_not_called("kit-async")
    with pytest.raises(AssertionError, match=r"kit-send was called 1 times.*2.*\n.*kit-send\({'n': 1}\)"):
        onthedot.assert_called("kit-send", 2)


def test_runs_that_never_end_are_reported(onthedot: Kit) -> None:
    onthedot.reply_to("https://", 503)
    onthedot.client.schedule(url="https://x.example/", retry={"max_retries": 100, "backoff_seconds": 86_400})
    with pytest.raises(AssertionError, match="have not ended within 1h"):
        onthedot.settle("1h")


def test_a_handler_that_uses_its_key_is_idempotent(onthedot: Kit) -> None:
    onthedot.check_idempotent("kit-send-once", {"to": "a"}, observe=lambda: outbox)
    onthedot.check_idempotent("kit-send-once", {"to": "a"}, observe=lambda: len(outbox))
    onthedot.check_idempotent("kit-send-once", 7, observe=lambda: set(outbox), reset=outbox.clear)


def test_one_that_does_not_is_found_out(onthedot: Kit) -> None:
    with pytest.raises(NotIdempotent) as caught:
        onthedot.check_idempotent("kit-send", 1, observe=lambda: outbox)
    message = str(caught.value)
    assert Fault.DIES_BEFORE_FINISH.value in message
    assert "one run with the fault:  [1, 1]" in message


def test_a_handler_that_fails_is_not_taken_for_idempotent(onthedot: Kit) -> None:
    with pytest.raises(AssertionError, match="to be SUCCEEDED"):
        onthedot.check_idempotent("kit-hopeless", observe=lambda: outbox)

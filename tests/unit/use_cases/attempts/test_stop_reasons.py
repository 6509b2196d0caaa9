"""The answer that is recorded for an attempt that was asked to stop."""

import pytest

from onthedot.core.finish import CANCELLED, NOT_EXTENDED, OVERRUN, STOPPED, answer_for_stopped
from onthedot.core.ports import Answer

FINE = Answer(ok=True, result="fine")


@pytest.mark.parametrize("reason", [STOPPED, NOT_EXTENDED])
def test_an_attempt_that_the_worker_breaks_off_does_not_count_as_a_failure(reason: str) -> None:
    broken_off = answer_for_stopped(reason, Answer(ok=False, error="stopped: …"))
    assert broken_off.handed_back
    assert broken_off.error == reason


def test_a_success_in_spite_of_being_asked_to_stop_is_a_success() -> None:
    assert answer_for_stopped(STOPPED, FINE) is FINE


def test_a_process_that_was_killed_on_purpose_is_no_loss() -> None:
    assert not answer_for_stopped(CANCELLED, Answer(ok=False, error="signal 9", lost=True)).lost


def test_an_overrun_is_a_time_out() -> None:
    assert answer_for_stopped(OVERRUN, None).error_class == "timeout"

"""The lost-reply protocol: which refusals are successes, and which record is stored after a write."""

from dataclasses import replace

import pytest

from onthedot.core.outcomes import Outcome, current_record, is_own, is_record_written, is_written, record_after_create
from onthedot.core.ports import Moved, Refused, Undecided
from onthedot.core.records import Record
from tests.builders import VirtualClock, a_run

THROTTLED = Undecided("throttled")


@pytest.fixture
def run() -> Record:
    return a_run(VirtualClock()).due_in(60).having(generation="mine", claim_token="mine").build()


@pytest.fixture
def other(run: Record) -> Record:
    return replace(run, generation="another", claim_token="another")


def has_my_claim(current: Record) -> bool:
    return current.claim_token == "mine"


def test_an_applied_write_is_written_whatever_the_store_returns(run: Record) -> None:
    assert is_written(Moved(run), has_my_claim)
    assert is_written(Moved(None), has_my_claim)


def test_a_refusal_by_the_own_token_is_a_success_whose_reply_was_lost(run: Record, other: Record) -> None:
    assert is_written(Refused(run), has_my_claim)
    assert not is_written(Refused(other), has_my_claim)


@pytest.mark.parametrize("outcome", [Refused(None), THROTTLED])
def test_a_write_is_not_written_when_the_record_is_gone_or_the_store_did_not_decide(outcome: Outcome) -> None:
    assert not is_written(outcome, lambda _: True)


def test_a_record_is_known_by_its_generation(run: Record, other: Record) -> None:
    assert is_own(replace(run, claim_token=None), run)
    assert not is_own(other, run)


def test_a_record_is_written_by_a_create_or_by_the_lost_try_of_it(run: Record, other: Record) -> None:
    assert is_record_written(run, Moved(None))
    assert is_record_written(run, Refused(run))
    assert not is_record_written(run, Refused(other))
    assert not is_record_written(run, THROTTLED)


def test_the_current_record_is_the_moved_one_or_the_one_that_refused(run: Record, other: Record) -> None:
    assert current_record(Moved(run)) == run
    assert current_record(Refused(other)) == other
    assert current_record(Refused(None)) is None


def test_after_a_create_the_new_record_or_an_earlier_one_is_stored(run: Record, other: Record) -> None:
    assert record_after_create(run, Moved(None)) == run
    assert record_after_create(run, Refused(other)) == other


@pytest.mark.parametrize("outcome", [Refused(None), THROTTLED])
def test_after_an_undecided_create_no_record_is_known(run: Record, outcome: Outcome) -> None:
    assert record_after_create(run, outcome) is None

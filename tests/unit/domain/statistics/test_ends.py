"""Which change of a record is counted as the end of a run: from the record before and the record after."""

from dataclasses import replace

import pytest

from onthedot.core import lifecycle
from onthedot.core.choices import Priority
from onthedot.core.moves import TRANSITIONS, applied
from onthedot.core.records import Kind, Record, Status
from onthedot.statistics.counters import ENDED, EndedRun, end_of
from tests.builders import DEPLOYMENT, VirtualClock, a_run, the_start_of

CLOCK = VirtualClock()
NOW = CLOCK.now()
MINUTE = NOW // 60_000


def running(**fields: object) -> Record:
    run = a_run(CLOCK).dispatched().build()
    return replace(applied(run, the_start_of(run, NOW + 250)), **fields)  # type: ignore[arg-type]


def ended(old: Record, status: Status, **fields: object) -> Record:
    return replace(old, status=status, revision=old.revision + 1, finished_at=NOW + 1_000, **fields)  # type: ignore[arg-type]


def test_a_run_that_succeeds_is_counted_in_the_minute_of_its_end_with_its_lateness() -> None:
    old = running()
    assert end_of(old, ended(old, Status.SUCCEEDED), NOW + 90_000) == EndedRun(
        "acme", MINUTE, Priority.MEDIUM, "succeeded", lateness_ms=250
    )


@pytest.mark.parametrize(("before", "after"), [(b, a) for b in TRANSITIONS for a in sorted(TRANSITIONS[b])])
def test_a_run_is_counted_when_its_status_becomes_that_of_an_end_and_not_before_or_after(
    before: Status, after: Status
) -> None:
    old = running(status=before)
    found = end_of(old, ended(old, after), NOW)
    assert (found is not None) is (after in ENDED and before not in ENDED)


@pytest.mark.parametrize("kind", [Kind.RECURRING, Kind.EVENT])
def test_the_end_of_a_job_that_has_runs_is_not_the_end_of_a_run(kind: Kind) -> None:
    old = running(status=Status.WAITING, kind=kind)
    assert end_of(old, ended(old, Status.FAILED), NOW) is None


def test_a_run_that_is_redriven_is_counted_at_each_end_with_its_own_retries() -> None:
    old = running(failures=3)
    failed = ended(old, Status.FAILED)
    first = end_of(old, failed, NOW)
    assert first is not None
    assert (first.outcome, first.retries) == ("failed", 2)
    again = applied(failed, lifecycle.redrive(failed, NOW, NOW, generation="g", deployment=DEPLOYMENT))
    assert end_of(failed, again, NOW) is None
    started = applied(again, the_start_of(again, NOW))
    second = end_of(started, ended(started, Status.SUCCEEDED), NOW)
    assert second is not None
    assert (second.outcome, second.retries) == ("succeeded", 0)


def test_retries_are_the_attempts_that_failed_or_were_lost_and_were_tried_again() -> None:
    old = running(failures=2, losses=1)
    succeeded, failed = (end_of(old, ended(old, status), NOW) for status in (Status.SUCCEEDED, Status.FAILED))
    assert succeeded is not None
    assert failed is not None
    assert (succeeded.retries, succeeded.lost) == (3, 1)
    assert (failed.retries, failed.lost) == (2, 1)


def test_a_run_that_did_not_end_with_an_attempt_has_no_lateness() -> None:
    old = running(status=Status.PENDING, failures=1)
    found = end_of(old, ended(old, Status.CANCELLED), NOW)
    assert found is not None
    assert (found.lateness_ms, found.retries) == (None, 1)


def test_a_run_that_is_stored_as_skipped_is_counted() -> None:
    new = replace(running(), status=Status.SKIPPED, kind=Kind.STAMPED, finished_at=NOW, revision=1)
    found = end_of(None, new, NOW)
    assert found is not None
    assert (found.outcome, found.number) == ("skipped", 1)


def test_a_skipped_range_counts_each_of_its_times_and_later_those_that_are_new() -> None:
    new = replace(
        running(), status=Status.SKIPPED, kind=Kind.SKIPPED_RANGE, skipped_count=5, finished_at=NOW, revision=1
    )
    grown = replace(new, skipped_count=8, revision=2)
    cut = replace(grown, skipped_count=2, revision=3)
    found = [end_of(None, new, NOW), end_of(new, grown, NOW + 120_000), end_of(grown, cut, NOW)]
    assert [None if one is None else (one.number, one.minute) for one in found] == [(5, MINUTE), (3, MINUTE + 2), None]


def test_a_record_that_was_imported_or_removed_is_not_counted() -> None:
    old = running()
    imported = ended(old, Status.SUCCEEDED, kind=Kind.ONE_OFF)
    assert imported.revision > 1
    assert end_of(None, imported, NOW) is None
    assert end_of(imported, None, NOW) is None

"""Reports about progress are stored by the heartbeat that extends the lease, and only by the attempt that runs."""

import pytest

from onthedot.core import lifecycle
from onthedot.core.lifecycle import Failure
from onthedot.core.ports import Clock, Moved, Refused, RunStore
from onthedot.core.progress import MAX_TEXT, ProgressReport
from onthedot.core.records import Record
from tests.builders import DEPLOYMENT, a_run, the_start_of

HALF = ProgressReport(0.5, "½ of it 🎉")


def moved(outcome: object) -> Record:
    assert isinstance(outcome, Moved)
    assert outcome.run is not None
    return outcome.run


def started(store: RunStore, clock: Clock) -> Record:
    return moved(store.move(the_start_of(a_run(clock).dispatched().stored_in(store), clock.now())))


@pytest.mark.parametrize("report", [HALF, ProgressReport(0.0), ProgressReport(None, "x" * MAX_TEXT)])
def test_a_heartbeat_stores_the_report_and_a_later_one_without_keeps_it(
    store: RunStore, clock: Clock, report: ProgressReport
) -> None:
    run = started(store, clock)
    now = clock.now() + 10_000
    kept = moved(store.move(lifecycle.extend_lease(run, now, report)))
    assert kept.progress == ProgressReport(report.fraction, report.text, now)
    assert moved(store.move(lifecycle.extend_lease(run, now + 10_000))).progress == kept.progress
    stored = store.get(run.run_id)
    assert stored is not None
    assert (stored.progress, stored.lease_until) == (kept.progress, now + 10_000 + lifecycle.LEASE_MS)


def test_a_failed_attempt_keeps_its_report_until_the_next_one_starts(store: RunStore, clock: Clock) -> None:
    run = started(store, clock)
    now = clock.now()
    run = moved(store.move(lifecycle.extend_lease(run, now, HALF)))
    retry = lifecycle.retry(run, now, at=now, failure=Failure("no"), generation="g2", deployment=DEPLOYMENT)
    waiting = moved(store.move(retry))
    assert waiting.progress == run.progress
    assert moved(store.move(the_start_of(waiting, now))).progress is None


def test_a_success_forgets_the_report(store: RunStore, clock: Clock) -> None:
    run = moved(store.move(lifecycle.extend_lease(started(store, clock), clock.now(), HALF)))
    assert moved(store.move(lifecycle.succeed(run, clock.now(), None, DEPLOYMENT))).progress is None


def test_an_attempt_that_is_over_reports_nothing(store: RunStore, clock: Clock) -> None:
    run = started(store, clock)
    ended = moved(store.move(lifecycle.fail(run, clock.now(), failure=Failure("no"), why="no", deployment=DEPLOYMENT)))
    assert store.move(lifecycle.extend_lease(run, clock.now(), HALF)) == Refused(ended)

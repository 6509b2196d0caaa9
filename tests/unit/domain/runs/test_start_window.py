"""The time for the first start: from when it counts, and which moves change it."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from onthedot.core import lifecycle
from onthedot.core.choices import OnParentFailure
from onthedot.core.lifecycle import Failure
from onthedot.core.moves import IllegalMove, Move, applied
from onthedot.core.records import Kind, Record, Status
from onthedot.core.stamping import new_run
from onthedot.core.start_window import has_expired, is_over, last_start, why_expired
from onthedot.jobs import changes
from onthedot.jobs.changes import JobChange, counted_from_now
from onthedot.workflows.dependencies import schedule, waiting
from tests.builders import DEPLOYMENT, NOON, VirtualClock, a_run

MINUTE = 60_000


def limited(status: Status = Status.DISPATCHED, **fields: object) -> Record:
    """A run that is due at noon and has a minute to start."""
    run = a_run(VirtualClock()).dispatched().having(start_within_seconds=60, start_by=NOON + MINUTE).build()
    return replace(run, status=status, version=1, **fields)  # type: ignore[arg-type]


def after(run: Record, move: Move) -> Record:
    return applied(run, move)


def test_the_run_still_starts_at_the_last_instant() -> None:
    assert last_start(NOON, 60) == NOON + MINUTE
    assert last_start(NOON, None) is None
    assert not is_over(None, NOON)
    assert [is_over(NOON, now) for now in (NOON - 1, NOON, NOON + 1)] == [False, False, True]


def test_a_run_that_has_started_once_does_not_expire() -> None:
    assert has_expired(limited(), NOON + MINUTE + 1)
    assert not has_expired(limited(attempt=1), NOON + MINUTE + 1)


def test_the_reason_names_the_limit() -> None:
    assert why_expired(limited()) == "not started within 60 s of its fire time (start_within_seconds)"


@pytest.mark.parametrize("status", [Status.PENDING, Status.DISPATCHED])
def test_an_expired_run_ends_in_no_slot_and_keeps_its_children_in_mind(status: Status) -> None:
    run = limited(status)
    ended = after(run, lifecycle.skip_expired(run, NOON + 2 * MINUTE, DEPLOYMENT))
    assert (ended.status, ended.slot, ended.finished_at) == (Status.SKIPPED, None, NOON + 2 * MINUTE)
    assert ended.expires_at is not None
    parent = limited(status, children=frozenset({"child"}), dependents=1)
    move = lifecycle.skip_expired(parent, NOON + 2 * MINUTE, DEPLOYMENT)
    assert after(parent, move).notify_pending == 1
    assert not move.expect.is_met_by(replace(parent, dependents=2))
    assert not move.expect.is_met_by(replace(parent, generation="other"))


@pytest.mark.parametrize("status", [Status.RUNNING, Status.FAILED, Status.PAUSED])
def test_a_run_that_does_not_wait_for_its_start_cannot_be_ended_so(status: Status) -> None:
    with pytest.raises(IllegalMove):
        lifecycle.skip_expired(limited(status), NOON, DEPLOYMENT)


ENDS: dict[str, Callable[[Record], Move]] = {
    "retry": lambda run: lifecycle.retry(
        run, NOON, at=NOON, failure=Failure("e"), generation="g", deployment=DEPLOYMENT
    ),
    "hand back": lambda run: lifecycle.hand_back(run, NOON, Failure("e"), generation="g", deployment=DEPLOYMENT),
    "take back": lambda run: lifecycle.take_back(run, NOON, generation="g", deployment=DEPLOYMENT),
    "lose": lambda run: lifecycle.lose(run, NOON, generation="g", deployment=DEPLOYMENT),
    "lose for good": lambda run: lifecycle.lose(
        replace(run, losses=lifecycle.MAX_LOSSES), NOON, generation="g", deployment=DEPLOYMENT
    ),
    "lose, cancelled": lambda run: lifecycle.lose(
        replace(run, cancel_requested=NOON), NOON, generation="g", deployment=DEPLOYMENT
    ),
    "succeed": lambda run: lifecycle.succeed(run, NOON, None, DEPLOYMENT),
    "fail": lambda run: lifecycle.fail(run, NOON, failure=Failure("e"), why="w", deployment=DEPLOYMENT),
    "stop": lambda run: lifecycle.stop(run, NOON, Failure("e"), DEPLOYMENT),
}


@pytest.mark.parametrize("how", ENDS)
def test_a_run_whose_attempt_has_ended_may_start_at_any_time(how: str) -> None:
    run = limited(Status.RUNNING, attempt=1, attempt_token="t", worker="w", started_at=NOON)
    assert after(run, ENDS[how](run)).start_by is None


def test_a_redriven_run_may_start_at_any_time() -> None:
    run = limited(Status.FAILED, finished_at=NOON)
    again = after(run, lifecycle.redrive(run, NOON, NOON, generation="g", deployment=DEPLOYMENT))
    assert (again.start_by, again.start_within_seconds) == (None, 60)


def test_a_resumed_or_assigned_run_counts_from_now_if_that_is_later() -> None:
    paused = limited(Status.PAUSED)
    early, late = NOON - MINUTE, NOON + 10 * MINUTE
    for now, start_by in ((early, NOON + MINUTE), (late, late + MINUTE)):
        move = changes.resume(paused, now, DEPLOYMENT)
        assert move is not None
        assert after(paused, move).start_by == start_by
    assert after(limited(), changes.assign(limited(), "pull", late, DEPLOYMENT)).start_by == late + MINUTE
    retried = limited(Status.PAUSED, start_by=None, attempt=1)
    assert counted_from_now(retried, late) == {}


def changed(run: Record, change: JobChange, now: int = NOON) -> Record:
    return after(run, changes.change(run, change, now, DEPLOYMENT))


def test_a_new_time_or_a_new_limit_counts_at_once_and_makes_earlier_messages_void() -> None:
    run, later = limited(), NOON + 3_600_000
    moved = changed(run, JobChange(at=later))
    assert (moved.start_within_seconds, moved.start_by) == (60, later + MINUTE)
    longer = changed(run, JobChange(record={"start_within_seconds": 90}))
    assert (longer.start_within_seconds, longer.start_by) == (90, NOON + 90_000)
    both = changed(run, JobChange(at=later, record={"start_within_seconds": 90}))
    assert both.start_by == later + 90_000
    freed = changed(run, JobChange(record={"start_within_seconds": None}))
    assert (freed.start_within_seconds, freed.start_by) == (None, None)
    assert run.generation not in {one.generation for one in (moved, longer, both, freed)}
    renamed = changed(run, JobChange(definition=run.definition))
    assert (renamed.start_by, renamed.generation) == (NOON + MINUTE, run.generation)


def test_a_new_limit_counts_from_where_the_old_one_did() -> None:
    resumed = limited(start_by=NOON + 10 * MINUTE)
    assert changed(resumed, JobChange(record={"start_within_seconds": 120})).start_by == NOON + 11 * MINUTE
    unlimited = limited(start_by=None, start_within_seconds=None, due_at=NOON + 5 * MINUTE)
    assert changed(unlimited, JobChange(record={"start_within_seconds": 120})).start_by == NOON + 2 * MINUTE


def test_a_change_limits_no_run_that_has_started_once_or_is_redriven_or_waits_for_parents() -> None:
    for run in (
        limited(start_by=None, attempt=1),
        limited(start_by=None, reason=lifecycle.REDRIVEN_WHY),
        limited(Status.WAITING, start_by=None),
    ):
        new = changed(run, JobChange(record={"start_within_seconds": 5}))
        assert (new.start_within_seconds, new.start_by) == (5, None)
    assert changed(limited(start_by=None, attempt=1), JobChange(at=NOON + MINUTE)).start_by is None


@pytest.mark.parametrize("kind", [Kind.RECURRING, Kind.EVENT])
def test_a_changed_limit_of_a_job_with_runs_is_for_its_next_runs(kind: Kind) -> None:
    job = limited(Status.ACTIVE, kind=kind, start_by=None)
    new = changed(job, JobChange(record={"start_within_seconds": 5}))
    assert (new.start_within_seconds, new.start_by) == (5, None)
    assert changed(new, JobChange(record={"start_within_seconds": None})).start_within_seconds is None


def test_a_child_counts_from_the_end_of_its_parents_or_from_its_own_later_time() -> None:
    child = waiting(limited(), ["parent"], OnParentFailure.FAIL, NOON, DEPLOYMENT)
    assert (child.start_within_seconds, child.start_by) == (60, None)
    for now, start_by in ((NOON - MINUTE, NOON + MINUTE), (NOON + 10 * MINUTE, NOON + 11 * MINUTE)):
        assert after(child, schedule(child, now, generation="g", deployment=DEPLOYMENT)).start_by == start_by


def test_a_stamped_run_takes_the_limit_of_its_job_and_counts_from_its_fire_time() -> None:
    job = limited(Status.ACTIVE, kind=Kind.RECURRING)
    run = new_run(job, "run", NOON - MINUTE, NOON + 5, now=NOON, deployment=DEPLOYMENT)
    assert (run.start_within_seconds, run.start_by) == (60, NOON + 5 + MINUTE)


def test_a_revived_run_takes_the_present_limit_of_its_job() -> None:
    run = limited(Status.SKIPPED, reason=lifecycle.PAUSED_WHY)
    for seconds in (None, 90):
        stamp = replace(run, start_within_seconds=seconds, start_by=last_start(NOON, seconds))
        again = after(run, lifecycle.revive(run, stamp, NOON, generation="g", deployment=DEPLOYMENT))
        assert (again.start_within_seconds, again.start_by) == (seconds, stamp.start_by)

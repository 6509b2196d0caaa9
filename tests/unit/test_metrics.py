"""The counts of moves, on every path that a run can take."""

from collections import Counter

import pytest

from onthedot.core import lifecycle
from onthedot.core.choices import Priority
from onthedot.core.find_pool import _STOPPED, GONE_WHY
from onthedot.core.gate_names import GateId, queue_gate, waiting_slot
from onthedot.core.lifecycle import Failure
from onthedot.core.moves import Expect, Move, applied
from onthedot.core.records import Record, Status
from onthedot.core.stamp import given_up_range
from onthedot.core.stamping import skipped_range
from onthedot.metrics import counts_of, counts_of_new, is_start, outcome_of, skip_metric
from onthedot.workflows import end
from tests.builders import DEPLOYMENT, NOON, VirtualClock, a_run, the_start_of

FAILURE = Failure("HTTP 500", "http_500")


def running(**fields: object) -> Record:
    run = a_run(VirtualClock()).dispatched().build()
    return applied(run, the_start_of(run, NOON)) if not fields else _with(run, **fields)


def _with(run: Record, **fields: object) -> Record:
    return a_run(VirtualClock()).having(**fields).standing(Status.RUNNING, run.slot or "").build()


def test_a_start_is_a_start_and_an_extended_lease_is_none() -> None:
    run = a_run(VirtualClock()).dispatched().build()
    assert is_start(the_start_of(run, NOON))
    assert not is_start(lifecycle.extend_lease(running(), NOON))
    assert not is_start(lifecycle.repark(running(), NOON, DEPLOYMENT))


@pytest.mark.parametrize(
    ("move", "outcome", "counts"),
    [
        (lifecycle.succeed(running(), NOON, None, DEPLOYMENT), 1, {}),
        (
            lifecycle.retry(running(), NOON, at=NOON + 1, failure=FAILURE, generation="g", deployment=DEPLOYMENT),
            0,
            {"failed": 1, "retried": 1},
        ),
        (
            lifecycle.fail(running(), NOON, failure=FAILURE, why="no retry", deployment=DEPLOYMENT),
            0,
            {"failed": 1, "dead": 1},
        ),
        (
            lifecycle.lose(running(), NOON, generation="g", deployment=DEPLOYMENT),
            0,
            {"lost": 1, "workers_lost": 1, "retried": 1},
        ),
        (
            lifecycle.lose(running(losses=4, attempt=1), NOON, generation="g", deployment=DEPLOYMENT),
            0,
            {"lost": 1, "workers_lost": 1, "dead": 1},
        ),
        (lifecycle.stop(running(), NOON, FAILURE, DEPLOYMENT), None, {}),
        (lifecycle.hand_back(running(), NOON, FAILURE, generation="g", deployment=DEPLOYMENT), None, {}),
        (lifecycle.take_back(running(), NOON, generation="g", deployment=DEPLOYMENT), None, {}),
        (lifecycle.extend_lease(running(), NOON), None, {}),
    ],
    ids=["succeed", "retry", "fail", "lose", "lose for good", "stop", "hand back", "take back", "extend"],
)
def test_an_end_of_an_attempt(move: Move, outcome: int | None, counts: dict[str, int]) -> None:
    assert outcome_of(move) == outcome
    assert counts_of(move) == Counter(counts)


def test_a_run_that_no_worker_could_get_is_dead() -> None:
    run = a_run(VirtualClock()).dispatched().build()
    assert counts_of(lifecycle.undeliverable(run, NOON, DEPLOYMENT)) == {"dead": 1}


@pytest.mark.parametrize(
    ("reason", "name"),
    [
        (GONE_WHY, "skipped_unscheduled"),
        *((why, "skipped_unscheduled") for why in _STOPPED.values()),
        *((why, "skipped_parent") for why in end.WHY.values()),
        ("overlap: run x has not ended (policy skip)", "skipped_overlap"),
        ("misfire: missed by more than 60 s (policy skip)", "skipped_missed"),
        ("dst: clocks jumped over this time (policy skip)", "skipped_dst"),
        ("its parent a ended FAILED", "skipped_parent"),
        ("its parent a (job_a) failed: HTTP 503", "skipped_parent"),
        ("payload is too large", "skipped_other"),
        (None, "skipped_other"),
    ],
)
def test_a_skipped_run_is_counted_by_its_reason(reason: str | None, name: str) -> None:
    assert skip_metric(reason) == name
    move = lifecycle.skip("r", "g", NOON, reason or "", DEPLOYMENT)
    assert counts_of(move) == {name: 1}


def test_a_run_that_was_not_started_in_time_is_skipped_late() -> None:
    run = a_run(VirtualClock()).having(start_by=NOON, start_within_seconds=5).dispatched().build()
    assert counts_of(lifecycle.skip_expired(run, NOON + 1, DEPLOYMENT)) == {"skipped_late": 1}


def test_a_skipped_range_counts_each_of_its_times() -> None:
    job = a_run(VirtualClock()).build()
    why = "misfire: missed by more than 60 s (policy skip)"
    assert counts_of_new(skipped_range(job, [NOON, NOON + 60_000], why, NOON, DEPLOYMENT, 7)) == {"skipped_missed": 7}
    assert counts_of_new(job) == {}


def test_a_range_that_becomes_smaller_is_not_skipped_again() -> None:
    job = a_run(VirtualClock()).build()
    record = skipped_range(job, [NOON, NOON + 60_000], "misfire: x", NOON, DEPLOYMENT, 7)
    assert counts_of(lifecycle.resize_range(record, NOON, 1)) == {}


@pytest.mark.parametrize(
    ("gate", "name"),
    [(GateId("acme", "stripe"), "waits_at_gate"), (queue_gate("default-high"), "waits_for_queue")],
)
def test_a_run_that_goes_on_a_list_waits(gate: GateId, name: str) -> None:
    slot = waiting_slot(gate, Priority.HIGH, 0)
    move = Move("r", Expect(frozenset({Status.DISPATCHED})), Status.PENDING, {"slot": slot})
    assert counts_of(move) == {name: 1}


def test_given_up_times_are_unscheduled() -> None:
    job = a_run(VirtualClock()).having(given_up=f"{NOON - 60_000} {NOON} 2").build()
    assert counts_of_new(given_up_range(job, NOON, DEPLOYMENT)) == {"skipped_unscheduled": 2}


def test_a_job_that_its_failed_workflow_could_not_make_is_a_dead_letter() -> None:
    job = a_run(VirtualClock()).build()
    assert counts_of_new(end.never_made(job, Status.FAILED, "x", NOON, DEPLOYMENT)) == {"dead": 1}
    assert counts_of_new(end.never_made(job, Status.CANCELLED, "x", NOON, DEPLOYMENT)) == {}

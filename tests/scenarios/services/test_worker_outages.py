"""Blobs and signing keys away for an hour: a run that needs them is handed back and tried again, and never ends."""

import pytest

from onthedot.core.choices import Priority, RetryPolicy
from onthedot.core.errors import Unreachable
from onthedot.core.ports import Answer
from onthedot.core.records import Definition, Record, Status
from onthedot.core.schema import DEFAULT_POOL
from onthedot.jobs.submit import JobRequest, submit_job
from onthedot.targets.types import HttpTarget
from tests.scenarios.kits.outages import HOUR, StormySimulation

MINUTE = 60.0


def submitted(storm: StormySimulation, payload: str) -> Record:
    """A run that may not be tried again after a failure."""
    definition = Definition(HttpTarget("http://x/"), payload=payload, retry=RetryPolicy(max_retries=0))
    request = JobRequest(definition, "f", Priority.MEDIUM, DEFAULT_POOL, delay_ms=5_000)
    return submit_job(storm.calm.engine, "acme", request)


@pytest.mark.parametrize("call", ["blobs.get", "signing.keys"])
def test_a_run_whose_call_cannot_be_made_waits_and_does_not_fail(storm: StormySimulation, call: str) -> None:
    run = submitted(storm, "x" * 5_000)
    storm.outages.fail(call)

    storm.let_pass(HOUR - MINUTE)
    waiting = storm.stored(run)
    assert waiting.status in (Status.DISPATCHED, Status.PENDING)
    assert (waiting.failures, waiting.losses, storm.target.calls) == (0, 0, [])
    assert "an outage" in (waiting.reason or "")
    assert storm.outages.failed[call] < 200

    storm.let_pass(3 * MINUTE)
    assert storm.status(run) is Status.SUCCEEDED


def test_a_result_that_cannot_be_stored_is_cut_and_its_work_is_not_repeated(storm: StormySimulation) -> None:
    run = submitted(storm, "x")
    storm.target.answers.append(Answer(ok=True, result="y" * 5_000))
    storm.outages.fail("blobs.put", error=Unreachable)

    storm.let_pass(MINUTE)

    ended = storm.stored(run)
    assert (ended.status, len(storm.target.calls)) == (Status.SUCCEEDED, 1)
    assert "(cut: " in (ended.result or "")


def test_a_payload_that_is_gone_is_a_failure_of_the_run(storm: StormySimulation) -> None:
    run = submitted(storm, "x" * 5_000)
    with storm.calm.database.transaction() as connection:
        connection.execute("DELETE FROM blobs")

    storm.let_pass(MINUTE)

    ended = storm.stored(run)
    assert (ended.status, ended.attempts[-1].error_class) == (Status.FAILED, "unavailable")


def test_an_outage_of_the_table_during_an_attempt_repeats_no_work_that_is_done(storm: StormySimulation) -> None:
    """The finish is tried again for as long as the lease lasts."""
    run = submitted(storm, "x")
    storm.clock.advance(5)
    storm.outages.fail("store.move", seconds=20, concerns=lambda move: move.to is Status.SUCCEEDED)

    storm.let_pass(5 * MINUTE)

    assert (storm.status(run), len(storm.target.calls)) == (Status.SUCCEEDED, 1)


def test_an_attempt_whose_end_cannot_be_stored_for_an_hour_is_lost_and_tried_again(storm: StormySimulation) -> None:
    run = submitted(storm, "x")
    storm.clock.advance(5)
    storm.outages.fail("store.move", concerns=lambda move: move.to is not Status.RUNNING or storm.target.calls)
    storm.outages.fail("store.move_many")

    storm.let_pass(HOUR + 15 * MINUTE)

    ended = storm.stored(run)
    assert (ended.status, ended.losses, len(storm.target.calls)) == (Status.SUCCEEDED, 1, 2)

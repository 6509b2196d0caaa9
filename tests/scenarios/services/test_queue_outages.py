"""Run queues, and the age of their messages, away for an hour: only the runs of these queues wait."""

import pytest

from onthedot.core.choices import Priority
from onthedot.core.errors import Unavailable, Unreachable
from onthedot.core.ports import Deadline, RunMessage
from onthedot.core.records import Record, Status
from onthedot.jobs.explain_job import explain_job
from tests.builders import a_run
from tests.scenarios.kits.outages import HOUR, StormySimulation

MINUTE = 60.0


def due_runs(storm: StormySimulation, count: int, due_in: float, priority: Priority = Priority.MEDIUM) -> list[Record]:
    runs = (a_run(storm.clock).due_in(due_in).of_priority(priority).pending() for _ in range(count))
    return [run.stored_in(storm.calm.store) for run in runs]


def statuses(storm: StormySimulation, runs: list[Record]) -> set[Status]:
    return {storm.status(run) for run in runs}


def a_message_waits(storm: StormySimulation) -> None:
    """Make a message visible that no worker takes."""
    run = a_run(storm.clock).dispatched().build()
    message = RunMessage(run.run_id, run.generation, run.due_at, run.tenant, run.priority, run.pool)
    storm.calm.queues.send([message], Deadline.after(storm.clock.now(), 1000))


def test_claims_do_not_ask_for_the_age_of_a_queue(storm: StormySimulation) -> None:
    storm.outages.fail("queues.oldest_age_ms")
    a_message_waits(storm)
    runs = due_runs(storm, 40, due_in=100)

    storm.plan_ticks()
    storm.dispatch()

    assert statuses(storm, runs) == {Status.DISPATCHED}
    assert storm.outages.failed == {}
    assert storm.crashes == 0


def test_a_run_whose_queue_has_an_unknown_age_is_not_resent_yet(storm: StormySimulation) -> None:
    a_message_waits(storm)
    run = a_run(storm.clock).dispatched().stored_in(storm.calm.store)
    storm.clock.advance(5 * MINUTE)
    storm.calm.queues.oldest_age_ms = lambda *_: None  # type: ignore[method-assign]

    storm.plan_ticks()
    storm.dispatch()

    assert storm.counts["resent"] == 0
    assert storm.counts["left"] == 1
    assert storm.status(run) is Status.DISPATCHED


@pytest.mark.parametrize("error", [Unavailable, Unreachable])
def test_a_queue_that_cannot_be_asked_holds_up_no_other(storm: StormySimulation, error: type[Unavailable]) -> None:
    storm.outages.fail("queues.visible", error=error, concerns=lambda pool, priority: priority is Priority.HIGH)
    others = due_runs(storm, 20, due_in=100)
    theirs = due_runs(storm, 20, due_in=100, priority=Priority.HIGH)

    storm.plan_ticks()
    storm.dispatch()

    assert statuses(storm, others) == {Status.DISPATCHED}
    # A queue that does not answer may still take messages. A queue that is gone takes none.
    assert statuses(storm, theirs) == {Status.PENDING if error is Unreachable else Status.DISPATCHED}
    assert storm.crashes == 0


def test_runs_of_a_queue_that_is_gone_start_when_it_is_back(storm: StormySimulation) -> None:
    storm.outages.fail("queues.visible", error=Unreachable)
    storm.outages.fail("queues.send")
    runs = due_runs(storm, 20, due_in=100)
    storm.let_pass(HOUR - MINUTE)
    assert statuses(storm, runs) == {Status.PENDING}
    [reason, *_] = explain_job(storm.world.engine, "acme", runs[0].run_id).reasons
    assert (reason.code, "default-medium" in reason.message) == ("waits_for_queue", True)

    storm.let_pass(4 * MINUTE)

    assert statuses(storm, runs) == {Status.SUCCEEDED}


@pytest.mark.parametrize("calls", [("queues.send",), ("queues.send", "queues.visible")])
def test_after_an_hour_without_the_queues_every_run_starts_within_minutes(
    storm: StormySimulation, calls: tuple[str, ...]
) -> None:
    storm.outages.fail(*calls)
    near = [storm.submit(20) for _ in range(5)]
    runs = [*due_runs(storm, 20, due_in=100), *due_runs(storm, 20, due_in=30 * MINUTE), *near]
    storm.let_pass(HOUR - MINUTE)
    assert storm.target.calls == []
    assert Status.FAILED not in statuses(storm, runs)
    assert (storm.counts["unsent_by_sweep"] > 0) is (calls == ("queues.send",))

    storm.let_pass(HOUR / 4 + 5 * MINUTE)

    assert statuses(storm, runs) == {Status.SUCCEEDED}


def test_a_queue_that_takes_no_messages_holds_up_no_other(storm: StormySimulation) -> None:
    storm.outages.fail("queues.send", concerns=lambda message: message.priority is Priority.HIGH, takes_ms=1_000)
    theirs = [run for due in (100, 200, 300) for run in due_runs(storm, 20, due, Priority.HIGH)]
    others = [run for due in (100, 200, 300) for run in due_runs(storm, 20, due)]

    storm.let_pass(7 * MINUTE)

    assert statuses(storm, others) == {Status.SUCCEEDED}
    assert max(storm.target.times_of(run.run_id)[0] - run.fire_time for run in others) <= 3_000
    assert Status.SUCCEEDED not in statuses(storm, theirs)
    storm.let_pass(HOUR + HOUR / 4)
    assert statuses(storm, theirs) == {Status.SUCCEEDED}

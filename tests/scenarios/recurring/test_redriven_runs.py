"""Dead letters of recurring jobs that are run again: their failure is never forgotten."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from onthedot.core import lifecycle
from onthedot.core.moves import Move
from onthedot.core.ports import Answer, Deadline, Moved, ReadRecords, Refused, RunStore, Undecided
from onthedot.core.records import Record, Status
from onthedot.core.send import message_for
from onthedot.core.start import MayStart, check_before_start
from onthedot.jobs.redrive import redrive
from onthedot.schedules.choices import OverlapPolicy
from tests.scenarios.kits.recurring import cancel, changed_to, cron, delete, every, pause, runs_of, submit
from tests.scenarios.kits.simulation import Simulation

NEVER_OK = Answer(ok=False, error="boom", retryable=False)


def a_dead_letter(simulation: Simulation, overlap: OverlapPolicy) -> tuple[Record, Record]:
    """A job and its first run, which failed for good."""
    job = submit(simulation, every(60, simulation), overlap=overlap, max_runs=4)
    simulation.target.answers[:] = [NEVER_OK]
    simulation.let_pass(61)
    run = runs_of(simulation, job)[0]
    assert run.status is Status.FAILED
    return job, run


def start_next(simulation: Simulation, job: Record) -> Record:
    """Start the job's next run, by a worker that is at work on it for long."""
    engine = simulation.world.engine
    run = next(r for r in runs_of(simulation, job) if r.status is Status.DISPATCHED)
    simulation.clock.sleep_until(run.due_at)
    assert isinstance(check_before_start(engine, message_for(run)), MayStart)
    now = simulation.clock.now()
    engine.store.move(lifecycle.start(run.run_id, run.generation, now=now, worker="w", attempt_token="t"))
    return simulation.stored(run)


@pytest.mark.parametrize("overlap", [OverlapPolicy.SKIP, OverlapPolicy.QUEUE])
def test_a_redriven_run_waits_for_its_turn_beside_a_running_one(simulation: Simulation, overlap: OverlapPolicy) -> None:
    job, dead = a_dead_letter(simulation, overlap)
    running = start_next(simulation, job)
    assert len(redrive(simulation.world.engine, "acme", [dead.run_id]).runs) == 1
    for _ in range(12):
        simulation.world.store.move(lifecycle.extend_lease(running, simulation.clock.now()))
        simulation.let_pass(10)
    waiting = simulation.stored(dead)
    assert waiting.status in (Status.DISPATCHED, Status.PENDING)
    assert waiting.reason == f"redriven from the dead letters; overlap: waits for run {running.run_id}"
    simulation.world.store.move(lifecycle.succeed(running, simulation.clock.now(), None, simulation.world.deployment))
    simulation.let_pass(300)
    assert simulation.status(dead) is Status.SUCCEEDED


STOPS: dict[str, tuple[Callable[[Simulation, Record], Any], str]] = {
    "paused": (pause, "paused"),
    "cancelled": (cancel, "job cancelled"),
    "deleted": (delete, "job deleted"),
    "changed": (lambda simulation, job: changed_to(simulation, job, cron("0 0 1 1 *")), "schedule changed"),
}


@pytest.mark.parametrize("what", STOPS)
def test_a_redriven_run_that_may_not_start_is_a_dead_letter_again(simulation: Simulation, what: str) -> None:
    stop, why = STOPS[what]
    job, dead = a_dead_letter(simulation, OverlapPolicy.ALLOW)
    redrive(simulation.world.engine, "acme", [dead.run_id])
    stop(simulation, job)
    simulation.let_pass(30)
    again = simulation.stored(dead)
    assert again.status is Status.FAILED
    assert again.reason == f"redriven from the dead letters, but not started: {why}"
    assert [attempt.error for attempt in again.attempts] == ["boom"]
    assert [run.run_id for run in simulation.world.engine.store.failed("acme", 10).items] == [dead.run_id]


def test_a_run_that_waits_for_a_retry_is_skipped_when_its_job_stops(simulation: Simulation) -> None:
    job = submit(simulation, every(60, simulation), max_runs=1)
    simulation.target.answers[:] = [Answer(ok=False, error="boom")]
    simulation.let_pass(61)
    cancel(simulation, job)
    simulation.let_pass(30)
    assert [run.status for run in runs_of(simulation, job)] == [Status.SKIPPED]


@dataclass
class UnsureStore:
    """A store that does not know whether its moves happened."""

    inner: RunStore
    applies: bool
    reads: bool = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def move_many(self, moves: Sequence[Move], deadline: Deadline) -> Sequence[Moved | Refused | Undecided]:
        if self.applies:
            self.inner.move_many(moves, deadline)
        self.was_asked = True
        return [Undecided("no answer")] * len(moves)

    def get_many(self, run_ids: Sequence[str], deadline: Deadline) -> Any:
        found = self.inner.get_many(run_ids, deadline)
        return found if self.reads or not hasattr(self, "was_asked") else ReadRecords({}, unread=frozenset(run_ids))


def test_a_redrive_whose_answer_was_lost_is_found_to_have_happened(simulation: Simulation) -> None:
    _, dead = a_dead_letter(simulation, OverlapPolicy.ALLOW)
    engine = replace(simulation.world.engine, store=UnsureStore(simulation.world.store, applies=True))
    done = redrive(engine, "acme", [dead.run_id])
    assert ([run.run_id for run in done.runs], done.refused, done.undecided) == ([dead.run_id], [], [])
    simulation.let_pass(5)
    assert simulation.status(dead) is Status.SUCCEEDED


@pytest.mark.parametrize(("applies", "reads"), [(True, False), (False, True), (False, False)])
def test_a_redrive_that_may_have_happened_is_not_called_refused(
    simulation: Simulation, applies: bool, reads: bool
) -> None:
    _, dead = a_dead_letter(simulation, OverlapPolicy.ALLOW)
    store = UnsureStore(simulation.world.store, applies=applies, reads=reads)
    done = redrive(replace(simulation.world.engine, store=store), "acme", [dead.run_id])
    assert (done.runs, done.refused) == ([], [])
    ((run_id, why),) = done.undecided
    assert run_id == dead.run_id
    assert "may run again or not" in why

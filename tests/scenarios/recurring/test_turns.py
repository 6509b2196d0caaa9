"""Runs of a job that must not overlap: the end of one wakes the next, at once and in order, whatever fails."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise

import pytest

from onthedot.core.attempt import RunExecutor, execute_run
from onthedot.core.ports import Answer, Call
from onthedot.core.records import Record, Status
from onthedot.gates.explain import explain_at_gate, read_gate_facts
from onthedot.jobs.change import change_job, pause_job
from onthedot.jobs.changes import JobChange
from onthedot.jobs.patch import release_runs
from onthedot.schedules.choices import OverlapPolicy
from tests.builders import a_world
from tests.scenarios.kits.faults import Crash, Fault, Faults
from tests.scenarios.kits.recurring import every, runs_of, submit
from tests.scenarios.kits.simulation import NEVER, NoLeases, Simulation

SECONDS = 20


@dataclass
class SlowTarget:
    """Takes its time for the first call: the fire times of the next runs come meanwhile."""

    simulation: Simulation
    job: Record | None = None
    meanwhile: list[Callable[[], object]] = field(default_factory=list)
    calls: list[tuple[str, int]] = field(default_factory=list)

    def perform(self, call: Call) -> Answer:
        self.calls.append((call.run_id, self.simulation.clock.now()))
        if self.meanwhile:
            self.meanwhile.pop(0)()
        return Answer(ok=True)

    def times(self) -> list[int]:
        return [at for _, at in self.calls]


def a_slow_job(simulation: Simulation, runs: int = 3) -> tuple[Record, SlowTarget]:
    job = submit(simulation, every(SECONDS, simulation), overlap=OverlapPolicy.QUEUE, max_runs=runs)
    target = SlowTarget(simulation, job)
    simulation.target = target  # type: ignore[assignment] # it records the calls by itself

    def others_come() -> None:
        simulation.clock.advance(SECONDS * (runs - 1) + 5)
        simulation.work()

    target.meanwhile.append(others_come)
    return job, target


def execute_first(simulation: Simulation, target: SlowTarget, faults: Faults = NEVER) -> None:
    """Execute the first run as a worker does. It may die at an effect."""
    job = target.job
    assert job is not None
    simulation.clock.sleep_until(runs_of(simulation, job)[0].due_at)
    [received] = simulation.world.received()
    worker = RunExecutor(simulation.engine(faults), target, NoLeases(), "worker", random.Random(1))
    try:
        execute_run(worker, received)
    except Crash:
        return
    simulation.world.queues.delete(received)


def test_the_next_run_starts_as_soon_as_the_one_before_has_ended_and_in_order(simulation: Simulation) -> None:
    job, target = a_slow_job(simulation)
    execute_first(simulation, target)
    simulation.work()
    runs = runs_of(simulation, job)
    assert [run_id for run_id, _ in target.calls] == [run.run_id for run in runs]
    assert target.times()[1:] == [runs[0].finished_at] * 2


def test_nothing_is_written_or_sent_while_a_run_waits_for_its_turn(simulation: Simulation) -> None:
    job, target = a_slow_job(simulation, runs=2)
    counted = Faults()

    def wait_long() -> None:
        simulation.clock.advance(SECONDS + 5)
        simulation.work(counted)
        simulation.clock.advance(60)
        simulation.work(counted)

    target.meanwhile[:] = [wait_long]
    execute_first(simulation, target)
    assert counted.seen == ["change gate", "move to PENDING"]
    simulation.work()
    assert simulation.status(runs_of(simulation, job)[1]) is Status.SUCCEEDED


def test_a_run_that_comes_while_others_wait_goes_behind_them(simulation: Simulation) -> None:
    job, target = a_slow_job(simulation)
    simulation.clock.sleep_until(runs_of(simulation, job)[0].due_at)
    waits: list[str | None] = []

    def second_comes() -> None:
        simulation.clock.advance(SECONDS + 5)
        simulation.work()
        waits.append(simulation.stored(runs_of(simulation, job)[1]).reason)

    target.meanwhile[:] = [second_comes]
    # The worker dies after it has ended the first run: nothing wakes the second one.
    execute_first(simulation, target, Faults(0, Fault.CRASH_AFTER, named="move to SUCCEEDED"))
    first, second, third = runs_of(simulation, job)
    assert waits == [f"overlap: waits for run {first.run_id}"]
    simulation.clock.sleep_until(third.due_at)
    simulation.work()
    assert simulation.stored(third).reason == "overlap: other runs wait before it"
    simulation.let_pass(300)
    assert [run_id for run_id, _ in target.calls] == [first.run_id, second.run_id, third.run_id]


def count_effects() -> int:
    with a_world() as world:
        simulation, counted = Simulation(world), Faults()
        _, target = a_slow_job(simulation)
        execute_first(simulation, target, counted)
        return len(counted.seen)


@pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.LOST_REPLY, Fault.AWAY])
@pytest.mark.parametrize("at", range(count_effects()))
def test_no_run_is_lost_and_none_overlaps_whatever_fails(simulation: Simulation, at: int, fault: Fault) -> None:
    job, target = a_slow_job(simulation)
    execute_first(simulation, target, Faults(at, fault))
    simulation.let_pass(25 * 60)
    runs = runs_of(simulation, job)
    assert [run.status for run in runs] == [Status.SUCCEEDED] * 3
    spans = sorted((run.started_at or 0, run.finished_at or 0) for run in runs)
    assert all(later[0] >= earlier[1] for earlier, later in pairwise(spans)), spans


def test_a_job_whose_runs_may_overlap_by_now_releases_those_that_wait(simulation: Simulation) -> None:
    job, target = a_slow_job(simulation, runs=2)

    def allow() -> None:
        simulation.clock.advance(SECONDS + 5)
        simulation.work()

        def wanted(present: Record, _: int) -> JobChange:
            assert present.recurrence is not None
            return JobChange(recurrence=replace(present.recurrence, overlap=OverlapPolicy.ALLOW))

        changed = change_job(simulation.world.engine, "acme", job.job_id, wanted, None)
        assert release_runs(simulation.world.engine, changed) == 1
        simulation.work()

    target.meanwhile[:] = [allow]
    execute_first(simulation, target)
    first, second = runs_of(simulation, job)
    assert second.finished_at is not None
    assert first.finished_at is not None
    assert (second.started_at or 0) <= first.finished_at


def test_the_runs_of_a_paused_job_do_not_wait_for_ever(simulation: Simulation) -> None:
    job, target = a_slow_job(simulation, runs=20)

    def paused() -> None:
        simulation.clock.advance(SECONDS + 5)
        simulation.work()
        pause_job(simulation.world.engine, "acme", job.job_id)

    target.meanwhile[:] = [paused]
    execute_first(simulation, target)
    simulation.let_pass(60)
    assert simulation.status(runs_of(simulation, job)[1]) is Status.SKIPPED


def test_explain_says_that_a_run_waits_for_its_turn(simulation: Simulation) -> None:
    job, target = a_slow_job(simulation)
    said: list[tuple[str, str]] = []

    def explained() -> None:
        simulation.clock.advance(SECONDS * 2 + 5)
        simulation.work()
        last = runs_of(simulation, job)[2]
        now = simulation.clock.now()
        reason = explain_at_gate(last, read_gate_facts(simulation.world.engine, last, now), now)
        assert reason is not None
        said.append((reason.code, reason.message))

    target.meanwhile[:] = [explained]
    execute_first(simulation, target)
    turn = f"waits for its turn among the runs of job {job.job_id}; 1 run waits before it"
    assert said == [("waits_for_turn", turn)]

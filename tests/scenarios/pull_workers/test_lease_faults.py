"""Faults beside a run: a leased run reaches its worker, a running one goes on, a lost one is found."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from onthedot.core.choices import Priority
from onthedot.core.errors import Unavailable
from onthedot.core.ports import Answer, Received
from onthedot.core.records import Definition, Record, Status
from onthedot.jobs.change import cancel_job, delete_job, pause_job
from onthedot.jobs.redrive import redrive, redrive_matching
from onthedot.jobs.submit import JobRequest, submit_job
from onthedot.targets.types import ShellTarget
from onthedot.workers.assign import assign_to_worker
from onthedot.workers.lease import lease_runs
from onthedot.workers.lease_to_worker import LeaseRequest, lease_to_worker
from onthedot.workers.registrations import find_worker
from onthedot.workers.registry import WorkerRegistry
from onthedot.workers.report import keep_lease
from tests.builders import World
from tests.scenarios.kits import recurring
from tests.scenarios.kits.faults import Faults, FaultyQueues
from tests.scenarios.kits.pulling import POOL, PullWorker, a_shell_job, a_worker
from tests.scenarios.kits.simulation import Simulation


class AwayFor(FaultyQueues):
    """Queues of which those of some priorities cannot be read, and no message can be hidden."""

    def __init__(self, world: World, *priorities: Priority) -> None:
        super().__init__(world.queues, Faults())
        self.away = priorities

    def receive(
        self, pool: str, priority: Priority, maximum: int, *, visibility_ms: int, wait_ms: int = 0
    ) -> Sequence[Received]:
        if priority in self.away:
            raise Unavailable("receive")
        return super().receive(pool, priority, maximum, visibility_ms=visibility_ms, wait_ms=wait_ms)

    def hide(self, received: Received, milliseconds: int) -> None:
        raise Unavailable("hide")


class Unwritable(WorkerRegistry):
    def unassign(self, worker_id: str, run_ids: Sequence[str]) -> None:
        raise Unavailable("unassign")


def assigned_to(worker: PullWorker) -> frozenset[str]:
    return find_worker(worker.simulation.world.engine, worker.record.tenant, worker.worker_id).assigned


def test_a_started_run_is_given_when_the_next_queue_cannot_be_read(world: World, simulation: Simulation) -> None:
    run, worker = a_shell_job(simulation, priority=Priority.HIGH), a_worker(simulation)
    engine = replace(world.engine, queues=AwayFor(world, Priority.MEDIUM))
    leased = lease_runs(engine, worker.record, most=4)
    assert [lease.run.run_id for lease in leased.leases] == [run.run_id]
    assert lease_runs(engine, worker.record, most=4).leases == []
    with pytest.raises(Unavailable):
        lease_runs(engine, worker.record, most=4, priorities=[Priority.MEDIUM])


def test_a_run_that_was_handed_over_is_given_when_the_registry_cannot_be_written(
    world: World, simulation: Simulation
) -> None:
    run, worker = a_shell_job(simulation), a_worker(simulation)
    assign_to_worker(world.engine, "acme", run.run_id, worker.worker_id)
    engine = replace(world.engine, registry=Unwritable(world.items))
    known = find_worker(engine, "acme", worker.worker_id)
    leased = lease_runs(engine, known, most=4)
    assert [lease.run.run_id for lease in leased.leases] == [run.run_id]
    assert worker.lease(4).leases == [], "it is started once"
    assert assigned_to(worker) == frozenset()


def test_runs_that_were_handed_over_wait_for_the_worker_that_has_no_room_for_all(
    world: World, simulation: Simulation
) -> None:
    worker = a_worker(simulation)
    runs = [a_shell_job(simulation) for _ in range(3)]
    for run in runs:
        assign_to_worker(world.engine, "acme", run.run_id, worker.worker_id)
    first = worker.lease_one()
    assert assigned_to(worker) == {run.run_id for run in runs} - {first.run.run_id}
    others = [lease.run.run_id for lease in worker.lease(4).leases]
    assert {first.run.run_id, *others} == {run.run_id for run in runs}
    assert assigned_to(worker) == frozenset()


def test_a_started_run_does_not_wait_for_one_that_is_due_later(simulation: Simulation) -> None:
    worker = a_worker(simulation)
    now, soon = a_shell_job(simulation), a_shell_job(simulation, 0.9)
    assert worker.lease_one(most=4).run.run_id == now.run_id
    assert simulation.clock.now() == now.fire_time
    assert worker.lease_one(most=4).run.started_at == soon.fire_time


def test_a_run_goes_on_while_only_its_message_cannot_be_reached(world: World, simulation: Simulation) -> None:
    a_shell_job(simulation)
    worker, other = a_worker(simulation), a_worker(simulation)
    lease = worker.lease_one()
    assert lease.received is not None
    engine = replace(world.engine, queues=AwayFor(world))
    for _ in range(9):
        simulation.clock.advance(10)
        kept = keep_lease(engine, "acme", lease.run.run_id, 1, lease.received.receipt)
        assert kept.lease_until == simulation.clock.now() + 30_000
        assert other.lease().leases == [], "its message came again, and found it alive"
    assert worker.complete(lease).status is Status.SUCCEEDED


def a_dead_letter(simulation: Simulation) -> tuple[Record, Record]:
    """A recurring job, and a run of it that failed for good."""
    job = recurring.submit(simulation, recurring.every(60, simulation))
    simulation.plan_ticks()
    simulation.target.answers = [Answer(ok=False, error="broken", retryable=False)]
    simulation.let_pass(61)
    [dead] = simulation.world.engine.store.failed("acme", 10).items
    return job, dead


@pytest.mark.parametrize(
    ("stop", "why"), [(pause_job, "paused"), (cancel_job, "job cancelled"), (delete_job, "job deleted")]
)
def test_a_dead_letter_whose_job_is_stopped_stays_one(
    world: World, simulation: Simulation, stop: Callable[..., object], why: str
) -> None:
    job, dead = a_dead_letter(simulation)
    stop(world.engine, "acme", job.run_id)
    for redriven in (redrive(world.engine, "acme", [dead.run_id]), redrive_matching(world.engine, "acme")):
        assert (redriven.runs, redriven.refused) == ([], [(dead.run_id, f"it would be skipped: {why}")])
    assert simulation.stored(dead) == dead


def test_a_dead_letter_of_a_job_that_goes_on_is_run_again_and_lives(world: World, simulation: Simulation) -> None:
    _, dead = a_dead_letter(simulation)
    [again] = redrive(world.engine, "acme", [dead.run_id]).runs
    assert (again.status, simulation.stored(dead).expires_at) == (Status.DISPATCHED, None)
    simulation.let_pass(1)
    assert simulation.status(dead) is Status.SUCCEEDED


def test_a_run_that_fits_into_no_answer_of_the_api_fails_with_the_reason(world: World, simulation: Simulation) -> None:
    """Its payload and the result of its parent are allowed each, and too large together."""
    parent, worker = a_shell_job(simulation), a_worker(simulation)
    definition = Definition(ShellTarget(("true",)), payload="x" * 1_000_000)
    request = JobRequest(definition, "same", Priority.MEDIUM, POOL, delay_ms=0, parents=(parent.run_id,))
    child = submit_job(world.engine, "acme", request)
    worker.complete(worker.lease_one(), Answer(ok=True, result="y" * 1_000_000))
    for _ in range(5):
        leases = lease_to_worker(world.engine, "acme", worker.worker_id, LeaseRequest(), random.Random(1))
        assert leases.runs == []
        simulation.clock.advance(1)
    run = simulation.stored(child)
    assert (run.status, run.attempt) == (Status.FAILED, 1)
    assert "its payload and the results of its parents have 2,000," in (run.reason or "")

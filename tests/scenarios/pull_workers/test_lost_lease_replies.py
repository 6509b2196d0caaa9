"""The API started a run for a worker and its reply was lost: the worker lives and never had it, so nothing is lost."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from onthedot.core import lifecycle
from onthedot.core.errors import Unavailable
from onthedot.core.ports import Deadline
from onthedot.core.records import Record, Status
from onthedot.core.tick import dispatch_due
from onthedot.jobs.change import cancel_job
from onthedot.workers.lease import VISIBILITY_MS, lease_runs
from onthedot.workers.lost import LEASE_REPLY_MS, MOST_IN_A_ROW
from onthedot.workers.records import WorkerRecord
from onthedot.workers.registrations import Offer, register_worker
from onthedot.workers.registry import WorkerRegistry
from tests.builders import World
from tests.scenarios.kits.pulling import ABLE, POOL, PullWorker, a_shell_job, a_worker
from tests.scenarios.kits.simulation import Simulation

AFTER_LEASE = (VISIBILITY_MS + 1000) / 1000
WAYS = ["the next start", "the sweep"]


class Unreadable(WorkerRegistry):
    def find(self, worker_id: str) -> WorkerRecord | None:
        raise Unavailable("find")


def lease_ends(world: World, way: str, *, registry: WorkerRegistry | None = None) -> None:
    """The attempt's lease is over, and the next delivery of its message or the sweep finds it."""
    engine = replace(world.engine, registry=registry or world.registry)
    other = a_worker(Simulation(world), tenant=None)
    if way == "the next start":
        assert lease_runs(engine, other.record, most=1).leases == []
        return
    for _ in range(4):
        world.clock.advance(60)
        Simulation(world).plan_ticks()
        for received in world.ticks.receive_ticks(10):
            dispatch_due(engine, world.progress, received.tick, Deadline.after(world.clock.now(), 80_000))
            world.ticks.delete_tick(received)


def leased(world: World) -> tuple[Record, PullWorker]:
    simulation = Simulation(world)
    run, worker = a_shell_job(simulation), a_worker(simulation)
    worker.lease_one()
    return run, worker


def found(world: World, run: Record) -> tuple[Status, int, int, str | None]:
    stored = Simulation(world).stored(run)
    return stored.status, stored.losses, stored.failures, stored.attempts[-1].error_class


@pytest.mark.parametrize("way", WAYS)
def test_an_attempt_that_its_worker_never_began_counts_as_nothing(world: World, way: str) -> None:
    run, worker = leased(world)
    world.clock.advance(AFTER_LEASE)
    worker.beat()
    lease_ends(world, way)
    assert found(world, run) == (Status.DISPATCHED, 0, 0, "never_begun")
    assert "never began attempt 1" in (Simulation(world).stored(run).reason or "")
    again = worker.lease(4, idle=False).leases
    assert [(lease.run.run_id, lease.run.attempt, lease.alone) for lease in again] == [(run.run_id, 2, False)]
    worker.complete(again[0])
    assert Simulation(world).status(run) is Status.SUCCEEDED


def silent(worker: PullWorker, run: Record) -> None:
    """Say nothing any more."""


def has_it(worker: PullWorker, run: Record) -> None:
    worker.beat(run.run_id)


def registers_anew(worker: PullWorker, run: Record) -> None:
    """A new process with the same id, after the first one died."""
    offer = Offer(POOL, ABLE, worker.record.resources, worker_id=worker.worker_id)
    register_worker(worker.simulation.world.engine, worker.record.tenant, offer)
    worker.beat()


def is_cancelled(worker: PullWorker, run: Record) -> None:
    cancel_job(worker.simulation.world.engine, run.tenant, run.run_id)
    worker.beat()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("then", [silent, has_it, registers_anew, is_cancelled])
def test_any_other_attempt_is_lost(world: World, way: str, then: Callable[[PullWorker, Record], None]) -> None:
    run, worker = leased(world)
    world.clock.advance(AFTER_LEASE)
    then(worker, run)
    lease_ends(world, way)
    status = Status.CANCELLED if then is is_cancelled else Status.DISPATCHED
    assert found(world, run) == (status, 1, 0, "lost")


@pytest.mark.parametrize("way", WAYS)
def test_a_worker_that_was_heard_before_the_reply_could_arrive_may_have_died_with_the_run(
    world: World, way: str
) -> None:
    run, worker = leased(world)
    world.clock.advance(LEASE_REPLY_MS / 1000)
    worker.beat()
    world.clock.advance(AFTER_LEASE - LEASE_REPLY_MS / 1000)
    lease_ends(world, way)
    assert found(world, run) == (Status.DISPATCHED, 1, 0, "lost")


@pytest.mark.parametrize("way", WAYS)
def test_an_attempt_whose_lease_was_extended_was_begun(world: World, simulation: Simulation, way: str) -> None:
    run, worker = a_shell_job(simulation), a_worker(simulation)
    lease = worker.lease_one()
    world.clock.advance(10)
    worker.keep(lease)
    world.clock.advance(AFTER_LEASE)
    worker.beat()
    lease_ends(world, way)
    assert found(world, run) == (Status.DISPATCHED, 1, 0, "lost")


@pytest.mark.parametrize("way", WAYS)
def test_an_attempt_is_lost_when_the_registry_cannot_be_read(world: World, way: str) -> None:
    run, worker = leased(world)
    world.clock.advance(AFTER_LEASE)
    worker.beat()
    lease_ends(world, way, registry=Unreadable(world.items))
    assert found(world, run) == (Status.DISPATCHED, 1, 0, "lost")


def test_a_run_that_no_worker_ever_begins_is_lost_in_the_end(simulation: Simulation) -> None:
    run, worker = a_shell_job(simulation), a_worker(simulation)
    seen = []
    for _ in range(MOST_IN_A_ROW + 1):
        worker.lease_one()  # perhaps the worker is too old to read the reply
        simulation.clock.advance(AFTER_LEASE)
        worker.beat()
        assert worker.lease().leases == []
        seen.append(simulation.stored(run).losses)
    assert seen == [0] * MOST_IN_A_ROW + [1]


def test_an_attempt_is_not_taken_back_when_its_worker_extends_the_lease_at_that_moment(world: World) -> None:
    run, _ = leased(world)
    stored = Simulation(world).stored(run)
    world.clock.advance(AFTER_LEASE)
    now = world.clock.now()
    move = lifecycle.take_back(stored, now, generation="g", deployment=world.deployment)
    world.store.move(lifecycle.extend_lease(stored, now))
    world.store.move(move)
    assert Simulation(world).status(run) is Status.RUNNING

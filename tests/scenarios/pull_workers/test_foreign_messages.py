"""Tenants' own workers share the queues of a pool: messages of one tenant do not keep runs of another waiting."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from onthedot.core.choices import Priority
from onthedot.core.errors import Unavailable
from onthedot.core.ports import Received
from onthedot.workers.assign import ASSIGNED_HIDE_MS
from onthedot.workers.lease import LONGEST_HIDE_MS, LONGEST_SEARCH_MS, VISIBILITY_MS, lease_runs
from onthedot.workers.records import MOST_ASSIGNED, WorkerRecord
from onthedot.workers.registrations import find_worker
from onthedot.workers.registry import WorkerRegistry
from tests.builders import World, a_world
from tests.scenarios.kits.faults import Faults, FaultyQueues
from tests.scenarios.kits.pulling import POOL, a_shell_job, a_worker
from tests.scenarios.kits.simulation import Simulation


@dataclass
class CountedQueues(FaultyQueues):
    """Queues that count receives and calls about single messages, and that may be slow."""

    world: World | None = None
    slow_ms: int = 0
    receives: list[int] = field(default_factory=list)
    hidden: int = 0

    def receive(
        self, pool: str, priority: Priority, maximum: int, *, visibility_ms: int, wait_ms: int = 0
    ) -> Sequence[Received]:
        self.receives.append(maximum)
        if self.world is not None:
            self.world.clock.advance(self.slow_ms / 1000)
        return super().receive(pool, priority, maximum, visibility_ms=visibility_ms, wait_ms=wait_ms)

    def hide(self, received: Received, milliseconds: int) -> None:
        self.hidden += 1
        super().hide(received, milliseconds)


@pytest.mark.parametrize("foreign", [30, 1_000])
def test_messages_of_a_tenant_without_a_worker_do_not_stop_another_tenants_worker(
    world: World, simulation: Simulation, foreign: int
) -> None:
    theirs = [a_shell_job(simulation, tenant="rival") for _ in range(foreign)]
    ours = a_shell_job(simulation)
    queues = CountedQueues(world.queues, Faults())
    engine = replace(world.engine, queues=queues)
    leased = lease_runs(engine, a_worker(simulation).record, most=1, priorities=[Priority.MEDIUM])
    assert [lease.run.run_id for lease in leased.leases] == [ours.run_id], "in one call"
    assert len(queues.receives) <= foreign // 10 + 3
    assert queues.hidden <= 10, "no call for each foreign message"
    simulation.clock.advance(VISIBILITY_MS / 1000)
    found = a_worker(simulation, tenant="rival").work_until_idle()
    assert sorted(found) == sorted(run.run_id for run in theirs), "they waited less than a minute"


def test_a_lease_looks_no_longer_than_its_time(world: World, simulation: Simulation) -> None:
    for _ in range(1_000):
        a_shell_job(simulation, tenant="rival")
    queues = CountedQueues(world.queues, Faults(), world, slow_ms=100)
    worker, began = a_worker(simulation), simulation.clock.now()
    leased = lease_runs(replace(world.engine, queues=queues), worker.record, most=1)
    assert leased.leases == []
    assert LONGEST_SEARCH_MS <= simulation.clock.now() - began <= LONGEST_SEARCH_MS + 400


def test_a_lease_that_has_a_run_does_not_look_for_more_behind_foreign_messages(
    world: World, simulation: Simulation
) -> None:
    ours = a_shell_job(simulation, priority=Priority.HIGH)
    for _ in range(30):
        a_shell_job(simulation, tenant="rival")
    queues = CountedQueues(world.queues, Faults())
    leased = lease_runs(replace(world.engine, queues=queues), a_worker(simulation).record, most=4)
    assert [lease.run.run_id for lease in leased.leases] == [ours.run_id]
    assert len(queues.receives) == 3, "each queue once"


def test_a_run_of_a_tenant_with_a_worker_is_assigned_to_it_at_once(world: World, simulation: Simulation) -> None:
    theirs = [a_shell_job(simulation, tenant="rival") for _ in range(12)]
    named = a_worker(simulation, tenant="rival")
    assert a_worker(simulation).lease(4).leases == []
    assigned = find_worker(world.engine, "rival", named.worker_id).assigned
    assert assigned == {run.run_id for run in theirs}
    assert sorted(named.work_until_idle()) == sorted(assigned), "without any wait"


def test_more_runs_than_may_be_assigned_go_back_to_the_queue_for_their_own_worker(simulation: Simulation) -> None:
    theirs = [a_shell_job(simulation, tenant="rival") for _ in range(MOST_ASSIGNED + 20)]
    named = a_worker(simulation, tenant="rival")
    assert a_worker(simulation).lease(4).leases == []
    simulation.clock.advance(1)
    assert sorted(named.work_until_idle()) == sorted(run.run_id for run in theirs), "after a second at most"


def test_the_registry_is_read_once_for_all_foreign_messages_of_a_lease() -> None:
    class Counted(WorkerRegistry):
        reads = 0

        def workers(self) -> Sequence[WorkerRecord]:
            self.reads += 1
            return super().workers()

    with a_world() as world:
        simulation = Simulation(world)
        for _ in range(30):
            a_shell_job(simulation, tenant="rival")
        registry = Counted(world.items)
        lease_runs(replace(world.engine, registry=registry), a_worker(simulation).record, most=4)
        assert registry.reads == 1


def test_started_runs_are_given_to_the_worker_when_the_registry_cannot_be_read() -> None:
    class Away(WorkerRegistry):
        def workers(self) -> Sequence[WorkerRecord]:
            raise Unavailable("workers")

    with a_world() as world:
        simulation = Simulation(world)
        ours = a_shell_job(simulation)
        a_shell_job(simulation, tenant="rival")
        engine = replace(world.engine, registry=Away(world.items))
        leased = lease_runs(engine, a_worker(simulation).record, most=4)
        assert [lease.run.run_id for lease in leased.leases] == [ours.run_id]


def test_no_message_of_another_tenant_is_hidden_for_more_than_a_minute() -> None:
    assert max(VISIBILITY_MS, ASSIGNED_HIDE_MS, LONGEST_HIDE_MS) <= 60_000
    with a_world() as world:
        simulation = Simulation(world)
        run, worker = a_shell_job(simulation, tenant="rival"), a_worker(simulation)
        for _ in range(90):
            simulation.clock.advance(10)
            assert worker.lease().leases == []
            visible_at = world.queues.next_visible_at(POOL, run.priority)
            assert visible_at is not None
            assert visible_at <= simulation.clock.now() + 60_000

"""A run of a pull pool that no worker can take waits: it never fails, keeps one message, and runs when one comes."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from onthedot.core.choices import Priority, Requirements
from onthedot.core.errors import Unavailable
from onthedot.core.ports import Deadline, RunMessage
from onthedot.core.records import Record, Status
from onthedot.core.schema import DEFAULT_POOL
from onthedot.core.sweep import LONG_WAIT_MS, PATIENCE_MS
from onthedot.core.tick import dispatch_due
from onthedot.workers.assign import RENEW_AFTER, RENEWED_DELAY_MS
from onthedot.workers.lease import lease_runs
from onthedot.workers.records import Resources
from tests.builders import World, a_world
from tests.scenarios.kits.faults import Crash, Fault, Faults
from tests.scenarios.kits.pulling import POOL, PullWorker, a_shell_job, a_worker
from tests.scenarios.kits.simulation import Simulation
from tests.scenarios.one_off.test_crash_points import each_point
from tests.table_queues import SqliteRunQueues

GPU = Requirements(capabilities=("gpu",))
BIG = Requirements(cpu=3)
ROOMLESS = Resources(concurrency=4, cpu=2, memory_mb=4096)
UNABLE = ["capability away", "no room", "another tenant's worker polls", "no worker", "message gone"]


def minutes_pass(simulation: Simulation, minutes: int, worker: PullWorker | None = None) -> None:
    """Ticks come each minute, and the worker asks for work every ten seconds."""
    for step in range(minutes * 6):
        simulation.clock.advance(10)
        if step % 6 == 0:
            simulation.plan_ticks()
            simulation.dispatch()
        if worker is not None:
            worker.beat()
            assert worker.lease(free=ROOMLESS).leases == []


def an_unable_worker(simulation: Simulation, why: str) -> PullWorker | None:
    if why == "another tenant's worker polls":
        return a_worker(simulation, tenant="rival")
    return a_worker(simulation) if why in ("capability away", "no room") else None


@pytest.mark.slow
@pytest.mark.parametrize("why", UNABLE)
def test_a_run_that_no_worker_can_take_waits_and_runs_when_one_comes(
    world: World, simulation: Simulation, why: str
) -> None:
    needs = {"capability away": GPU, "no room": BIG}.get(why, Requirements())
    run = a_shell_job(simulation, requirements=needs)
    worker = an_unable_worker(simulation, why)
    for _ in range(30):
        if why == "message gone":
            world.queues.purge(POOL, Priority.MEDIUM)
        minutes_pass(simulation, 10, worker)
    stored = simulation.stored(run)
    assert (stored.status, stored.attempt) == (Status.DISPATCHED, 0)
    assert simulation.counts["undeliverable"] == 0
    assert simulation.counts["resent"] <= 6 + 4, "then once an hour"
    assert world.queues.counts(POOL, Priority.MEDIUM).dead == 0
    able = a_worker(simulation, capabilities=frozenset({"shell", "gpu"}))
    assert work_within(able, 70 * 60 if why == "message gone" else 60) == [run.run_id]
    assert simulation.status(run) is Status.SUCCEEDED


def work_within(worker: PullWorker, seconds: int) -> list[str]:
    """Ticks come, and the worker takes what there is, until it has done something."""
    for second in range(seconds):
        if done := worker.work_until_idle():
            return done
        worker.simulation.clock.advance(1)
        if second % 60 == 0:
            worker.simulation.plan_ticks()
            worker.simulation.dispatch()
    return []


@pytest.mark.slow
def test_a_run_that_waits_is_sent_at_growing_intervals_of_at_most_an_hour(world: World, simulation: Simulation) -> None:
    run = a_shell_job(simulation)
    resent: list[int] = []
    for minute in range(24 * 60):
        world.queues.purge(POOL, Priority.MEDIUM)
        minutes_pass(simulation, 1)
        resent += [minute] * (simulation.counts["resent"] - len(resent))
    gaps = [later - earlier for earlier, later in pairwise(resent)]
    assert resent[0] <= 4, "a message that was never sent is not missed for long"
    assert gaps == sorted(gaps)
    assert set(gaps[5:]) <= {60, 61}
    assert simulation.status(run) is Status.DISPATCHED


def test_runs_that_wait_longer_than_an_hour_for_a_worker_of_a_pull_pool_are_counted(simulation: Simulation) -> None:
    a_shell_job(simulation)
    minutes_pass(simulation, LONG_WAIT_MS // 60_000)
    assert simulation.counts["waiting_long"] == 0
    minutes_pass(simulation, 61)
    assert simulation.counts["waiting_long"] >= 1


def test_runs_that_no_function_of_a_push_pool_starts_are_counted_after_some_minutes(simulation: Simulation) -> None:
    simulation.submit(5)
    minutes_pass(simulation, PATIENCE_MS // 60_000)
    assert simulation.counts["waiting_long"] == 0
    minutes_pass(simulation, 20)
    assert simulation.counts["waiting_long"] >= 1


class Queues(SqliteRunQueues):
    """Queues that cannot be asked, or to which nothing can be sent, for a while."""

    silent = False
    closed = False
    sent = 0

    def visible(self, pool: str, priority: Priority) -> int:
        if self.silent:
            raise Unavailable("visible")
        return super().visible(pool, priority)

    def send(self, messages: Sequence[RunMessage], deadline: Deadline) -> Sequence[RunMessage]:
        self.sent += len(messages)
        return messages if self.closed else super().send(messages, deadline)


def tick_for(world: World, queues: Queues, minutes: int) -> None:
    engine = replace(world.engine, queues=queues)
    simulation = Simulation(world)
    for _ in range(minutes):
        world.clock.advance(60)
        simulation.plan_ticks()
        for received in world.ticks.receive_ticks(10):
            dispatch_due(engine, world.progress, received.tick, Deadline.after(world.clock.now(), 80_000))
            world.ticks.delete_tick(received)


@pytest.mark.slow
@pytest.mark.parametrize("away", ["silent", "closed"])
@pytest.mark.parametrize("pool", [DEFAULT_POOL, POOL])
def test_a_message_that_cannot_be_sent_counts_as_no_resend(
    world: World, simulation: Simulation, away: str, pool: str
) -> None:
    run = simulation.submit(0) if pool == DEFAULT_POOL else a_shell_job(simulation)
    world.queues.purge(pool, Priority.MEDIUM)
    queues = Queues(world.database, world.clock)
    setattr(queues, away, True)
    tick_for(world, queues, 24 * 60)
    stored = simulation.stored(run)
    assert (stored.status, stored.resends) == (Status.DISPATCHED, 0)
    assert queues.sent <= (0 if away == "silent" else 48), "at growing intervals"
    setattr(queues, away, False)
    tick_for(world, queues, 62)
    assert world.queues.counts(pool, Priority.MEDIUM).visible >= 1, "it is sent when the queue is back"


def received_often(world: World, run: Record, times: int = RENEW_AFTER) -> None:
    """The run's message was received and given back many times."""
    for _ in range(times):
        for one in world.queues.receive(POOL, run.priority, 10, visibility_ms=1000):
            world.queues.hide(one, 0)


def test_a_message_that_was_given_back_often_is_renewed_and_its_copies_vanish(
    world: World, simulation: Simulation
) -> None:
    run = a_shell_job(simulation, requirements=GPU)
    world.queues.send([RunMessage(run.run_id, run.generation, run.due_at, "acme", run.priority, POOL)] * 3, NEVER)
    received_often(world, run)
    worker = a_worker(simulation)
    assert worker.lease(4).leases == []
    renewed = simulation.stored(run)
    assert (renewed.status, renewed.attempt, renewed.slot) == (Status.DISPATCHED, 0, run.slot)
    assert renewed.generation != run.generation
    counts = world.queues.counts(POOL, run.priority)
    assert (counts.delayed, counts.visible + counts.in_flight, counts.dead) == (1, 0, 0), "one new message"
    simulation.clock.advance(61)
    able = a_worker(simulation, capabilities=frozenset({"shell", "gpu"}))
    assert able.work_until_idle() == [run.run_id]


class FullQueues(SqliteRunQueues):
    """Queues that take no message now."""

    def send(self, messages: Sequence[RunMessage], deadline: Deadline) -> Sequence[RunMessage]:
        return messages


def test_a_message_is_not_renewed_by_one_that_cannot_be_sent() -> None:
    with a_world() as world:
        simulation = Simulation(world)
        run = a_shell_job(simulation, requirements=GPU)
        received_often(world, run)
        engine = replace(world.engine, queues=FullQueues(world.database, world.clock))
        assert lease_runs(engine, a_worker(simulation).record, most=1).leases == []
        assert simulation.stored(run).generation == run.generation
        able = a_worker(simulation, capabilities=frozenset({"shell", "gpu"}))
        assert work_within(able, 61) == [run.run_id], "by its old message"


class SlowQueues(SqliteRunQueues):
    """Queues that take long to confirm a send."""

    def send(self, messages: Sequence[RunMessage], deadline: Deadline) -> Sequence[RunMessage]:
        unsent = super().send(messages, deadline)
        self._clock.sleep_until(self._clock.now() + RENEWED_DELAY_MS)
        return unsent


def test_a_renewed_message_that_may_have_arrived_already_is_not_relied_on(world: World, simulation: Simulation) -> None:
    run = a_shell_job(simulation, requirements=GPU)
    received_often(world, run)
    engine = replace(world.engine, queues=SlowQueues(world.database, world.clock))
    assert lease_runs(engine, a_worker(simulation).record, most=1).leases == []
    assert simulation.stored(run).generation == run.generation, "its old message is the valid one"
    able = a_worker(simulation, capabilities=frozenset({"shell", "gpu"}))
    assert work_within(able, 61) == [run.run_id]


NEVER = Deadline(0)


@each_point(3)
def test_a_renewal_that_dies_leaves_the_run_with_a_message(
    world: World, simulation: Simulation, at: int, fault: Fault
) -> None:
    run = a_shell_job(simulation, requirements=GPU)
    received_often(world, run)
    worker, faults = a_worker(simulation), Faults(at, fault)
    try:
        worker.lease(faults=faults)
    except Crash:
        simulation.crashes += 1
    assert len(faults.seen) > at, "the fault was never reached"
    able = a_worker(simulation, capabilities=frozenset({"shell", "gpu"}))
    for _ in range(100):  # no tick, so no sweep helps
        simulation.clock.advance(1)
        if able.work_until_idle() == [run.run_id]:
            break
    assert simulation.stored(run).status is Status.SUCCEEDED
    simulation.clock.advance(100)
    assert able.lease(4).leases == []
    assert world.queues.counts(POOL, run.priority).in_flight == 0, "no message is left"

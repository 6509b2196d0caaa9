"""A worker with access to the tables and queues, on the SQLite engine."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from onthedot.core.choices import Priority, Requirements
from onthedot.core.leases import Fenced, LeaseExtended
from onthedot.core.ports import Answer, Call, Performer
from onthedot.core.progress import LatestProgress, ProgressReport
from onthedot.core.records import Definition, Record, Status
from onthedot.core.schema import PRIORITIES
from onthedot.core.stopping import Stop
from onthedot.engines.store_around import counted
from onthedot.jobs.change import cancel_job
from onthedot.jobs.submit import JobRequest, submit_job
from onthedot.observability import Metrics
from onthedot.targets.types import HttpTarget, ShellTarget
from onthedot.worker.direct_source import DirectWorkSource
from onthedot.worker.work_source import NotAllowed, Task
from onthedot.workers.assign import RENEW_AFTER
from onthedot.workers.lease import VISIBILITY_MS
from onthedot.workers.records import Load, Resources, WorkerStatus
from tests.builders import World
from tests.unit.worker.kit import FINE, PATIENCE, an_offer, working
from tests.unit.worker.world import a_passing_world

FREE = Resources(4, 4, 1024)


@pytest.fixture
def world() -> Iterator[World]:
    with a_passing_world() as world:
        yield world
        for thread in threading.enumerate():
            if thread.name.startswith("poll-"):  # they read the world until their time is over
                thread.join(PATIENCE)


@pytest.fixture
def source(world: World) -> DirectWorkSource:
    source = DirectWorkSource(world.engine, "pull")
    source.register(an_offer())
    return source


def a_job(world: World, tenant: str = "acme", priority: Priority = Priority.MEDIUM, cpu: float = 0) -> Record:
    definition = Definition(ShellTarget(("true",)), requirements=Requirements(cpu=cpu), timeout_seconds=45)
    request = JobRequest(definition=definition, fingerprint="f", priority=priority, pool="pull")
    return submit_job(world.engine, tenant, request)


def lease(source: DirectWorkSource, most: int = 1, free: Resources = FREE) -> list[Task]:
    return list(source.lease(most, PRIORITIES, free, idle=True).tasks)


def stored(world: World, run: Record) -> Record:
    found = world.store.get(run.run_id)
    assert found is not None
    return found


def test_it_leases_the_runs_of_every_tenant_with_their_needs_and_the_end_of_their_leases(world: World) -> None:
    source = DirectWorkSource(world.engine, "pull", monotonic=lambda: 500.0)
    source.register(an_offer())
    submitted = {a_job(world, tenant, cpu=1.5).run_id for tenant in ("acme", "globex")}
    tasks = lease(source, most=10)
    assert {task.run_id for task in tasks} == submitted
    for task in tasks:
        assert (task.attempt, task.alone, task.needs.cpu, task.needs.seconds) == (1, False, 1.5, 45)
        assert 515 < task.lease_end <= 530


def test_a_run_that_does_not_fit_stays_for_other_workers(world: World, source: DirectWorkSource) -> None:
    run = a_job(world, cpu=2)
    assert lease(source, free=Resources(4, 1, 1024)) == []
    assert stored(world, run).status is Status.DISPATCHED


def test_a_message_that_was_given_back_often_is_renewed(world: World, source: DirectWorkSource) -> None:
    run = a_job(world, cpu=2)
    for _ in range(RENEW_AFTER):
        for received in world.queues.receive("pull", run.priority, 1, visibility_ms=1000):
            world.queues.hide(received, 0)
    assert lease(source, free=Resources(4, 1, 1024)) == []
    assert stored(world, run).generation != run.generation
    counts = world.queues.counts("pull", run.priority)
    assert (counts.delayed, counts.visible, counts.in_flight, counts.dead) == (1, 0, 0, 0)
    world.clock.advance(30)
    assert [task.run_id for task in lease(source)] == [run.run_id]


def test_a_report_ends_the_run_and_its_message(world: World, source: DirectWorkSource) -> None:
    run = a_job(world)
    [task] = lease(source)
    assert source.report(task, FINE) is None
    assert stored(world, run).status is Status.SUCCEEDED
    world.clock.advance(VISIBILITY_MS / 1000 + 1)
    assert world.received(pool="pull") == []


def test_an_extension_extends_the_lease_and_the_hiding_of_the_message(world: World, source: DirectWorkSource) -> None:
    run = a_job(world)
    [task] = lease(source)
    for _ in range(5):
        world.clock.advance(20)
        extended = source.extend_lease(task, ProgressReport(0.5, "half"))
        assert isinstance(extended, LeaseExtended)
        assert not extended.cancel_requested
    assert world.received(pool="pull") == []
    assert (stored(world, run).lease_until or 0) > world.clock.now() + 15_000


def test_a_cancel_is_seen_when_the_lease_is_extended(world: World, source: DirectWorkSource) -> None:
    run = a_job(world)
    [task] = lease(source)
    cancel_job(world.engine, "acme", run.job_id)
    extended = source.extend_lease(task)
    assert isinstance(extended, LeaseExtended)
    assert extended.cancel_requested
    assert source.report(task, Answer(ok=False, error="stopped")) is None
    assert stored(world, run).status is Status.CANCELLED


def test_another_worker_has_the_run_of_a_dead_one_and_the_late_report_is_fenced_off(
    world: World, source: DirectWorkSource
) -> None:
    run = a_job(world)
    [task] = lease(source)
    world.clock.advance(VISIBILITY_MS / 1000 + 1)
    heir = DirectWorkSource(world.engine, "pull")
    heir.register(an_offer())
    assert lease(heir) == [], "the message of the lost attempt: it takes the run back"
    world.clock.advance(10)
    [again] = lease(heir)
    assert (again.run_id, again.attempt, again.alone) == (run.run_id, 2, True)
    assert isinstance(source.extend_lease(task), Fenced)
    assert isinstance(source.report(task, FINE), Fenced)
    assert heir.report(again, FINE) is None
    assert stored(world, run).status is Status.SUCCEEDED


def test_a_run_that_is_handed_back_is_tried_again_at_once_and_counts_as_nothing(
    world: World, source: DirectWorkSource
) -> None:
    run = a_job(world)
    [task] = lease(source)
    source.report(task, Answer(ok=False, handed_back=True, error="the worker was stopped"))
    assert (stored(world, run).failures, stored(world, run).losses) == (0, 0)
    [again] = lease(source)
    assert not again.alone


def test_it_performs_with_the_payload_and_the_signature_of_the_run(world: World) -> None:
    source = DirectWorkSource(world.engine, "pull")
    source.register(replace(an_offer(), capabilities=frozenset({"http"})))
    definition = Definition(HttpTarget("http://127.0.0.1:9/"), payload={"a": "ü"})
    submit_job(world.engine, "acme", JobRequest(definition, "f", Priority.HIGH, "pull"))
    [task] = lease(source)
    calls: list[Call] = []

    class Noting(Performer):
        def perform(self, call: Call) -> Answer:
            calls.append(call)
            return FINE

    stop, progress = Stop(), LatestProgress()
    assert task.perform(Noting(), stop, progress) == FINE
    [call] = calls
    assert call.progress is progress
    assert (call.run_id, call.payload, call.stop) == (task.run_id, '{"a":"ü"}'.encode(), stop)
    assert call.signature["webhook-id"] == task.run_id


def test_a_run_assigned_to_this_worker_is_leased_after_the_next_heartbeat(world: World) -> None:
    source = DirectWorkSource(world.engine, "pull", poll_seconds=0.2)
    worker_id = source.register(an_offer())
    job = a_job(world)
    for received in world.received(pool="pull"):
        world.queues.delete(received)
    assert world.registry.assign(worker_id, job.run_id)
    assert lease(source) == []
    source.send_heartbeat(Load())
    assert source.wait(3600) is True
    [task] = lease(source)
    assert task.run_id == job.run_id
    assert source.report(task, FINE) is None
    assert lease(source) == []


def test_a_worker_that_was_forgotten_registers_again_with_its_heartbeat(world: World) -> None:
    source = DirectWorkSource(world.engine, "pull")
    worker_id = source.register(an_offer())
    with world.database.transaction() as connection:
        connection.execute("DELETE FROM items WHERE partition = 'workers'")
    source.send_heartbeat(Load(running=("a",)))
    worker = world.registry.find(worker_id)
    assert worker is not None
    assert worker.load.running == ("a",)


def test_a_pool_that_does_not_exist_is_refused_by_name(world: World) -> None:
    with pytest.raises(NotAllowed, match="nowhere"):
        DirectWorkSource(world.engine, "nowhere").register(replace(an_offer(), pool="nowhere"))


def test_a_machine_whose_clock_is_off_does_not_work(world: World) -> None:
    def off() -> None:
        raise NotAllowed("the clock is 3 s ahead")

    with pytest.raises(NotAllowed, match="clock"):
        DirectWorkSource(world.engine, "pull", check=off).register(an_offer())


class Waiting(DirectWorkSource):
    """A work source that shows when its worker begins to wait."""

    waiting = threading.Event()

    def wait(self, seconds: float) -> bool:
        self.waiting.set()
        return super().wait(seconds)


def test_an_idle_worker_starts_a_run_as_soon_as_it_comes(world: World) -> None:
    source = Waiting(world.engine, "pull", poll_seconds=0.2)
    performed = threading.Event()

    class Performing(Performer):
        def perform(self, call: Call) -> Answer:
            performed.set()
            return FINE

    with working(source, Performing()):
        assert source.waiting.wait(PATIENCE)
        run = a_job(world)
        assert performed.wait(PATIENCE)
    started = stored(world, run)
    assert started.status is Status.SUCCEEDED
    assert started.started_at is not None
    assert started.started_at - started.fire_time < 1000 * PATIENCE
    [worker] = world.registry.workers()
    assert worker.status(world.clock.now()) is WorkerStatus.STOPPED


def test_starts_and_ends_are_metrics_that_heartbeats_and_the_end_write(world: World) -> None:
    lines: list[dict[str, Any]] = []
    metrics = Metrics("prod", write=lines.append)
    source = DirectWorkSource(counted(world.engine, metrics), "pull", flush=metrics.flush)
    source.register(an_offer())
    a_job(world)
    [task] = lease(source)
    source.send_heartbeat(Load())
    assert len(lines[0]["lateness_ms"]) == 1
    source.report(task, Answer(ok=False, error="no", retryable=False))
    source.close()
    assert (lines[1]["succeeded"], lines[1]["failed"], lines[1]["dead"]) == ([0], [1], [1])

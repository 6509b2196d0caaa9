"""A worker that has only a URL and a token, over real HTTP on the SQLite engine."""

import json
import time
from dataclasses import replace

import pytest

from onthedot.core.errors import WorkerNotFound
from onthedot.core.leases import Fenced, LeaseExtended
from onthedot.core.ports import Answer, Call, Performer
from onthedot.core.progress import LatestProgress, report_of
from onthedot.core.records import Status
from onthedot.core.stopping import Stop
from onthedot.targets.webhooks import signature_headers
from onthedot.worker.rest_source import RestWorkSource
from onthedot.workers.lease import VISIBILITY_MS
from onthedot.workers.records import Load, Resources, WorkerStatus
from tests.builders import World
from tests.unit.api.kit import Api
from tests.unit.worker.kit import FINE, HASTY, STORAGE_MB, an_offer, working
from tests.unit.worker.rest.kit import SHELL, a_source, lease, status
from tests.unit.worker.world import ApiServer


def test_what_a_worker_offers_is_in_the_registry(world: World, server: ApiServer) -> None:
    offer = replace(an_offer(concurrency=3, cpu=1.5), worker_id="mine", host="laptop")
    assert a_source(server).register(offer) == "mine"
    worker = world.registry.find("mine")
    assert worker is not None
    assert (worker.tenant, worker.pool, worker.capabilities) == ("acme", "pull", frozenset({"http", "shell"}))
    assert (worker.resources, worker.host) == (Resources(3, 1.5, 1024, STORAGE_MB), "laptop")


def test_it_leases_performs_and_completes(world: World, source: RestWorkSource, api: Api) -> None:
    asked = {"cpu": 0.5, "memory_mb": 64, "storage_mb": 128}
    job = api.job(target=SHELL, priority="HIGH", timeout_seconds=45, requirements=asked)
    [task] = lease(source)
    assert (task.run_id, task.attempt, task.priority, task.alone) == (job, 1, "HIGH", False)
    assert (task.needs.cpu, task.needs.memory_mb, task.needs.storage_mb, task.needs.seconds) == (0.5, 64, 128, 45)
    assert source.report(task, FINE) is None
    run = world.store.get(job)
    assert run is not None
    assert (run.status, run.result) == (Status.SUCCEEDED, "fine")
    assert source.report(task, FINE) is None, "again is harmless"


def test_the_worker_asks_at_once_after_a_report_since_it_may_have_woken_a_run(source: RestWorkSource, api: Api) -> None:
    api.job(target=SHELL)
    [task] = lease(source)
    source.report(task, FINE)
    began = time.monotonic()
    assert source.wait(30)
    assert time.monotonic() - began < 25
    assert source.wait(0.01), "once for each report"


def test_the_target_gets_byte_by_byte_what_was_signed(world: World, server: ApiServer, api: Api) -> None:
    source = a_source(server)
    source.register(replace(an_offer(), capabilities=frozenset({"http"})))
    payload = {"z": 1.10, "a": ["ü", None, 1e20, 12345678901234567890], "€": {"": True}}
    api.job(callback_url="https://example.com/", payload=payload, timeout_seconds=7200)
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
    assert json.loads(call.payload) == payload
    signed_at = int(call.signature["webhook-timestamp"]) * 1000
    keys = world.signing.keys("acme")
    assert signature_headers(keys, task.run_id, signed_at, call.payload) == call.signature
    assert (call.timeout_ms, call.stop) == (7_200_000, stop)


@pytest.mark.parametrize(
    ("answer", "outcome", "counted"),
    [
        (Answer(ok=False, error="no", error_class="x", retryable=False), Status.FAILED, (1, 0)),
        (Answer(ok=False, error="no", retry_after_ms=600_000), Status.PENDING, (1, 0)),
        (Answer(ok=False, error="signal 9", lost=True), Status.DISPATCHED, (0, 1)),
        (Answer(ok=False, error="the worker was stopped", handed_back=True), Status.DISPATCHED, (0, 0)),
    ],
)
def test_the_end_of_an_attempt_is_recorded_as_it_was_reported(
    source: RestWorkSource, api: Api, answer: Answer, outcome: Status, counted: tuple[int, int]
) -> None:
    job = api.job(target=SHELL)
    [task] = lease(source)
    assert source.report(task, answer) is None
    run = api.world.store.get(job)
    assert run is not None
    assert (run.status, (run.failures, run.losses)) == (outcome, counted)
    assert run.attempts[0].error == answer.error


def test_a_report_goes_with_the_heartbeat(world: World, source: RestWorkSource, api: Api) -> None:
    job = api.job(target=SHELL)
    [task] = lease(source)
    assert isinstance(source.extend_lease(task, report_of(1.5, "rows\n" + "x" * 300)), LeaseExtended)
    progress = api.execution(job)["progress"]
    assert (progress["fraction"], progress["text"]) == (1.0, "rows " + "x" * 195)
    assert isinstance(source.extend_lease(task), LeaseExtended)
    assert api.execution(job)["progress"] == progress, "a heartbeat without a report keeps the one before"


def test_a_cancel_comes_with_the_heartbeat(world: World, source: RestWorkSource, api: Api) -> None:
    job = api.job(target=SHELL)
    [task] = lease(source)
    extended = source.extend_lease(task)
    assert isinstance(extended, LeaseExtended)
    assert not extended.cancel_requested
    assert api.send("PUT", f"/v1/jobs/{job}/cancel").status == 200
    extended = source.extend_lease(task)
    assert isinstance(extended, LeaseExtended)
    assert extended.cancel_requested


def test_heartbeats_extend_the_lease_and_hide_the_message(world: World, source: RestWorkSource, api: Api) -> None:
    job = api.job(target=SHELL)
    [task] = lease(source)
    for _ in range(4):
        world.clock.advance(25)
        assert isinstance(source.extend_lease(task), LeaseExtended)
    assert world.received(pool="pull") == []
    assert source.report(task, FINE) is None
    assert status(world, job) is Status.SUCCEEDED


def test_a_dead_workers_run_goes_to_another_and_its_late_report_is_fenced_off(
    world: World, server: ApiServer, source: RestWorkSource, api: Api
) -> None:
    job = api.job(target=SHELL)
    [task] = lease(source)
    world.clock.advance(VISIBILITY_MS / 1000 + 1)
    heir = a_source(server)
    heir.register(an_offer())
    assert lease(heir) == []
    world.clock.advance(10)
    [again] = lease(heir)
    assert (again.attempt, again.alone) == (2, True)
    assert isinstance(source.report(task, FINE), Fenced)
    assert isinstance(source.extend_lease(task), Fenced)
    assert heir.report(again, FINE) is None
    assert status(world, job) is Status.SUCCEEDED


def test_the_run_of_a_deleted_job_is_fenced_off(source: RestWorkSource, api: Api) -> None:
    job = api.job(target=SHELL)
    [task] = lease(source)
    assert api.call("DELETE", f"/v1/jobs/{job}").status == 200
    assert isinstance(source.extend_lease(task), Fenced)


def test_a_forgotten_worker_registers_again_with_its_heartbeat(world: World, source: RestWorkSource) -> None:
    with world.database.transaction() as connection:
        connection.execute("DELETE FROM items WHERE partition = 'workers'")
    source.send_heartbeat(Load(running=("a",), used=Resources(1)))
    [worker] = world.registry.workers()
    assert (worker.load.running, worker.load.used.concurrency) == (("a",), 1)


def test_a_forgotten_worker_that_wants_work_must_register_first(world: World, source: RestWorkSource) -> None:
    with world.database.transaction() as connection:
        connection.execute("DELETE FROM items WHERE partition = 'workers'")
    with pytest.raises(WorkerNotFound):
        lease(source)


def test_a_worker_that_ends_is_shown_as_stopped(world: World, source: RestWorkSource) -> None:
    source.send_heartbeat(Load(stopped=True))
    [worker] = world.registry.workers()
    assert worker.status(world.clock.now()) is WorkerStatus.STOPPED


def test_a_whole_worker_over_http_ends_all_runs_and_hands_back_the_last(
    world: World, server: ApiServer, api: Api
) -> None:
    class Performing(Performer):
        def perform(self, call: Call) -> Answer:
            if call.payload != b'"long"':
                return FINE
            assert call.stop.wait(60)
            return Answer(ok=False, error="stopped")

    jobs = [api.job(target=SHELL) for _ in range(12)]
    long = api.job(target=SHELL, payload="long")
    with working(a_source(server), Performing(), pace=replace(HASTY, grace=0.05)):
        while any(status(world, job) is not Status.SUCCEEDED for job in jobs) or status(world, long) != "RUNNING":
            world.clock.advance(0)
    run = world.store.get(long)
    assert run is not None
    assert (run.status, run.failures, run.losses) == (Status.DISPATCHED, 0, 0)
    assert run.attempts[0].outcome == "released"

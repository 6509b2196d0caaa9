"""What a worker gets from its work source: the same over REST as with access to the tables and queues."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from onthedot.core.errors import WorkerNotFound
from onthedot.core.leases import Fenced, LeaseExtended
from onthedot.core.ports import Answer, Call, Performer
from onthedot.core.progress import LatestProgress, report_of
from onthedot.core.records import Status
from onthedot.core.stopping import Stop
from onthedot.targets.webhooks import signature_headers
from onthedot.worker.direct_source import DirectWorkSource
from onthedot.worker.work_source import NotAllowed, WorkSource
from onthedot.workers.lease import VISIBILITY_MS
from onthedot.workers.records import Load, Resources, WorkerStatus
from onthedot.workers.registrations import Offer
from tests.builders import World
from tests.unit.api.kit import SHELL, Api
from tests.unit.worker.kit import FINE, HASTY, STORAGE_MB, an_offer, lease, rest_source, stored, working
from tests.unit.worker.world import ApiServer

Make = Callable[[Offer], WorkSource]


@pytest.fixture(params=["direct", "rest"])
def make(request: pytest.FixtureRequest, world: World, server: ApiServer) -> Make:
    def made(offer: Offer) -> WorkSource:
        direct = DirectWorkSource(world.engine, "pull", poll_seconds=0.2)
        source = direct if request.param == "direct" else rest_source(server)
        source.register(offer)
        return source

    return made


@pytest.fixture
def source(make: Make) -> WorkSource:
    return make(an_offer())


def test_the_offer_of_a_worker_is_in_the_registry(world: World, make: Make) -> None:
    make(replace(an_offer(concurrency=3, cpu=1.5), worker_id="mine", host="laptop"))
    worker = world.registry.find("mine")
    assert worker is not None
    assert (worker.pool, worker.capabilities, worker.host) == ("pull", frozenset({"http", "shell"}), "laptop")
    assert worker.resources == Resources(3, 1.5, 1024, STORAGE_MB)


def test_a_pool_that_does_not_exist_is_refused_by_name(make: Make) -> None:
    with pytest.raises(NotAllowed, match="nowhere"):
        make(replace(an_offer(), pool="nowhere"))


def test_a_task_has_the_needs_of_its_run_and_its_report_ends_the_run_and_its_message(
    world: World, source: WorkSource, api: Api
) -> None:
    asked = {"cpu": 0.5, "memory_mb": 64, "storage_mb": 128}
    job = api.job(target=SHELL, priority="HIGH", timeout_seconds=45, requirements=asked)
    [task] = lease(source)
    assert (task.run_id, task.attempt, task.priority, task.alone) == (job, 1, "HIGH", False)
    assert (task.needs.cpu, task.needs.memory_mb, task.needs.storage_mb, task.needs.seconds) == (0.5, 64, 128, 45)
    assert source.report(task, FINE) is None
    assert source.report(task, FINE) is None, "a repeated report is harmless"
    assert (stored(world, job).status, stored(world, job).result) == (Status.SUCCEEDED, "fine")
    world.clock.advance(VISIBILITY_MS / 1000 + 1)
    assert world.received(pool="pull") == []


@pytest.mark.parametrize(
    ("answer", "status", "counted"),
    [
        (Answer(ok=False, error="no", error_class="x", retryable=False), Status.FAILED, (1, 0)),
        (Answer(ok=False, error="no", retry_after_ms=600_000), Status.PENDING, (1, 0)),
        (Answer(ok=False, error="signal 9", lost=True), Status.DISPATCHED, (0, 1)),
        (Answer(ok=False, error="the worker was stopped", handed_back=True), Status.DISPATCHED, (0, 0)),
    ],
)
def test_the_end_of_an_attempt_is_recorded_as_it_was_reported(
    source: WorkSource, api: Api, answer: Answer, status: Status, counted: tuple[int, int]
) -> None:
    job = api.job(target=SHELL)
    [task] = lease(source)
    assert source.report(task, answer) is None
    run = stored(api.world, job)
    assert (run.status, (run.failures, run.losses), run.attempts[0].error) == (status, counted, answer.error)


def test_an_extension_keeps_the_lease_and_stores_the_progress(world: World, source: WorkSource, api: Api) -> None:
    job = api.job(target=SHELL)
    [task] = lease(source)
    assert isinstance(source.extend_lease(task, report_of(1.5, "rows\n" + "x" * 300)), LeaseExtended)
    progress = stored(world, job).progress
    assert progress is not None
    assert (progress.fraction, progress.text) == (1.0, "rows " + "x" * 195)
    for _ in range(4):
        world.clock.advance(25)
        extended = source.extend_lease(task)
        assert isinstance(extended, LeaseExtended)
        assert not extended.cancel_requested
    assert stored(world, job).progress == progress, "an extension without a report keeps the one before"
    assert world.received(pool="pull") == [], "its message stays hidden"
    assert (stored(world, job).lease_until or 0) > world.clock.now() + 15_000


def test_an_extension_says_that_the_run_is_to_be_cancelled(source: WorkSource, api: Api) -> None:
    job = api.job(target=SHELL)
    [task] = lease(source)
    assert api.send("PUT", f"/v1/jobs/{job}/cancel").status == 200
    extended = source.extend_lease(task)
    assert isinstance(extended, LeaseExtended)
    assert extended.cancel_requested


def test_the_run_of_a_dead_worker_goes_to_another_one_and_the_late_calls_are_fenced_off(
    world: World, source: WorkSource, make: Make, api: Api
) -> None:
    job = api.job(target=SHELL)
    [task] = lease(source)
    world.clock.advance(VISIBILITY_MS / 1000 + 1)
    heir = make(an_offer())
    assert lease(heir) == [], "the message of the lost attempt: it takes the run back"
    world.clock.advance(10)
    [again] = lease(heir)
    assert (again.run_id, again.attempt, again.alone) == (job, 2, True)
    assert isinstance(source.extend_lease(task), Fenced)
    assert isinstance(source.report(task, FINE), Fenced)
    assert heir.report(again, FINE) is None
    assert stored(world, job).status is Status.SUCCEEDED


def test_the_run_of_a_deleted_job_is_fenced_off(source: WorkSource, api: Api) -> None:
    job = api.job(target=SHELL)
    [task] = lease(source)
    assert api.call("DELETE", f"/v1/jobs/{job}").status == 200
    assert isinstance(source.extend_lease(task), Fenced)


def test_the_target_gets_byte_by_byte_what_was_signed(world: World, make: Make, api: Api) -> None:
    source = make(replace(an_offer(), capabilities=frozenset({"http"})))
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
    assert (call.progress is progress, call.stop, call.timeout_ms) == (True, stop, 7_200_000)
    assert json.loads(call.payload) == payload
    signed_at = int(call.signature["webhook-timestamp"]) * 1000
    keys = world.signing.keys("acme")
    assert signature_headers(keys, task.run_id, signed_at, call.payload) == call.signature


def test_the_heartbeat_of_a_forgotten_worker_says_that_it_must_register_again(world: World, source: WorkSource) -> None:
    with world.database.transaction() as connection:
        connection.execute("DELETE FROM items WHERE partition = 'workers'")
    with pytest.raises(WorkerNotFound):
        source.send_heartbeat(Load(running=("a",)))


def test_a_whole_worker_ends_all_runs_and_hands_back_the_last(world: World, source: WorkSource, api: Api) -> None:
    class Performing(Performer):
        def perform(self, call: Call) -> Answer:
            if call.payload != b'"long"':
                return FINE
            assert call.stop.wait(60)
            return Answer(ok=False, error="stopped")

    jobs = [api.job(target=SHELL) for _ in range(12)]
    long = api.job(target=SHELL, payload="long")
    with working(source, Performing(), pace=replace(HASTY, grace=0.05)):
        while any(stored(world, job).status is not Status.SUCCEEDED for job in jobs) or (
            stored(world, long).status is not Status.RUNNING
        ):
            world.clock.advance(0)
    run = stored(world, long)
    assert (run.status, run.failures, run.losses) == (Status.DISPATCHED, 0, 0)
    assert run.attempts[0].outcome == "released"
    assert WorkerStatus.STOPPED in {worker.status(world.clock.now()) for worker in world.registry.workers()}

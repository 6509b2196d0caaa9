"""The heartbeat of a pull worker, in time that the tests move."""

from typing import Any

import pytest

from onthedot.core.errors import Unavailable, WorkerNotFound
from onthedot.core.finish import CANCELLED, FENCED, NOT_EXTENDED, OVERRUN
from onthedot.core.leases import Fenced, LeaseExtended
from onthedot.core.pools import Needs
from onthedot.worker.tasks import OVERRUN_SECONDS, STOP_PATIENCE, Heartbeat, RunningTask, RunningTasks
from tests.unit.worker.kit import FakeSource, Seconds, a_task, an_offer

LEASE = 30


class Scene:
    def __init__(self) -> None:
        self.seconds = Seconds()
        self.source = FakeSource()
        self.running_tasks = RunningTasks(an_offer().resources, self.seconds)
        self.abandoned: list[RunningTask] = []
        self.heartbeat = Heartbeat(
            self.source,
            self.running_tasks,
            self.seconds,
            register=lambda: self.source.register(an_offer()),
            abandon=self.abandoned.append,
        )

    def running(self, run_id: str = "run", **fields: Any) -> RunningTask:
        return self.running_tasks.add(a_task(run_id, **{"lease_end": self.seconds.now + LEASE, **fields}))


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_a_beat_extends_every_lease_and_says_what_runs(scene: Scene) -> None:
    first, second = (scene.running(run_id, needs=Needs(frozenset(), 1.5, 100, 60)) for run_id in ("a", "b"))
    scene.source.extensions = {"a": LeaseExtended(5000, cancel_requested=True), "b": LeaseExtended(6000)}
    assert scene.heartbeat.beat() is True
    assert (first.stop.reason, second.stop.reason) == (CANCELLED, None)
    assert (first.lease_end, second.lease_end) == (5000, 6000)
    [load] = scene.source.heartbeats
    assert load.running == ("a", "b")
    assert (load.used.concurrency, load.used.cpu, load.used.memory_mb) == (2, 3.0, 200)


def test_a_run_of_another_worker_is_stopped_and_extended_no_more(scene: Scene) -> None:
    running = scene.running("a")
    scene.source.extensions = {"a": Fenced("another attempt runs")}
    scene.heartbeat.beat()
    assert running.stop.reason == FENCED
    scene.source.errors = {"extend_lease": [Unavailable("must not be asked again")]}
    scene.heartbeat.beat()
    assert scene.source.errors["extend_lease"]


def test_a_missed_beat_stops_nothing_until_the_lease_is_about_to_end(scene: Scene) -> None:
    running = scene.running()
    scene.source.errors = {"extend_lease": [Unavailable("away")], "send_heartbeat": [Unavailable("away")]}
    scene.seconds.now += 10
    scene.heartbeat.beat()
    scene.seconds.now += 14.9
    scene.heartbeat.watch()
    assert running.stop.reason is None
    scene.seconds.now += 0.1  # five seconds before the lease ends
    scene.heartbeat.watch()
    assert running.stop.reason == NOT_EXTENDED


def test_a_task_that_does_not_end_when_asked_is_left_behind_once(scene: Scene) -> None:
    running = scene.running()
    running.ask_to_stop(CANCELLED, scene.seconds.now)
    scene.seconds.now += STOP_PATIENCE - 0.1
    scene.heartbeat.watch()
    assert scene.abandoned == []
    scene.seconds.now += 0.1
    scene.heartbeat.watch()
    scene.heartbeat.watch()
    assert scene.abandoned == [running]
    assert not running.may_report(), "the thread that comes late reports nothing"


def test_a_target_that_outlasts_its_time_out_is_stopped_from_outside(scene: Scene) -> None:
    running = scene.running(lease_end=1e12)
    scene.seconds.now += 60 + OVERRUN_SECONDS
    scene.heartbeat.watch()
    assert running.stop.reason == OVERRUN


def test_a_worker_that_was_forgotten_registers_again_with_its_heartbeat(scene: Scene) -> None:
    scene.source.errors = {"send_heartbeat": [WorkerNotFound("worker-1")]}
    scene.heartbeat.beat()
    assert (scene.source.registered, len(scene.source.heartbeats)) == (1, 1)


def test_leases_that_cannot_be_extended_are_logged_once_though_heartbeats_arrive(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    scene.running()
    scene.source.errors = {"extend_lease": [Unavailable("away")] * 3}
    for _ in range(3):
        assert scene.heartbeat.beat() is False
    assert caplog.text.count("lease_not_extended: away") == 1

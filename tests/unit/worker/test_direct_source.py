"""A worker with access to the tables and queues, on the SQLite engine."""

import threading
from typing import Any

import pytest

from onthedot.core.ports import Answer, Call, Performer
from onthedot.core.records import Status
from onthedot.engines.store_around import counted
from onthedot.observability import Metrics
from onthedot.worker.direct_source import DirectWorkSource
from onthedot.worker.work_source import NotAllowed
from onthedot.workers.records import Load
from tests.builders import World
from tests.unit.api.kit import SHELL, Api
from tests.unit.worker.kit import FINE, PATIENCE, an_offer, lease, stored, working


def test_a_run_assigned_to_this_worker_is_leased_after_the_next_heartbeat(world: World, api: Api) -> None:
    source = DirectWorkSource(world.engine, "pull", poll_seconds=0.2)
    worker_id = source.register(an_offer())
    job = api.job(target=SHELL)
    for received in world.received(pool="pull"):
        world.queues.delete(received)
    assert world.registry.assign(worker_id, job)
    assert lease(source) == []
    source.send_heartbeat(Load())
    assert source.wait(3600) is True
    [task] = lease(source)
    assert task.run_id == job
    assert source.report(task, FINE) is None
    assert lease(source) == []


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


def test_an_idle_worker_starts_a_run_as_soon_as_it_comes(world: World, api: Api) -> None:
    source = Waiting(world.engine, "pull", poll_seconds=0.2)
    performed = threading.Event()

    class Performing(Performer):
        def perform(self, call: Call) -> Answer:
            performed.set()
            return FINE

    with working(source, Performing()):
        assert source.waiting.wait(PATIENCE)
        run = api.job(target=SHELL)
        assert performed.wait(PATIENCE)
    started = stored(world, run)
    assert started.status is Status.SUCCEEDED
    assert started.started_at is not None
    assert started.started_at - started.fire_time < 1000 * PATIENCE


def test_starts_and_ends_are_metrics_that_heartbeats_and_the_end_write(world: World, api: Api) -> None:
    lines: list[dict[str, Any]] = []
    metrics = Metrics("prod", write=lines.append)
    source = DirectWorkSource(counted(world.engine, metrics), "pull", flush=metrics.flush)
    source.register(an_offer())
    api.job(target=SHELL)
    [task] = lease(source)
    source.send_heartbeat(Load())
    assert len(lines[0]["lateness_ms"]) == 1
    source.report(task, Answer(ok=False, error="no", retryable=False))
    source.close()
    assert (lines[1]["succeeded"], lines[1]["failed"], lines[1]["dead"]) == ([0], [1], [1])

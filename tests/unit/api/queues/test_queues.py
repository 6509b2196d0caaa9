"""Queues are shown with the runs that wait in them. A queue that fails does not hide the others."""

from dataclasses import replace
from typing import Any

from onthedot.core.choices import Priority
from onthedot.core.errors import Unavailable
from onthedot.core.ports import QueueCounts
from onthedot.workers.queues import read_queues
from tests.builders import World
from tests.scenarios.kits.faults import Faults, FaultyQueues
from tests.unit.api.kit import SHELL, Api


def queues(api: Api) -> dict[tuple[str, str | None], dict[str, Any]]:
    response = api.get("/v1/queues")
    assert response.status == 200, response.body
    return {(queue.pop("pool"), queue.pop("priority")): queue for queue in response.body["queues"]}


class Broken(FaultyQueues):
    """Queues of which one does not answer, and no age is known."""

    def counts(self, pool: str, priority: Priority) -> QueueCounts:
        if priority is Priority.HIGH:
            raise Unavailable("queue default-high: throttled")
        return super().counts(pool, priority)

    def oldest_age_ms(self, pool: str, priority: Priority) -> int | None:
        return None


class Shared(FaultyQueues):
    """Queues of which each serves all priorities of its pool."""

    def counts(self, pool: str, priority: Priority) -> QueueCounts:
        return QueueCounts(3, 2, 1, 0, pool)


def test_each_pool_has_a_queue_for_each_priority(api: Api, world: World) -> None:
    found = queues(api)
    pools = {pool.name for pool in world.engine.deployment.pools.all}
    assert set(found) == {(pool, priority.value) for pool in pools for priority in Priority}
    kinds = {pool.name: pool.kind.value for pool in world.engine.deployment.pools.all}
    assert {pool: queue.pop("kind") for (pool, _), queue in found.items()} == kinds
    nothing = {"waiting": 0, "delayed": 0, "in_flight": 0, "oldest_age_seconds": None, "dead_letters": 0}
    assert all(queue == nothing for queue in found.values())


def test_waiting_runs_of_all_tenants_are_counted_and_the_oldest_has_an_age(api: Api, world: World) -> None:
    api.job()
    api.called_by("other").job()
    api.job(delay=100)
    world.clock.advance(30)
    assert queues(api)["default", "MEDIUM"] == {
        "kind": "push",
        "waiting": 2,
        "delayed": 1,
        "in_flight": 0,
        "oldest_age_seconds": 30,
        "dead_letters": 0,
    }
    api.job(target=SHELL, priority="LOW")
    assert queues(api)["pull", "LOW"]["waiting"] == 1
    assert len(world.received()) == 2
    assert queues(api)["default", "MEDIUM"]["in_flight"] == 2


def test_a_queue_that_fails_hides_no_other(api: Api, world: World) -> None:
    api.job()
    found = queues(api.on(queues=Broken(world.queues, Faults())))
    assert found["default", "HIGH"] == {
        "kind": "push",
        "waiting": None,
        "delayed": None,
        "in_flight": None,
        "oldest_age_seconds": None,
        "dead_letters": None,
        "error": "queue default-high: throttled",
    }
    assert (found["default", "MEDIUM"]["waiting"], found["default", "MEDIUM"]["oldest_age_seconds"]) == (1, None)


def test_a_queue_of_all_priorities_is_shown_once(api: Api, world: World) -> None:
    found = queues(api.on(queues=Shared(world.queues, Faults())))
    assert set(found) == {(pool.name, None) for pool in world.engine.deployment.pools.all}
    assert found["default", None]["waiting"] == 3


def test_queues_that_were_not_asked_in_time_say_so(world: World) -> None:
    class Slow(FaultyQueues):
        def counts(self, pool: str, priority: Priority) -> QueueCounts:
            world.clock.advance(10)
            return super().counts(pool, priority)

    reports = read_queues(replace(world.engine, queues=Slow(world.queues, Faults())))
    assert [report.problem is None for report in reports][:3] == [True, True, False]


def test_a_viewer_may_see_queues_and_a_worker_may_not(api: Api) -> None:
    assert api.called_by(role="viewer").get("/v1/queues").status == 200
    assert api.called_by(role="worker").get("/v1/queues").status == 403

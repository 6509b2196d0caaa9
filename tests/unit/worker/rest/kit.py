"""Helpers for tests of a worker that has only a URL and a token."""

from onthedot.core.records import Status
from onthedot.core.schema import PRIORITIES
from onthedot.worker.rest_source import RestClient, RestWorkSource
from onthedot.worker.work_source import Task
from onthedot.workers.records import Resources
from tests.builders import World
from tests.unit.worker.world import TOKEN, ApiServer

FREE = Resources(4, 4, 1024, 2000)
SHELL = {"type": "shell", "argv": ["true"]}


def a_source(server: ApiServer, token: str = TOKEN) -> RestWorkSource:
    return RestWorkSource(RestClient(server.url, token, sleep=lambda _: None))


def lease(source: RestWorkSource, most: int = 1) -> list[Task]:
    return list(source.lease(most, PRIORITIES, FREE, idle=True).tasks)


def status(world: World, run_id: str) -> Status:
    run = world.store.get(run_id)
    assert run is not None
    return run.status

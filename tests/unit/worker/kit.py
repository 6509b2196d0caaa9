"""Work sources and workers with them, for tests."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from onthedot.core.choices import Priority
from onthedot.core.errors import OnthedotError
from onthedot.core.leases import Fenced, LeaseExtended
from onthedot.core.pools import Needs
from onthedot.core.ports import Answer, Call, Performer
from onthedot.core.progress import ProgressReport
from onthedot.core.records import Record
from onthedot.core.schema import PRIORITIES
from onthedot.core.stopping import Stop
from onthedot.worker.rest_source import RestClient, RestWorkSource
from onthedot.worker.runtime import Pace, Runtime
from onthedot.worker.task_protection import EcsAgent
from onthedot.worker.work_source import LeasedTasks, Task, WorkSource
from onthedot.workers.records import Load, Resources
from onthedot.workers.registrations import Offer
from tests.builders import World
from tests.unit.worker.world import TOKEN, ApiServer

PATIENCE = 60.0
STORAGE_MB = 2000
FINE = Answer(ok=True, result="fine")
HASTY = Pace(heartbeat=0.05, watch=0.02, idle=(0.01, 0.05), errors=(0.01, 0.05), grace=30)
Performing = Callable[[Performer, Stop], Answer]


class Seconds:
    """A monotonic clock that tests move."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def a_task(run_id: str = "run", perform: Performing = lambda _target, _stop: FINE, **fields: Any) -> Task:
    whole = {"attempt": 1, "priority": Priority.MEDIUM, "needs": Needs(frozenset(), seconds=60), "alone": False}
    performed = fields.pop("reporting", lambda target, stop, _progress: perform(target, stop))
    return Task(run_id=run_id, perform=performed, **{**whole, "lease_end": 1e12, **fields})


def an_offer(
    concurrency: int = 4, cpu: float = 4, memory_mb: int = 1024, can: Sequence[str] = ("http", "shell")
) -> Offer:
    return Offer("pull", frozenset(can), Resources(concurrency, cpu, memory_mb, STORAGE_MB))


def rest_source(server: ApiServer, token: str = TOKEN) -> RestWorkSource:
    return RestWorkSource(RestClient(server.url, token, sleep=lambda _: None))


def lease(source: WorkSource, most: int = 1) -> list[Task]:
    return list(source.lease(most, PRIORITIES, Resources(4, 4, 1024, STORAGE_MB), idle=True).tasks)


def stored(world: World, run_id: str) -> Record:
    found = world.store.get(run_id)
    assert found is not None
    return found


@dataclass
class FakeSource(WorkSource):
    """A work source that gives the tasks on its list, as many as are asked for, and that remembers all calls."""

    tasks: list[Task] = field(default_factory=list)
    alone_waiting: bool = False
    errors: dict[str, list[Exception]] = field(default_factory=dict)
    """By method, the errors that its next calls raise."""
    extensions: dict[str, LeaseExtended | Fenced] = field(default_factory=dict)
    reports: list[tuple[str, Answer]] = field(default_factory=list)
    progress: list[ProgressReport | None] = field(default_factory=list)
    """The report of each extension of a lease."""
    heartbeats: list[Load] = field(default_factory=list)
    leases: list[dict[str, Any]] = field(default_factory=list)
    registered: int = 0
    notices_work: bool = False

    def __post_init__(self) -> None:
        self.changed = threading.Condition()

    def register(self, offer: Offer) -> str:
        self._fail_if_scripted("register")
        self.registered += 1
        return "worker-1"

    def send_heartbeat(self, load: Load) -> None:
        self._fail_if_scripted("send_heartbeat")
        with self.changed:
            self.heartbeats.append(load)
            self.changed.notify_all()

    def lease(self, most: int, priorities: Sequence[Priority], free: Resources, *, idle: bool) -> LeasedTasks:
        self._fail_if_scripted("lease")
        with self.changed:
            self.leases.append({"most": most, "free": free, "idle": idle})
            leased, self.tasks = self.tasks[:most], self.tasks[most:]
            self.changed.notify_all()
            return LeasedTasks(leased, self.alone_waiting and not idle)

    def wait(self, seconds: float) -> bool:
        with self.changed:
            self.changed.wait(min(seconds, 0.02))
        return True

    def pause(self) -> None:
        pass

    def close(self) -> None:
        pass

    def extend_lease(self, task: Task, progress: ProgressReport | None = None) -> LeaseExtended | Fenced:
        self._fail_if_scripted("extend_lease")
        self.progress.append(progress)
        return self.extensions.get(task.run_id, LeaseExtended(task.lease_end))

    def report(self, task: Task, answer: Answer) -> Fenced | None:
        self._fail_if_scripted("report")
        with self.changed:
            self.reports.append((task.run_id, answer))
            self.changed.notify_all()
        return None

    def offer(self, *tasks: Task) -> None:
        with self.changed:
            self.tasks += tasks
            self.changed.notify_all()

    def wait_until(self, condition: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(condition, PATIENCE), "it did not happen in time"

    def _fail_if_scripted(self, method: str) -> None:
        if self.errors.get(method):
            raise self.errors[method].pop(0)


class NoTarget(Performer):
    def perform(self, call: Call) -> Answer:
        raise AssertionError("tasks of a fake source do their work themselves")


@contextmanager
def working(
    source: WorkSource,
    target: Performer | None = None,
    offer: Offer | None = None,
    pace: Pace = HASTY,
    agent: EcsAgent | None = None,
) -> Iterator[Any]:
    """Run a worker while this lasts, and stop it then. Its `run` must end by itself."""
    runtime = Runtime(source, target or NoTarget(), offer or an_offer(), pace, agent=agent)
    failures: list[BaseException] = []

    def run() -> None:
        try:
            runtime.run()
        except OnthedotError as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield runtime
    finally:
        runtime.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive(), "the runtime did not end"
    if failures:
        raise failures[0]

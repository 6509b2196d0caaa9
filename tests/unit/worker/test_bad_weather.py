"""Workers in bad weather: what is refused is not asked without pause, what is broken off is not held against a run."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from onthedot.domain.errors import Unavailable, WorkerNotFound
from onthedot.domain.workers.pools import DEFAULT_POOLS, Pool, PoolKind, Pools
from onthedot.ports import Answer, Performer
from onthedot.stopping import Stop
from onthedot.use_cases.attempts.keep_leases import STOP_MARGIN_MS, UNHEARD, LeaseKeeper
from onthedot.use_cases.workers.worker_registry import Offer
from onthedot.worker.heartbeat import Heartbeat
from onthedot.worker.heartbeat_threads import HeartbeatThreads
from onthedot.worker.running_tasks import RunningTasks
from onthedot.worker.task_threads import TaskThreads
from onthedot.worker.work_source import NotAllowed
from tests.builders import a_run, a_world, the_start_of
from tests.unit.worker.kit import HASTY, PATIENCE, FakeDesk, NoTarget, Seconds, a_task, an_offer, working


class Beats(Heartbeat):
    """Beats that only count, and end as the test says."""

    def __init__(self, end: Callable[[], bool]) -> None:
        self.times: list[float] = []
        self._end = end
        self.changed = threading.Condition()

    def beat(self, *, stopping: bool = False) -> bool:
        with self.changed:
            self.times.append(time.monotonic())
            self.changed.notify_all()
        return self._end()

    def watch(self) -> None:
        pass

    def wait_for(self, number: int, seconds: float = PATIENCE) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: len(self.times) >= number, seconds)


@contextmanager
def beating(beats: Beats, seconds: float) -> Iterator[HeartbeatThreads]:
    threads: HeartbeatThreads

    def refuse(_: NotAllowed) -> None:
        threads.say_stopping()  # as the runtime does

    threads = HeartbeatThreads(beats, beat_seconds=seconds, watch_seconds=3600, on_refusal=refuse)
    threads.start()
    try:
        yield threads
    finally:
        threads.end()


def test_a_worker_that_is_refused_does_not_ask_without_pause_while_it_ends() -> None:
    def refused() -> bool:
        raise NotAllowed("the token is not valid any more")

    beats = Beats(refused)
    with beating(beats, 3600) as threads:
        threads.say_stopping()
        assert beats.wait_for(1)
        assert not beats.wait_for(3, 0.2)


def test_after_a_beat_that_was_not_heard_the_next_comes_sooner() -> None:
    beats = Beats(lambda: False)
    with beating(beats, 1.0):
        assert beats.wait_for(3)
    assert beats.times[2] - beats.times[1] < 0.9


def test_a_beat_tells_whether_every_lease_was_heard_of() -> None:
    seconds, source = Seconds(), FakeDesk()
    running_tasks = RunningTasks(an_offer().resources, seconds)
    heartbeat = Heartbeat(source, running_tasks, seconds, lambda _: None)
    running_tasks.add(a_task("a"))
    assert heartbeat.beat() is True
    source.errors = {"keep": [Unavailable("away")]}
    assert heartbeat.beat() is False


def test_a_run_whose_lease_is_about_to_end_when_it_arrives_is_handed_back_unperformed() -> None:
    performed: list[str] = []

    def perform(_: Performer, __: Stop) -> Answer:
        performed.append("it")
        return Answer(ok=True)

    seconds, source = Seconds(), FakeDesk()
    running_tasks = RunningTasks(an_offer().resources, seconds)
    TaskThreads(source, running_tasks, NoTarget(), seconds).begin(
        a_task("late", perform, lease_end=seconds.now + STOP_MARGIN_MS / 1000)
    )
    assert running_tasks.wait_until(lambda: running_tasks.is_idle, PATIENCE)
    [(run_id, answer)] = source.reports
    assert (run_id, answer.handed_back, performed) == ("late", True, [])


def test_slots_are_not_kept_empty_for_ever_for_a_run_that_must_be_alone() -> None:
    let_go = threading.Event()

    def long(_: Performer, __: Stop) -> Answer:
        let_go.wait(PATIENCE)
        return Answer(ok=True)

    source = FakeDesk([a_task("long", long)], alone_waiting=True)
    with working(source, pace=replace(HASTY, alone=0.05)):
        source.wait_until(lambda: any(not asked["idle"] for asked in source.taken))
        source.offer(a_task("other"))
        try:
            source.wait_until(lambda: "other" in dict(source.reports))
        finally:
            let_go.set()


def test_a_worker_that_must_register_again_stays_who_it_is() -> None:
    class WorkSource(FakeDesk):
        offers: list[Offer]

        def register(self, offer: Offer) -> str:
            with self.changed:
                self.offers = [*getattr(self, "offers", []), offer]
                self.changed.notify_all()
            return offer.worker_id or "given"

    source = WorkSource(errors={"take": [WorkerNotFound("given")]})
    with working(source):
        source.wait_until(lambda: len(source.offers) == 2)
    assert [offer.worker_id for offer in source.offers] == [None, "given"]


def test_the_end_of_an_old_attempt_leaves_the_lease_of_the_present_one_alone() -> None:
    with a_world() as world:
        run = a_run(world.clock).dispatched().stored_in(world.store)
        started = world.store.move(the_start_of(run, world.clock.now())).run  # type: ignore[union-attr]
        assert started is not None
        keeper = LeaseKeeper(world.store, world.clock, seconds=3600)
        stop = Stop()
        with keeper.keeping(started, stop):
            with keeper.keeping(replace(started, attempt=started.attempt - 1, attempt_token="old"), Stop()):
                pass
            world.clock.advance(26)
            keeper.watch()
            assert stop.reason == UNHEARD, "it is still looked after"


@pytest.mark.parametrize("lacking", [{"longest_seconds": 30}, {"memory_mb": 50}, {"cpu": 0.05}])
def test_a_run_that_must_be_alone_does_not_go_where_it_would_not_fit(lacking: dict[str, float]) -> None:
    default, long = DEFAULT_POOLS[:2]
    whole = {"cpu": default.cpu, "memory_mb": default.memory_mb, "longest_seconds": default.longest_seconds}
    small = Pool("small", PoolKind.PUSH, default.capabilities, **{**whole, **lacking})  # type: ignore[arg-type]
    assert Pools((default, small, long)).alone("default") == "long"

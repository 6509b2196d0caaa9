"""The main loop of a worker, with a work source that tests control."""

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from onthedot.core.errors import Unavailable, WorkerNotFound
from onthedot.core.pools import Needs
from onthedot.core.ports import Answer, Performer
from onthedot.core.stopping import Stop
from onthedot.worker.runtime import Runtime
from onthedot.worker.work_source import NotAllowed
from onthedot.workers.registrations import Offer
from tests.unit.worker.kit import FINE, HASTY, PATIENCE, FakeSource, a_task, an_offer, working


class Gate:
    """Work that goes on until it is let go, or asked to stop."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self._let_go = threading.Event()
        self._lock = threading.Lock()
        self.at_once = self.most_at_once = 0

    def __call__(self, _: Performer, stop: Stop) -> Answer:
        with self._lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        self.begun.release()
        with stop.interrupting(self._let_go.set):
            assert self._let_go.wait(PATIENCE)
        with self._lock:
            self.at_once -= 1
        return FINE if stop.reason is None else Answer(ok=False, error=f"stopped: {stop.reason}")

    def wait_for(self, number: int) -> None:
        for _ in range(number):
            assert self.begun.acquire(timeout=PATIENCE)

    def let_go(self) -> None:
        self._let_go.set()


def ended(source: FakeSource) -> dict[str, Answer]:
    return dict(source.reports)


def test_no_more_tasks_run_side_by_side_than_its_concurrency() -> None:
    gate = Gate()
    source = FakeSource([a_task(str(number), gate) for number in range(6)])
    with working(source, offer=an_offer(concurrency=2)):
        gate.wait_for(2)
        gate.let_go()
        source.wait_until(lambda: len(source.reports) == 6)
    assert gate.most_at_once == 2


def test_it_asks_for_runs_that_fit_beside_the_running_ones() -> None:
    gate, source = Gate(), FakeSource()
    with working(source, offer=an_offer(concurrency=3, cpu=4, memory_mb=1000)):
        source.offer(a_task("a", gate, needs=Needs(frozenset(), 1.5, 300, 60)))
        gate.wait_for(1)
        seen = len(source.leases)
        source.wait_until(lambda: len(source.leases) > seen + 1)
        asked = source.leases[-1]
        gate.let_go()
    assert (asked["most"], asked["free"].cpu, asked["free"].memory_mb, asked["idle"]) == (2, 2.5, 700, False)


def test_a_run_that_must_be_alone_has_the_worker_for_itself() -> None:
    gate = Gate()
    source = FakeSource([a_task("alone", gate, alone=True)])
    with working(source):
        gate.wait_for(1)
        seen = len(source.leases)
        source.offer(a_task("other"))
        source.wait_until(lambda: len(source.heartbeats) >= 3)
        assert len(source.leases) == seen
        gate.let_go()
        source.wait_until(lambda: "other" in ended(source))


def test_for_a_run_that_waits_to_be_alone_it_leases_nothing_until_it_is_idle() -> None:
    gate = Gate()
    source = FakeSource([a_task("busy", gate)])
    with working(source):
        gate.wait_for(1)
        with source.changed:
            source.alone_waiting = True
            asked = len(source.leases)
        source.wait_until(lambda: len(source.leases) == asked + 1)
        source.offer(a_task("other"))
        beats = len(source.heartbeats)
        source.wait_until(lambda: len(source.heartbeats) >= beats + 3)
        assert len(source.leases) == asked + 1, "it knows that a run waits to be alone, and asked no more"
        gate.let_go()
        source.wait_until(lambda: "other" in ended(source))
    assert source.leases[asked + 1]["idle"]


def test_a_stopped_worker_lets_its_tasks_finish_and_reports_that_it_stops() -> None:
    gate = Gate()
    source = FakeSource([a_task("a", gate)])
    with working(source) as runtime:
        gate.wait_for(1)
        runtime.stop()
        source.wait_until(lambda: any(load.stopping for load in source.heartbeats))
        source.offer(a_task("too late"))
        gate.let_go()
    assert ended(source) == {"a": FINE}
    assert source.heartbeats[-1].stopped
    assert source.heartbeats[-1].running == ()


@pytest.mark.parametrize(("grace", "stop"), [(0.05, Runtime.stop), (3600, Runtime.stop_now)])
def test_a_task_that_does_not_finish_within_the_grace_is_handed_back(
    grace: float, stop: Callable[[Runtime], None]
) -> None:
    gate = Gate()
    source = FakeSource([a_task("a", gate)])
    with working(source, pace=replace(HASTY, grace=grace)) as runtime:
        gate.wait_for(1)
        stop(runtime)
    assert ended(source)["a"].handed_back
    assert source.heartbeats[-1].stopped


@pytest.mark.parametrize("method", ["register", "lease", "send_heartbeat"])
def test_a_call_that_is_unavailable_for_a_while_is_tried_again(method: str, caplog: pytest.LogCaptureFixture) -> None:
    source = FakeSource(errors={method: [Unavailable("away")] * 3})
    with working(source):
        source.wait_until(lambda: not source.errors[method])
        source.offer(a_task("a"))
        source.wait_until(lambda: "a" in ended(source))
    assert caplog.text.count("away") == 1, "logged once"


@pytest.mark.parametrize("method", ["register", "lease", "send_heartbeat"])
def test_a_refused_token_ends_the_worker_with_the_reason(method: str) -> None:
    source = FakeSource(errors={method: [NotAllowed("the token is not valid")]})

    def work() -> None:
        with working(source) as runtime:
            assert method == "register" or runtime._stopping.wait(PATIENCE)

    with pytest.raises(NotAllowed, match="the token is not valid"):
        work()


def test_a_worker_whose_heartbeat_breaks_does_not_go_on_without(monkeypatch: pytest.MonkeyPatch) -> None:
    bugs: queue.SimpleQueue[threading.ExceptHookArgs] = queue.SimpleQueue()
    monkeypatch.setattr(threading, "excepthook", bugs.put)
    source = FakeSource(errors={"send_heartbeat": [ValueError("a bug")]})

    def work() -> None:
        with working(source) as runtime:
            assert runtime._stopping.wait(PATIENCE)

    with pytest.raises(NotAllowed, match=r"ValueError\('a bug'\)"):
        work()
    assert bugs.get(timeout=PATIENCE).exc_type is ValueError


def test_a_worker_that_is_stopped_before_it_could_register_just_ends() -> None:
    source = FakeSource([a_task("a")], errors={"register": [Unavailable("away")] * 10_000})
    with working(source) as runtime:
        runtime.stop()
    assert (source.registered, source.leases, source.heartbeats) == (0, [], [])


def test_a_worker_that_is_refused_does_not_ask_without_pause_while_it_ends() -> None:
    gate = Gate()
    source = FakeSource([a_task("a", gate)], errors={"send_heartbeat": [NotAllowed("not valid any more")] * 100})

    def work() -> None:
        with working(source, pace=replace(HASTY, heartbeat=0.2)) as runtime:
            gate.wait_for(1)
            assert runtime._stopping.wait(PATIENCE)
            time.sleep(0.1)
            assert len(source.errors["send_heartbeat"]) >= 90, "at most a few more: one reports that it stops"
            gate.let_go()

    with pytest.raises(NotAllowed, match="not valid any more"):
        work()


def test_resources_are_not_kept_free_for_ever_for_a_run_that_must_be_alone() -> None:
    gate = Gate()
    source = FakeSource([a_task("long", gate)], alone_waiting=True)
    with working(source, pace=replace(HASTY, alone=0.05)):
        source.wait_until(lambda: any(not asked["idle"] for asked in source.leases))
        source.offer(a_task("other"))
        try:
            source.wait_until(lambda: "other" in ended(source))
        finally:
            gate.let_go()


def test_a_worker_that_must_register_again_keeps_its_id() -> None:
    class Registry(FakeSource):
        offers: list[Offer]

        def register(self, offer: Offer) -> str:
            with self.changed:
                self.offers = [*getattr(self, "offers", []), offer]
                self.changed.notify_all()
            return offer.worker_id or "new-id"

    source = Registry(errors={"lease": [WorkerNotFound("new-id")]})
    with working(source):
        source.wait_until(lambda: len(source.offers) == 2)
    assert [offer.worker_id for offer in source.offers] == [None, "new-id"]

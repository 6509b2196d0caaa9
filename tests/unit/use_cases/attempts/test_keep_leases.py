"""Heartbeats extend leases, bring back a cancel, and stop an attempt that must not go on."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise

import pytest

from onthedot.core import lifecycle
from onthedot.core.errors import Unavailable
from onthedot.core.finish import CANCELLED, FENCED, NOT_EXTENDED
from onthedot.core.leases import HeartbeatThreads, StoreLeases
from onthedot.core.moves import Move
from onthedot.core.ports import Moved, Refused
from onthedot.core.progress import LatestProgress, ProgressReport
from onthedot.core.records import Record
from onthedot.core.stopping import Stop
from tests.builders import VirtualClock, World, a_run, a_world, the_start_of

PATIENCE = 60.0


class Store:
    """The runs of a world, in a store that can be away, or that can hang."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.away = False
        self.moves = 0
        self.before_move: Callable[[Move], None] = lambda _: None

    def move(self, move: Move) -> Moved | Refused:
        if self.away:
            raise Unavailable("throttled")
        self.before_move(move)
        self.moves += 1
        return self._world.store.move(move)


class Scene:
    """A started run whose lease is kept in a store that a test controls."""

    def __init__(self, world: World, seconds: float = 3600) -> None:
        self.world = world
        self.clock: VirtualClock = world.clock
        self.store = Store(world)
        self.leases = StoreLeases(self.store, world.clock, seconds)  # type: ignore[arg-type] # it only moves
        self.run = self.started_run()
        self.stop = Stop()

    def started_run(self) -> Record:
        run = a_run(self.clock).dispatched().stored_in(self.world.store)
        started = self.world.store.move(the_start_of(run, self.clock.now()))
        assert isinstance(started, Moved)
        assert started.run is not None
        return started.run

    def lease_until(self, run: Record) -> int | None:
        stored = self.world.store.get(run.run_id)
        assert stored is not None
        return stored.lease_until

    def progress(self) -> ProgressReport | None:
        stored = self.world.store.get(self.run.run_id)
        assert stored is not None
        return stored.progress

    def stop_reason(self) -> str | None:
        return self.stop.reason

    def beat(self) -> bool:
        return self.leases.keeper.extend_all()

    def watch(self) -> None:
        self.leases.keeper.stop_expiring()


@pytest.fixture
def scene() -> Iterator[Scene]:
    with a_world() as world:
        yield Scene(world)


def test_a_beat_extends_the_lease(scene: Scene) -> None:
    with scene.leases.keeping(scene.run, scene.stop, LatestProgress()):
        scene.clock.advance(10)
        assert scene.beat() is True
    assert scene.lease_until(scene.run) == scene.clock.now() + lifecycle.LEASE_MS
    assert scene.stop_reason() is None


def test_beats_store_the_latest_report_and_write_no_more_than_without_one(scene: Scene) -> None:
    progress = LatestProgress()
    with scene.leases.keeping(scene.run, scene.stop, progress):
        for number in range(10_000):
            progress.report(ProgressReport(number / 10_000, f"row {number}"))
        scene.clock.advance(10)
        first = scene.clock.now()
        assert scene.beat()
        assert scene.progress() == ProgressReport(0.9999, "row 9999", first)
        scene.clock.advance(10)
        assert scene.beat()
        assert scene.progress() == ProgressReport(0.9999, "row 9999", first), "nothing was reported since"
        progress.report(ProgressReport(1.0))
        scene.clock.advance(10)
        assert scene.beat()
    assert scene.progress() == ProgressReport(1.0, None, scene.clock.now())
    assert scene.store.moves == 3


def test_a_report_whose_beat_failed_comes_with_the_next_one(scene: Scene) -> None:
    progress = LatestProgress()
    with scene.leases.keeping(scene.run, scene.stop, progress):
        progress.report(ProgressReport(0.5))
        scene.store.away = True
        assert not scene.beat()
        scene.store.away = False
        assert scene.beat()
    assert scene.progress() == ProgressReport(0.5, None, scene.clock.now())


def test_a_beat_brings_back_a_cancel(scene: Scene) -> None:
    expected = lifecycle.extend_lease(scene.run, 0).expect
    scene.world.store.move(Move(scene.run.run_id, expected, scene.run.status, {"cancel_requested": 5}))
    with scene.leases.keeping(scene.run, scene.stop, LatestProgress()):
        scene.beat()
    assert scene.stop_reason() == CANCELLED


def test_an_attempt_that_another_one_replaced_is_stopped_and_extended_no_more(scene: Scene) -> None:
    scene.clock.advance(60)
    deployment = scene.world.deployment
    scene.world.store.move(lifecycle.lose(scene.run, scene.clock.now(), generation="new", deployment=deployment))
    with scene.leases.keeping(scene.run, scene.stop, LatestProgress()):
        assert scene.beat() is True
        assert scene.stop_reason() == FENCED
        scene.store.away = True
        assert scene.beat() is True, "the store is not asked again"


def test_a_worker_that_cannot_extend_a_lease_stops_its_target_before_the_lease_ends(scene: Scene) -> None:
    scene.store.away = True
    with scene.leases.keeping(scene.run, scene.stop, LatestProgress()):
        for _ in range(2):
            scene.clock.advance(10)
            assert scene.beat() is False
            scene.watch()
        assert scene.stop_reason() is None, "the lease outlasts two missed beats"
        scene.clock.advance(5)
        scene.watch()
    assert scene.stop_reason() == NOT_EXTENDED
    assert scene.clock.now() < (scene.run.lease_until or 0)


def test_a_store_that_comes_back_in_time_changes_nothing(scene: Scene) -> None:
    scene.store.away = True
    with scene.leases.keeping(scene.run, scene.stop, LatestProgress()):
        scene.clock.advance(20)
        scene.beat()
        scene.store.away = False
        scene.beat()
        scene.clock.advance(20)
        scene.watch()
    assert scene.stop_reason() is None


def test_the_end_of_an_old_attempt_leaves_the_lease_of_the_present_one_alone(scene: Scene) -> None:
    old = replace(scene.run, attempt=scene.run.attempt - 1, attempt_token="old")
    with scene.leases.keeping(scene.run, scene.stop, LatestProgress()):
        with scene.leases.keeping(old, Stop(), LatestProgress()):
            pass
        scene.clock.advance(26)
        scene.watch()
        assert scene.stop_reason() == NOT_EXTENDED, "its lease is still watched"


def test_a_call_that_hangs_does_not_keep_the_other_leases_from_being_extended(scene: Scene) -> None:
    other, others_turn = scene.started_run(), threading.Event()

    def hang_until_the_other_was_extended(move: Move) -> None:
        if move.run_id == scene.run.run_id:
            assert others_turn.wait(PATIENCE)
        else:
            others_turn.set()

    scene.store.before_move = hang_until_the_other_was_extended
    with (
        scene.leases.keeping(scene.run, scene.stop, LatestProgress()),
        scene.leases.keeping(other, Stop(), LatestProgress()),
    ):
        scene.clock.advance(10)
        assert scene.beat() is True
    assert scene.lease_until(other) == scene.clock.now() + lifecycle.LEASE_MS


def test_an_outage_is_logged_once(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    scene.store.away = True
    with caplog.at_level(logging.WARNING), scene.leases.keeping(scene.run, scene.stop, LatestProgress()):
        for _ in range(3):
            scene.beat()
    assert caplog.text.count("lease_not_extended: throttled") == 1


def heartbeat_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "heartbeat"]


def test_an_attempt_that_begins_while_the_last_heartbeat_of_others_hangs_has_one_heartbeat_thread() -> None:
    hanging, goes_on = threading.Event(), threading.Event()

    def hang(_: Move) -> None:
        hanging.set()
        assert goes_on.wait(PATIENCE)

    others = set(heartbeat_threads())  # those of earlier tests may still end
    with a_world() as world:
        scene = Scene(world, seconds=0.01)
        scene.store.before_move = hang
        with scene.leases.keeping(scene.run, scene.stop, LatestProgress()):
            assert hanging.wait(PATIENCE)
        [old] = set(heartbeat_threads()) - others
        scene.leases._seconds = 3600
        with scene.leases.keeping(scene.started_run(), Stop(), LatestProgress()):
            goes_on.set()
            old.join(PATIENCE)
            assert not old.is_alive()
            assert len(set(heartbeat_threads()) - others) == 1


class Beats:
    """Heartbeats that are only counted, and that return what the test says."""

    def __init__(self, all_answered: bool) -> None:
        self.times: list[float] = []
        self.watches = 0
        self._all_answered = all_answered
        self._changed = threading.Condition()

    def beat(self) -> bool:
        with self._changed:
            self.times.append(time.monotonic())
            self._changed.notify_all()
        return self._all_answered

    def watch(self) -> None:
        with self._changed:
            self.watches += 1
            self._changed.notify_all()

    def wait_until(self, condition: Callable[[], bool], seconds: float = PATIENCE) -> bool:
        with self._changed:
            return self._changed.wait_for(condition, seconds)

    @contextmanager
    def running(self, beat_seconds: float, watch_seconds: float = 3600, *, watch_now: bool = True) -> Iterator[None]:
        threads = HeartbeatThreads(self.beat, self.watch, beat_seconds=beat_seconds, watch_seconds=watch_seconds)
        threads.start(watch_now=watch_now)
        try:
            yield
        finally:
            threads.end(PATIENCE)


def test_after_a_beat_without_an_answer_the_next_comes_sooner() -> None:
    beats = Beats(all_answered=False)
    with beats.running(1.0):
        assert beats.wait_until(lambda: len(beats.times) >= 7)
    assert min(after - before for before, after in pairwise(beats.times)) < 0.9, "a busy machine may delay some of them"


@pytest.mark.parametrize(("watch_now", "watched"), [(True, True), (False, False)])
def test_the_watch_begins_with_the_first_beat_or_before(watch_now: bool, watched: bool) -> None:
    beats = Beats(all_answered=True)
    with beats.running(3600, 0.01, watch_now=watch_now):
        assert beats.wait_until(lambda: beats.watches > 0, PATIENCE if watched else 0.1) is watched


def test_a_watch_that_waits_for_the_first_beat_begins_with_it() -> None:
    beats = Beats(all_answered=True)
    with beats.running(0.01, 0.01, watch_now=False):
        assert beats.wait_until(lambda: beats.watches > 0)

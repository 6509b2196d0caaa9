"""Heartbeats extend leases, bring back a cancel, and stop what may not go on."""

from dataclasses import replace

import pytest

from onthedot.domain.errors import Unavailable
from onthedot.domain.runs import lifecycle
from onthedot.domain.runs.moves import Move
from onthedot.domain.runs.records import Record
from onthedot.ports import Moved, Refused
from onthedot.stopping import Stop
from onthedot.use_cases.attempts.keep_leases import CANCELLED, FENCED, UNHEARD, LeaseKeeper
from tests.builders import VirtualClock, World, a_run, a_world, the_start_of


class Store:
    """The runs of a world, in a store that can be away."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.away = False

    def move(self, move: Move) -> Moved | Refused:
        if self.away:
            raise Unavailable("throttled")
        return self._world.store.move(move)


class LeaseExtended:
    def __init__(self, world: World) -> None:
        self.clock: VirtualClock = world.clock
        self.store = Store(world)
        self.keeper = LeaseKeeper(self.store, world.clock, seconds=3600)  # type: ignore[arg-type] # it only moves
        run = a_run(world.clock).dispatched().stored_in(world.store)
        started = world.store.move(the_start_of(run, world.clock.now()))
        assert isinstance(started, Moved)
        assert started.run is not None
        self.run: Record = started.run
        self.stop = Stop()

    def asked_to_stop(self) -> str | None:
        return self.stop.reason


@pytest.fixture
def kept() -> object:
    with a_world() as world:
        yield LeaseExtended(world), world


def test_a_beat_extends_the_lease(kept: tuple[LeaseExtended, World]) -> None:
    attempt, world = kept
    with attempt.keeper.keeping(attempt.run, attempt.stop):
        attempt.clock.advance(10)
        attempt.keeper.beat()
    stored = world.store.get(attempt.run.run_id)
    assert stored is not None
    assert stored.lease_until == attempt.clock.now() + lifecycle.LEASE_MS
    assert attempt.asked_to_stop() is None


def test_a_beat_brings_back_a_cancel(kept: tuple[LeaseExtended, World]) -> None:
    attempt, world = kept
    asked = Move(
        attempt.run.run_id, lifecycle.extend_lease(attempt.run, 0).expect, attempt.run.status, {"cancel_requested": 5}
    )
    world.store.move(asked)
    with attempt.keeper.keeping(attempt.run, attempt.stop):
        attempt.keeper.beat()
    assert attempt.asked_to_stop() == CANCELLED


def test_an_attempt_that_was_taken_over_is_stopped(kept: tuple[LeaseExtended, World]) -> None:
    attempt, world = kept
    attempt.clock.advance(60)
    run = replace(attempt.run)
    world.store.move(lifecycle.lose(run, attempt.clock.now(), generation="new", deployment=world.deployment))
    with attempt.keeper.keeping(attempt.run, attempt.stop):
        attempt.keeper.beat()
    assert attempt.asked_to_stop() == FENCED


def test_a_worker_that_cannot_heartbeat_stops_its_target_before_its_lease_ends(
    kept: tuple[LeaseExtended, World],
) -> None:
    attempt, _ = kept
    attempt.store.away = True
    with attempt.keeper.keeping(attempt.run, attempt.stop):
        for _ in range(2):
            attempt.clock.advance(10)
            attempt.keeper.beat()
            attempt.keeper.watch()
        assert attempt.asked_to_stop() is None, "the lease outlasts two missed beats"
        attempt.clock.advance(5)
        attempt.keeper.watch()
    assert attempt.asked_to_stop() == UNHEARD
    assert attempt.clock.now() < (attempt.run.lease_until or 0)


def test_a_store_that_comes_back_in_time_changes_nothing(kept: tuple[LeaseExtended, World]) -> None:
    attempt, _ = kept
    attempt.store.away = True
    with attempt.keeper.keeping(attempt.run, attempt.stop):
        attempt.clock.advance(20)
        attempt.keeper.beat()
        attempt.store.away = False
        attempt.keeper.beat()
        attempt.clock.advance(20)
        attempt.keeper.watch()
    assert attempt.asked_to_stop() is None

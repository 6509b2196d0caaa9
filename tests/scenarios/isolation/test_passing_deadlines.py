"""The deadline of a tick passes inside its passes. The next ticks continue there, and leave nothing behind."""

from collections.abc import Sequence
from typing import Any

import pytest

from onthedot.core.moves import Move
from onthedot.core.pass_progress import ShardProgress
from onthedot.core.ports import Deadline, Tick, TickLease, Undecided
from onthedot.core.records import Status
from onthedot.core.slots import DECISION_MS, Deployment, SlotKind, bucket_of, slot_name
from onthedot.core.tick import dispatch_due
from tests.builders import NOON, World, a_run, a_world
from tests.scenarios.kits.latency import Trouble
from tests.scenarios.kits.recurring import cron, submit
from tests.scenarios.kits.simulation import Simulation
from tests.scenarios.kits.troubled_world import DISPATCHER_MS, SPARE_MS, TickOutage, a_troubled_world

HOUR = 3_600_000
SLOW_MS = 1_000
"""So slow that a tick of two shards has time for a part of the past hour only."""


def test_the_runs_of_an_hour_without_ticks_all_start_though_each_tick_runs_out_of_time() -> None:
    with a_troubled_world(1, Deployment(shards=2, lookahead=3, history_days=7)) as troubled:
        world = troubled.world
        runs = [a_run(world.clock).due_in(600 + 60 * n).pending().stored_in(world.store) for n in range(60)]
        troubled.outages.append(TickOutage(NOON, NOON + HOUR + 600_000))
        troubled.services.troubles.append(Trouble("store", NOON + HOUR, NOON + 4 * HOUR, slow_ms=SLOW_MS))
        troubled.let_pass(2 * 3600)
        assert troubled.counts["out_of_time"] > 0
        assert not troubled.errors
        ends = {run.run_id: world.store.get(run.run_id) for run in runs}
        assert {end.status for end in ends.values() if end is not None} == {Status.SUCCEEDED}
        assert {len(troubled.calls[run.run_id]) for run in runs} == {1}


@pytest.mark.parametrize("kind", list(SlotKind))
def test_progress_does_not_pass_a_slot_that_was_read_when_the_time_was_over(
    world: World, kind: SlotKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    tick, present = Tick(0, (0, 1), NOON), bucket_of(NOON)
    lease, begun = TickLease((0, 1), "before", NOON), present - 10
    world.progress.begin(lease, NOON - 1)
    world.progress.finish(lease, {}, dict.fromkeys((0, 1), ShardProgress(*[begun] * 5)))
    slow = slot_name(kind, present % 2, present - 8)
    status = Status.PENDING if kind is SlotKind.FIRE else Status.DISPATCHED
    a_run(world.clock).standing(status, slow).stored_in(world.store)
    read_slot = type(world.store).read_slot

    def read(self: Any, slot: str, *more: Any) -> Any:
        world.clock.advance(60 if slot == slow else 0)
        return read_slot(self, slot, *more)

    monkeypatch.setattr(type(world.store), "read_slot", read)
    counts = dispatch_due(world.engine, world.progress, tick, Deadline.after(NOON, 30_000))
    assert (counts["out_of_time"] > 0, counts["claimed"], counts["resent"]) == (True, 0, 0)
    after = world.progress.begin(TickLease((0, 1), "after", NOON + HOUR), NOON + HOUR)
    assert after is not None
    assert (after[present % 2].fire if kind is SlotKind.FIRE else after[present % 2].watch) <= present - 8


@pytest.mark.parametrize("kind", list(SlotKind))
def test_progress_does_not_pass_a_slot_whose_runs_could_not_be_moved(
    kind: SlotKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    with a_world() as world:
        tick, lease, present = Tick(0, (0, 1), NOON), TickLease((0, 1), "before", NOON), bucket_of(NOON)
        world.progress.begin(lease, NOON - 1)
        world.progress.finish(lease, {}, dict.fromkeys((0, 1), ShardProgress(*[present - 10] * 5)))
        slot = slot_name(kind, present % 2, present - 3)
        status = Status.PENDING if kind is SlotKind.FIRE else Status.DISPATCHED
        a_run(world.clock).due_in(-300).standing(status, slot).stored_in(world.store)

        def throttled(_: Any, moves: Sequence[Move], __: Deadline) -> list[Undecided]:
            return [Undecided("throttled")] * len(moves)

        monkeypatch.setattr(type(world.store), "move_many", throttled)
        counts = dispatch_due(world.engine, world.progress, tick, Deadline.after(NOON, 30_000))
        assert counts["throttled"] > 0
        after = world.progress.begin(TickLease((0, 1), "after", NOON + HOUR), NOON + HOUR)
        assert after is not None
        done = {shard: one.fire if kind is SlotKind.FIRE else one.watch for shard, one in after.items()}
        assert done[present % 2] <= present - 3 < done[1 - present % 2]


def test_a_redelivered_tick_ends_before_its_time_out_though_each_slot_takes_long() -> None:
    """It looks for the claims of its first delivery in many watch slots."""
    with a_troubled_world(1, Deployment(shards=2, lookahead=3, history_days=7)) as troubled:
        troubled.services.troubles.append(Trouble("store", NOON, NOON + HOUR, slow_ms=3 * SLOW_MS))
        again = Tick(0, (0, 1), NOON - 100_000, "again", redelivered=True)
        deadline = Deadline.after(NOON, DISPATCHER_MS - SPARE_MS)
        counts = dispatch_due(troubled.engine(), troubled.world.progress, again, deadline)
        assert counts["out_of_time"] > 0
        assert troubled.clock.now() < NOON + DISPATCHER_MS


def test_no_slot_is_written_long_after_it_was_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dispatcher that is stopped before a write must not put records into slots that were read meanwhile."""
    with a_world() as world:
        simulation = Simulation(world)
        a_run(world.clock).due_in(10).pending().stored_in(world.store)
        a_run(world.clock).due_in(-300).dispatched().stored_in(world.store)
        submit(simulation, cron("*/10 * * * *"))
        world.clock.advance(7 * 60)
        left: dict[str, list[int]] = {"create_many": [], "move_many": []}
        for name, given in left.items():
            write = getattr(type(world.store), name)

            def noted(self: Any, records: Any, deadline: Deadline, given: Any = given, write: Any = write) -> Any:
                given.append(deadline.at - world.clock.now())
                return write(self, records, deadline)

            monkeypatch.setattr(type(world.store), name, noted)
        shards = tuple(range(world.deployment.shards))
        counts = dispatch_due(
            world.engine, world.progress, Tick(0, shards, world.clock.now()), Deadline.after(world.clock.now(), HOUR)
        )
        assert (counts["claimed"], counts["resent"], counts["stamped"], counts["advanced"]) == (1, 1, 1, 1)
        assert all(given and max(given) <= DECISION_MS for given in left.values())


def test_runs_are_not_passed_after_a_clock_that_was_an_hour_ahead_was_set_back(
    world: World, simulation: Simulation
) -> None:
    """A tick with the wrong clock has put progress an hour after the present. Then there are no ticks for a while."""
    lease = TickLease(tuple(range(world.deployment.shards)), "ahead", NOON)
    ahead = bucket_of(NOON) + 60
    progress = ShardProgress(fire=ahead, watch=ahead, deep=ahead, deep_until=ahead, early=ahead + 13)
    world.progress.begin(lease, NOON)
    world.progress.finish(lease, {}, dict.fromkeys(lease.shards, progress))
    simulation.let_pass(60)
    run = a_run(world.clock).due_in(300).pending().stored_in(world.store)
    simulation.let_pass(1_200, ticking=False)
    assert simulation.status(run) is Status.PENDING
    simulation.let_pass(120)
    assert simulation.status(run) is Status.SUCCEEDED

"""Shards that no writer uses any more are retired when they are empty, and never under a record or a writer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import pytest

from onthedot.cli.operations.retire_shards import Retirement, retire_shards
from onthedot.core.choices import Priority
from onthedot.core.errors import Unavailable
from onthedot.core.gate_names import GateId, waiting_slot
from onthedot.core.ports import Page, SlotEntry
from onthedot.core.records import Record, Status
from onthedot.core.shards import ShardHistory, ShardStore
from onthedot.core.slots import BUCKET_MS, Deployment, bucket_of, shard_of, slot_shard
from onthedot.engines.sqlite.store import SqliteRunStore
from onthedot.engines.store_around import announce
from onthedot.gates.flag import flag_gate
from onthedot.gates.limits import GateLimits
from tests.builders import World, a_run, a_world, the_claim_of
from tests.scenarios.kits.recurring import every, submit
from tests.scenarios.kits.simulation import Simulation

FEW, MANY = Deployment(shards=2, lookahead=3, history_days=7), Deployment(shards=8, lookahead=3, history_days=7)
DAY = 86_400


def a_process(world: World, deployment: Deployment) -> Simulation:
    return Simulation(World.on(world.database, world.clock, deployment, 10))


def retire(world: World) -> Retirement:
    return retire_shards(world.shards, world.due_index, world.clock, lambda _: None)


def in_an_old_shard(simulation: Simulation, delay_s: float) -> Record:
    """Submit until a run is in a shard that only the larger number has."""
    runs = (simulation.submit(delay_s) for _ in range(100))
    return next(run for run in runs if slot_shard(run.slot or "") >= FEW.shards)


@dataclass
class Meanwhile:
    """The world's history, with an act of another process during each read of the index."""

    world: World
    act: Callable[[], object]
    at: str = "slots"

    def read(self) -> ShardHistory:
        return self.world.shards.read()

    def replace(self, seen: ShardHistory, history: ShardHistory) -> bool:
        if self.at == "replace":
            self.act()
        return self.world.shards.replace(seen, history)

    def slots(self, cursor: str | None = None) -> Page[str]:
        page = self.world.due_index.slots(cursor)
        if self.at == "slots":
            self.act()
        return page


def test_shards_whose_records_are_done_are_retired_and_no_more_ticked() -> None:
    with a_world(MANY) as world:
        before = Simulation(world)
        recurring = submit(before, every(90, before))
        before.submit(400)
        before.let_pass(900)
        after = a_process(world, FEW)
        after.submit(400)
        after.let_pass(900)
        world.clock.advance(DAY)
        after.let_pass(900)
        assert after.served.count() == MANY.shards
        assert retire(world) == Retirement(MANY.shards, FEW.shards)
        assert after.served.count() == FEW.shards
        fires = len(after.target.calls)
        after.let_pass(900)
        assert len(after.target.calls) == fires + 10
        assert slot_shard(after.stored(recurring).slot or "") < FEW.shards


def test_nothing_is_retired_while_a_record_is_in_an_old_shard() -> None:
    with a_world(MANY) as world:
        run = in_an_old_shard(Simulation(world), 3 * DAY)
        after = a_process(world, FEW)
        after.submit(10)
        world.clock.advance(DAY + 60)
        found = retire(world)
        assert (found.done, found.left >= 1) == (False, True)
        assert found.last_due == bucket_of(run.due_at) * BUCKET_MS
        assert world.shards.read().used == MANY.shards


def test_nothing_is_retired_within_a_day_after_the_last_writer() -> None:
    with a_world(MANY) as world:
        before, after = Simulation(world), a_process(world, FEW)
        before.submit(10)
        after.submit(10)
        world.clock.advance(DAY - 60)
        assert retire(world) == Retirement(MANY.shards, MANY.shards)
        before.submit(10)
        world.clock.advance(DAY - 60)
        assert not retire(world).done
        assert world.shards.read().used == MANY.shards


def test_a_table_without_writers_has_nothing_to_retire() -> None:
    with a_world(MANY) as world:
        assert retire(world) == Retirement(0, 0)


@pytest.mark.parametrize("at", ["slots", "replace"])
def test_a_writer_of_the_larger_number_that_comes_meanwhile_wins(at: str) -> None:
    with a_world(MANY) as world:
        announce(world.shards, MANY.shards, world.clock.now())
        world.clock.advance(2 * DAY)
        announce(world.shards, FEW.shards, world.clock.now())
        larger = Meanwhile(world, lambda: announce(world.shards, MANY.shards, world.clock.now()), at)
        with pytest.raises(Unavailable, match="meanwhile"):
            retire_shards(cast(ShardStore, larger), larger, world.clock, lambda _: None)
        assert world.shards.read().used == MANY.shards


def test_a_writer_of_the_smaller_number_that_comes_meanwhile_hinders_nothing() -> None:
    with a_world(MANY) as world:
        announce(world.shards, MANY.shards, world.clock.now())
        announce(world.shards, FEW.shards, world.clock.now())
        world.clock.advance(2 * DAY)
        smaller = Meanwhile(world, lambda: announce(world.shards, FEW.shards, world.clock.now()), "replace")
        assert retire_shards(cast(ShardStore, smaller), smaller, world.clock, lambda _: None).done
        assert world.shards.read().used == FEW.shards


def test_shards_that_are_used_again_after_days_are_read_from_their_new_first_writer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with a_world(MANY) as world:
        before, after = Simulation(world), a_process(world, FEW)
        before.submit(10)
        after.submit(10)
        before.let_pass(200)
        world.clock.advance(2 * DAY)
        after.let_pass(120)
        assert retire(world).done
        world.clock.advance(3 * DAY)
        after.let_pass(60)
        run = in_an_old_shard(before, 400)
        assert world.shards.read().born(MANY.shards - 1) == bucket_of(world.clock.now())
        read: list[str] = []
        read_slot = SqliteRunStore.read_slot

        def counted(store: SqliteRunStore, slot: str, *more: Any) -> Page[SlotEntry]:
            read.append(slot)
            return read_slot(store, slot, *more)

        monkeypatch.setattr(SqliteRunStore, "read_slot", counted)
        after.let_pass(61)
        assert {slot_shard(slot) for slot in read} == set(range(MANY.shards))
        assert len([slot for slot in read if slot_shard(slot) == MANY.shards - 1]) < 100
        after.let_pass(360)
        assert after.target.times_of(run.run_id) == [run.fire_time]


def test_a_record_that_moves_inside_its_shard_past_a_read_is_found() -> None:
    with a_world(MANY) as world:
        run = in_an_old_shard(Simulation(world), 2 * DAY)
        a_process(world, FEW).submit(10)
        world.clock.advance(2 * DAY - 100)
        claim = the_claim_of(run, world.clock)

        class Hiding(Meanwhile):
            """An index whose first read misses the record, because it moves from an unread slot to a read one."""

            def slots(self, cursor: str | None = None) -> Page[str]:
                page = super().slots(cursor)
                kept = [slot for slot in page.items if slot != run.slot]
                return Page(kept, page.cursor)

        moving = Hiding(world, lambda: world.store.move(claim))
        assert retire_shards(world.shards, moving, world.clock, lambda _: None).left >= 1


def a_gate_in_an_old_shard(world: World) -> GateId:
    """Flag a gate in a shard that only the larger number has."""
    gates = (GateId("acme", f"gate-{number}") for number in range(100))
    gate = next(gate for gate in gates if shard_of(gate.text, MANY.shards) >= FEW.shards)
    flag_gate(world.engine, gate, Priority.MEDIUM, world.clock.now())
    return gate


def test_a_flagged_gate_in_an_old_shard_keeps_the_shard_until_a_look_has_moved_it() -> None:
    with a_world(MANY) as world:
        Simulation(world).submit(10)
        after = a_process(world, FEW)
        after.submit(10)
        after.let_pass(60)
        world.clock.advance(DAY)
        gate = a_gate_in_an_old_shard(world)
        world.gates.put("acme", gate.name, GateLimits(paused=True))
        assert retire(world).left == 1
        after.let_pass(300)
        assert slot_shard(world.gates.read(gate).slot or "") < FEW.shards
        assert retire(world).done


def test_waiting_lists_and_the_slots_of_keys_are_in_no_shard() -> None:
    with a_world(MANY) as world:
        Simulation(world).submit(10)
        after = a_process(world, FEW)
        after.submit(10)
        after.let_pass(60)
        world.clock.advance(DAY)
        key = GateId("9#9", "customer", "7#7#7")
        flag_gate(after.world.engine, key, Priority.MEDIUM, world.clock.now())
        run = a_run(world.clock).standing(Status.PENDING, waiting_slot(key, Priority.MEDIUM, 7)).build()
        assert after.world.store.create(run) is None
        assert retire(world).done

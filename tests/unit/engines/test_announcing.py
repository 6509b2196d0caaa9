"""A store announces its number of shards before it writes, and that costs nothing in between."""

from collections.abc import Callable
from functools import partial

import pytest

from onthedot.core.errors import Unavailable
from onthedot.core.items import Items
from onthedot.core.ports import Deadline, RunStore
from onthedot.core.shards import ShardHistory, ShardStep, ShardStore
from onthedot.core.slots import bucket_of
from onthedot.engines.store_around import AnnouncingStore, announce
from tests.builders import World, a_run, a_world, the_claim_of

HOUR = 3_600


class Counted(ShardStore):
    """A stored history that counts its calls, and may lose every race."""

    def __init__(self, items: Items) -> None:
        super().__init__(items)
        self.calls: list[str] = []
        self.loses = False

    def read(self) -> ShardHistory:
        self.calls.append("read")
        return super().read()

    def replace(self, seen: ShardHistory, history: ShardHistory) -> bool:
        self.calls.append("replace")
        return not self.loses and super().replace(seen, history)


def announcing(world: World, shards: ShardStore, count: int = 16) -> AnnouncingStore:
    return AnnouncingStore(world.store, shards, world.clock, count)


def test_one_read_and_one_write_then_nothing_for_an_hour() -> None:
    with a_world() as world:
        shards = Counted(world.items)
        store = announcing(world, shards)
        for _ in range(100):
            a_run(world.clock).stored_in(store)
            world.clock.advance(30)
        assert shards.calls == ["read", "replace"]


def test_a_process_that_finds_its_number_announced_only_reads() -> None:
    with a_world() as world:
        a_run(world.clock).stored_in(announcing(world, world.shards))
        shards = Counted(world.items)
        a_run(world.clock).stored_in(announcing(world, shards))
        assert shards.calls == ["read"]


def test_a_process_that_lives_long_announces_again_so_that_its_shards_are_not_retired() -> None:
    with a_world() as world:
        store = announcing(world, world.shards)
        a_run(world.clock).stored_in(store)
        first = bucket_of(world.clock.now())
        world.clock.advance(3 * HOUR)
        a_run(world.clock).stored_in(store)
        present = bucket_of(world.clock.now())
        assert ShardStep(16, first, present) in world.shards.read().steps


def writes(world: World) -> dict[str, Callable[[RunStore], object]]:
    run = a_run(world.clock).due_in(600).pending().stored_in(world.store)
    claim, soon = the_claim_of(run, world.clock), Deadline.after(world.clock.now(), 1_000)
    return {
        "create": lambda store: store.create(a_run(world.clock).build()),
        "create_many": lambda store: store.create_many([a_run(world.clock).build()], soon),
        "move": lambda store: store.move(claim),
        "move_many": lambda store: store.move_many([claim], soon),
    }


@pytest.mark.parametrize("write", ["create", "create_many", "move", "move_many"])
def test_no_write_goes_round_the_announcement(write: str) -> None:
    with a_world() as world:
        shards = Counted(world.items)
        write_once = partial(writes(world)[write], announcing(world, shards))
        shards.loses = True
        with pytest.raises(Unavailable, match="shards"):
            write_once()
        shards.loses = False
        write_once()
        assert world.shards.read().used == 16


def test_a_smaller_number_never_lowers_the_stored_one() -> None:
    with a_world() as world:
        announce(world.shards, 32, world.clock.now())
        announce(world.shards, 16, world.clock.now())
        assert world.shards.read().used == 32

"""The number of shards cannot be announced for a while: a process that has announced it before goes on writing."""

from collections.abc import Iterator

import pytest

from onthedot.core.errors import Unavailable
from onthedot.core.shards import OVERDUE_AFTER, ShardHistory
from onthedot.engines.store_around import AnnouncingStore
from tests.builders import World, a_run, a_world


class FailingShards:
    """A shard store that raises its error, if it has one."""

    def __init__(self, world: World) -> None:
        self.inner = world.shards
        self.error: Exception | None = None
        self.reads = 0

    def read(self) -> ShardHistory:
        self.reads += 1
        if self.error is not None:
            raise self.error
        return self.inner.read()

    def replace(self, seen: ShardHistory, history: ShardHistory) -> bool:
        return self.inner.replace(seen, history)


@pytest.fixture
def world() -> Iterator[World]:
    with a_world() as world:
        yield world


@pytest.mark.parametrize("error", [Unavailable("throttled"), KeyError("from a newer version")])
def test_a_process_that_announced_its_shards_writes_while_it_cannot_do_so_again(world: World, error: Exception) -> None:
    shards = FailingShards(world)
    store = AnnouncingStore(world.store, shards, world.clock, 2)  # type: ignore[arg-type]
    a_run(world.clock).stored_in(store)
    shards.error = error

    for _ in range(3):
        world.clock.advance(3600)
        a_run(world.clock).stored_in(store)
        a_run(world.clock).stored_in(store)
    assert shards.reads == 4, "a store that fails is asked once a minute at most"

    world.clock.advance(60 * OVERDUE_AFTER)
    with pytest.raises(type(error)):
        a_run(world.clock).stored_in(store)


def test_a_process_that_never_announced_its_shards_does_not_write(world: World) -> None:
    shards = FailingShards(world)
    shards.error = Unavailable("throttled")

    with pytest.raises(Unavailable):
        a_run(world.clock).stored_in(AnnouncingStore(world.store, shards, world.clock, 2))  # type: ignore[arg-type]

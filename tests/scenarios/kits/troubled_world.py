"""A deployment in trouble: shard groups, dispatchers and workers side by side, slow and failing services, index lag."""

import logging
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from onthedot.core.attempt import RunExecutor, execute_run
from onthedot.core.errors import Unavailable
from onthedot.core.pools import PoolKind
from onthedot.core.ports import Answer, Call, Deadline, Received
from onthedot.core.schema import PRIORITIES
from onthedot.core.shards import ServedShards
from onthedot.core.slots import BUCKET_MS, Deployment, queue_key
from onthedot.core.start import Done
from onthedot.core.tick import continue_tick, dispatch_due, must_be_redelivered, plan_ticks
from onthedot.engine import Engine
from onthedot.engines.sqlite.database import Database
from onthedot.targets.types import WorkflowTarget
from onthedot.workflows.start import WorkflowStarter
from tests.builders import World
from tests.scenarios.kits.index_lag import LaggingIndex, LaggingStore
from tests.scenarios.kits.latency import Service, Services
from tests.scenarios.kits.side_by_side import Killed, SideClock
from tests.scenarios.kits.simulation import NoLeases

_LOG: Final = logging.getLogger(__name__)
DISPATCHER_MS: Final = 90_000
"""The timeout of the dispatcher's function. It ends its work 10 s before."""
SPARE_MS: Final = 10_000


@dataclass(frozen=True)
class TickOutage:
    """A time without ticks: of one shard group, whose dispatchers die at once, or of all, without a planner."""

    first: int
    last: int
    group: int | None = None

    def covers(self, now: int, group: int) -> bool:
        return self.first <= now < self.last and self.group in (None, group)


@dataclass
class TroubledWorld:
    """Drives the parts of a deployment. Each part is a process in virtual time."""

    world: World
    services: Services
    index: LaggingIndex
    chance: random.Random
    shards_per_group: int
    dispatchers: int
    """Most dispatchers at work at once, for all shard groups."""
    outages: list[TickOutage] = field(default_factory=list)
    calls: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    """When the target was called, by run."""
    counts: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    """The errors that ended ticks and attempts, which the platform would log."""
    ticks_at_work: int = 0
    _asked: tuple[int, bool] | None = None
    """The number of changes in the database when the messages were asked for last, and whether a tick can begin."""
    _found: int | None = None

    @property
    def clock(self) -> SideClock:
        clock = self.world.clock
        assert isinstance(clock, SideClock)
        return clock

    def engine(self) -> Engine:
        """Return the engine as a part has it: its slots lag, its calls take time and may fail."""
        lagging: Any = LaggingStore(self.world.store, self.index)
        return self.services.engine(replace(self.world.engine, store=lagging))

    def let_pass(self, seconds: float) -> None:
        """Play the parts for this long: a planner each minute, a dispatcher per tick, a worker per message."""
        until = self.clock.now() + round(seconds * 1000)
        self.clock.spawn(lambda: self._plan_until(until))
        while self.clock.now() < until:
            self._deliver()
            moment = min(until, max(self._next_message(), self.clock.now()))
            if not self.clock.run_next(moment):
                self.clock.sleep_until(moment)

    def _plan_until(self, until: int) -> None:
        """Be the planner, once a minute."""
        while self.clock.now() < until:
            self.clock.sleep_until((self.clock.now() // BUCKET_MS + 1) * BUCKET_MS)
            if not any(outage.group is None and outage.covers(self.clock.now(), 0) for outage in self.outages):
                shards = ServedShards(self.world.shards, self.world.deployment.shards).count()
                plan_ticks(self.world.ticks, self.clock, shards=shards, shards_per_group=self.shards_per_group)

    # Messages

    def _deliver(self) -> None:
        """Start a process for each message that is visible."""
        if self._next_message() > self.clock.now():
            return
        while self.ticks_at_work < self.dispatchers and (ticks := self.world.ticks.receive_ticks(1)):
            self.ticks_at_work += 1
            self.clock.spawn(partial(self._dispatch, ticks[0]), timeout_ms=DISPATCHER_MS)
        for pool, priority in self._served():
            for received in self.world.received(priority, pool):
                self.clock.spawn(partial(self._work, received))

    def _next_message(self) -> int:
        """Return when a message becomes visible, or became so."""
        with self.world.database.transaction() as connection:
            asked = (connection.total_changes, self.ticks_at_work < self.dispatchers)
            if asked != self._asked:
                queues = [queue_key(pool, priority) for pool, priority in self._served()] + ["ticks"] * asked[1]
                query = f"SELECT min(visible_at) FROM messages WHERE queue IN ({', '.join('?' * len(queues))})"
                self._asked, self._found = asked, connection.execute(query, queues).fetchone()[0]
        return self.clock.now() + BUCKET_MS if self._found is None else self._found

    def _served(self) -> list[tuple[str, Any]]:
        pushed = (pool.name for pool in self.world.deployment.pools.all if pool.kind is PoolKind.PUSH)
        return [(pool, priority) for pool in pushed for priority in PRIORITIES]

    # Parts

    def _dispatch(self, received: Any) -> None:
        """Do a tick as the dispatcher's function does it. One that fails stays in the queue, as on AWS."""
        tick = received.tick
        try:
            if any(outage.covers(self.clock.now(), tick.group) for outage in self.outages):
                return
            deadline = Deadline.after(self.clock.now(), DISPATCHER_MS - SPARE_MS)
            progress: Any = Service(self.world.progress, "store", self.services)
            counts = dispatch_due(self.engine(), progress, tick, deadline)
            self.counts.update(counts)
            if counts["out_of_time"]:
                continue_tick(self.world.ticks, self.clock, tick)
            if not must_be_redelivered(tick, counts):
                self.world.ticks.delete_tick(received)
        except Killed:
            self.errors["dispatcher: Killed"] += 1
        except Exception as error:  # noqa: BLE001 - the function fails, and the platform goes on
            self._failed("dispatcher", error)
        finally:
            self.ticks_at_work -= 1

    def _work(self, received: Received) -> None:
        """Execute a run as the worker's function does it."""
        engine = self.engine()
        try:
            verdict = execute_run(RunExecutor(engine, self, NoLeases(), "worker", self.chance), received)
            if isinstance(verdict, Done):
                self.world.queues.delete(received)
            else:
                self.world.queues.hide(received, verdict.after_ms)
        except Exception as error:  # noqa: BLE001 - the function fails, and the platform goes on
            self._failed("worker", error)

    def perform(self, call: Call) -> Answer:
        """Take a moment and succeed, or make the graph of a workflow."""
        self.calls[call.run_id].append(self.clock.now())
        if isinstance(call.definition.target, WorkflowTarget):
            return WorkflowStarter(self.engine()).perform(call)
        self.services.wait(self.chance.randrange(500))
        return Answer(ok=True, result="fine")

    def _failed(self, part: str, error: Exception) -> None:
        known = isinstance(error, Unavailable)
        self.errors[f"{part}: {type(error).__name__}"] += 1
        _LOG.log(logging.INFO if known else logging.WARNING, "%s failed: %r", part, error)


@contextmanager
def a_troubled_world(
    seed: int, deployment: Deployment, *, shards_per_group: int = 2, dispatchers: int = 4
) -> Iterator[TroubledWorld]:
    """Build such a world. Everything random in it comes from the seed."""
    clock, chance = SideClock(), random.Random(seed)
    with Database() as database:
        world = World.on(database, clock, deployment, page_size=10)
        index = LaggingIndex(world, random.Random(chance.random()))
        pools = frozenset(pool.name for pool in deployment.pools.all)
        services = Services(clock, random.Random(chance.random()), pools)
        try:
            yield TroubledWorld(world, services, index, chance, shards_per_group, dispatchers)
        finally:
            clock.close()
            index.close()

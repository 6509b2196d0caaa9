"""A deployment with gates, in virtual time: dispatchers, push and pull workers side by side, with faults by chance."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final
from unittest import mock

from onthedot.core import ids, lifecycle
from onthedot.core.attempt import RunExecutor, execute_run
from onthedot.core.errors import OnthedotError, StaleAttempt, Unavailable
from onthedot.core.pools import DEFAULT_POOLS, Pool, PoolKind, Pools
from onthedot.core.ports import Answer, Call, Deadline, Received
from onthedot.core.progress import LatestProgress
from onthedot.core.records import Record
from onthedot.core.schema import PRIORITIES, worker_key
from onthedot.core.slots import BUCKET_MS, Deployment, queue_key
from onthedot.core.start import Done
from onthedot.core.stopping import Stop
from onthedot.core.tick import continue_tick, dispatch_due, must_be_redelivered, plan_ticks
from onthedot.engine import Engine
from onthedot.engines.sqlite.database import Database
from onthedot.gates import ask as ask_gates
from onthedot.gates import wake
from onthedot.gates.limit_store import LimitsStore
from onthedot.gates.state_store import GateStore
from onthedot.workers.lease import LeasedRun, lease_runs
from onthedot.workers.records import Load, Resources
from onthedot.workers.registrations import Offer, beat_worker, find_worker, register_worker
from onthedot.workers.report import complete_run
from tests.builders import World
from tests.scenarios.kits.faults import Crash
from tests.scenarios.kits.gate_journal import Journal
from tests.scenarios.kits.index_lag import LaggingIndex, LaggingStore
from tests.scenarios.kits.perturbed import CALM, Perturbed, Weather
from tests.scenarios.kits.side_by_side import SideClock

PULL: Final = "pull"
LONELY: Final = "lonely"
"""A pull pool that has no worker for most of the time."""
POOLS: Final = Pools(
    (*DEFAULT_POOLS, Pool(LONELY, PoolKind.PULL, frozenset({"http", "shell"}), 4, 8192, longest_seconds=600))
)
DEPLOYMENT: Final = Deployment(shards=2, lookahead=1, history_days=7, pools=POOLS)
DISPATCHER_MS: Final = 90_000
SPARE_MS: Final = 10_000
BEAT_MS: Final = 10_000
MACHINES: Final = 3
"""Machines of push workers. Each of them remembers limits by itself."""
LONGEST_LAG_MS: Final = 20_000
Work = Callable[[Call], tuple[int, Answer]]
"""Returns how many milliseconds the work of a call takes, and its answer."""


def some_lag(chance: random.Random) -> int:
    """Return the time until the index shows a write: mostly short, sometimes seconds."""
    return chance.randrange(chance.choices((50, 1_000, LONGEST_LAG_MS), (85, 12, 3))[0])


class _SeededSecrets:
    """Random ids that a seed repeats."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def token_bytes(self, count: int) -> bytes:
        return self._chance.randbytes(count)

    def token_hex(self, count: int) -> str:
        return self._chance.randbytes(count).hex()


@dataclass
class _Target:
    """The target of one attempt, in a process that extends its lease every ten seconds."""

    world: "GatedWorld"
    engine: Engine
    run: Record | None = None

    def keeping(self, run: Record, stop: Stop, progress: LatestProgress) -> AbstractContextManager[None]:
        self.run = run
        return nullcontext()

    def perform(self, call: Call) -> Answer:
        run = self.run
        assert run is not None
        takes, answer = self.world.work(call)
        clock = self.world.clock
        until = clock.now() + takes
        while clock.now() < until:
            clock.sleep_until(min(until, clock.now() + BEAT_MS))
            if clock.now() < until:
                with suppress(Unavailable):
                    self.engine.store.move(lifecycle.extend_lease(run, clock.now()))
        return answer


def _fine(call: Call) -> tuple[int, Answer]:
    return 1_000, Answer(ok=True, result=call.run_id)


@dataclass
class GatedWorld:
    """Drives the parts of a deployment. Each part is a process in virtual time, and may die at each of its calls."""

    world: World
    journal: Journal
    weather: Weather
    index: LaggingIndex
    chance: random.Random
    work: Work = _fine
    visibility_ms: int = 120_000
    """For how long the queue hides a message from other push workers."""
    push_workers: int = 300
    """Most push workers at work at once."""
    duplicated: float = 0.0
    """How likely the queue delivers a message twice."""
    errors: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    busy: int = 0
    awake: bool = True
    """Whether pull workers ask often for work."""
    _machines: list[Engine] = field(default_factory=list)
    _asked: tuple[int, bool] | None = None
    _found: int | None = None

    def __post_init__(self) -> None:
        self._machines = [self.machine() for _ in range(MACHINES)]

    @property
    def clock(self) -> SideClock:
        clock = self.world.clock
        assert isinstance(clock, SideClock)
        return clock

    def machine(self) -> Engine:
        """Return the engine of one machine: its calls take time and may fail, and it remembers limits."""
        lagging: Any = LaggingStore(self.world.store, self.index)
        engine = self.weather.engine(replace(self.world.engine, store=lagging))
        items: Any = Perturbed(self.world.items, "items", self.weather)
        limits = LimitsStore(items, self.clock, remembers=True)
        return replace(engine, limits=limits, gates=GateStore(items, self.clock, remembers=True))

    def at(self, instant: int, act: Callable[[], object]) -> None:
        """Let a client act at this instant, until no service fails."""
        self.clock.spawn(partial(self._persist, act), at=instant)

    def _persist(self, act: Callable[[], object]) -> None:
        while True:
            try:
                act()
            except Unavailable:
                self.clock.sleep_until(self.clock.now() + 1_000)
                continue
            except OnthedotError as error:
                self.errors[f"client: {type(error).__name__}"] += 1
            return

    def let_pass(self, seconds: float) -> None:
        """Play the parts for this long."""
        until = self.clock.now() + round(seconds * 1000)
        while self.clock.now() < until:
            self._deliver()
            moment = min(until, max(self._next_message(), self.clock.now()))
            if not self.clock.run_next(moment):
                self.clock.sleep_until(moment)

    def plan(self) -> None:
        """Be the planner forever, once a minute."""
        while True:
            self.clock.sleep_until((self.clock.now() // BUCKET_MS + 1) * BUCKET_MS)
            plan_ticks(self.world.ticks, self.clock, shards=self.world.deployment.shards, shards_per_group=2)

    # Messages

    def _deliver(self) -> None:
        """Start a process for each message that is visible."""
        if self._next_message() > self.clock.now():
            return
        for received in self.world.ticks.receive_ticks(10):
            self.clock.spawn(partial(self._dispatch, received), timeout_ms=DISPATCHER_MS)
        for pool, priority in self._pushed():
            if self.busy >= self.push_workers:
                break
            for one in self.world.queues.receive(pool, priority, 10, visibility_ms=self.visibility_ms):
                self._begin(one)
                if self.chance.random() < self.duplicated:
                    self.counts["duplicates"] += 1
                    self._begin(one, self.clock.now() + self.chance.randrange(3_000))

    def _begin(self, received: Received, at: int | None = None) -> None:
        self.busy += 1
        self.clock.spawn(partial(self._execute, received, self.chance.choice(self._machines)), at=at)

    def _next_message(self) -> int:
        """Return when a message becomes visible, or became so."""
        with self.world.database.transaction() as connection:
            asked = (connection.total_changes, self.busy < self.push_workers)
            if asked != self._asked:
                queues = ["ticks"]
                if asked[1]:
                    queues += [queue_key(pool, priority) for pool, priority in self._pushed()]
                query = f"SELECT min(visible_at) FROM messages WHERE queue IN ({', '.join('?' * len(queues))})"
                self._asked, self._found = asked, connection.execute(query, queues).fetchone()[0]
        return self.clock.now() + BUCKET_MS if self._found is None else self._found

    def _pushed(self) -> list[tuple[str, Any]]:
        pushed = (pool.name for pool in self.world.deployment.pools.all if pool.kind is PoolKind.PUSH)
        return [(pool, priority) for pool in pushed for priority in PRIORITIES]

    # Parts

    def _dispatch(self, received: Any) -> None:
        """Do a tick as the dispatcher's function does it."""
        tick = received.tick
        try:
            deadline = Deadline.after(self.clock.now(), DISPATCHER_MS - SPARE_MS)
            progress: Any = Perturbed(self.world.progress, "progress", self.weather)
            counts = dispatch_due(self.machine(), progress, tick, deadline)
            self.counts.update(counts)
            if counts["out_of_time"]:
                continue_tick(self.world.ticks, self.clock, tick)
            if not must_be_redelivered(tick, counts):
                self.world.ticks.delete_tick(received)
        except Unavailable:
            self.errors["dispatcher: Unavailable"] += 1

    def _execute(self, received: Received, engine: Engine) -> None:
        """Execute a run as the worker's function does it."""
        try:
            target = _Target(self, engine)
            executor = RunExecutor(engine, target, target, "push", self.chance)
            verdict = execute_run(executor, received)
            with suppress(Unavailable):
                if isinstance(verdict, Done):
                    engine.queues.delete(received)
                else:
                    engine.queues.hide(received, verdict.after_ms)
        except Unavailable:
            self.errors["worker: Unavailable"] += 1
        finally:
            self.busy -= 1

    def pull_worker(self, pool: str, places: int = 4) -> None:
        """Be a pull worker forever. When its process dies, another one begins after a while."""
        engine = self.machine()
        worker_id = f"worker_{self.chance.getrandbits(64):016x}"
        resources = Resources(concurrency=places, cpu=4, memory_mb=4096)
        offer = Offer(pool, frozenset({"http", "shell"}), resources, worker_id=worker_id)
        try:
            record = self._until_answered(lambda: register_worker(engine, None, offer))
            running: dict[str, None] = {}
            beat_at = 0
            while True:
                if self.clock.now() >= beat_at:
                    with suppress(Unavailable):
                        beat_worker(engine, None, record.worker_id, Load(tuple(running)))
                    beat_at = self.clock.now() + BEAT_MS
                if len(running) < places and self._has_work(pool, record.worker_id):
                    with suppress(Unavailable):
                        known = find_worker(engine, None, record.worker_id)
                        for lease in lease_runs(engine, known, most=places - len(running), idle=not running).leases:
                            running[lease.run.run_id] = None
                            self.clock.spawn(partial(self._complete, engine, lease, running))
                self.clock.sleep_until(self.clock.now() + self.chance.randint(100, 1_000) * (1 if self.awake else 10))
        except Crash:
            begins = self.clock.now() + self.chance.randrange(20_000)
            self.clock.spawn(partial(self.pull_worker, pool, places), at=begins)
            raise

    def _has_work(self, pool: str, worker_id: str) -> bool:
        """Return whether a lease can find something. This saves calls that would only find out that it cannot."""
        query = "SELECT 1 FROM messages WHERE queue IN (?, ?, ?) AND visible_at <= ? LIMIT 1"
        queues = [queue_key(pool, priority) for priority in PRIORITIES]
        with self.world.database.transaction() as connection:
            worker = self.world.items.get(worker_key(worker_id))
            assigned = worker is not None and worker.texts("assigned")
            return bool(assigned or connection.execute(query, (*queues, self.clock.now())).fetchone())

    def _complete(self, engine: Engine, lease: LeasedRun, running: dict[str, None]) -> None:
        """Do a leased run, and report it."""
        run, definition = lease.run, lease.definition
        assert definition is not None
        call = Call(
            run_id=run.run_id,
            job_id=run.job_id,
            attempt=run.attempt,
            fire_time=run.fire_time,
            definition=definition,
            payload=b"",
            timeout_ms=600_000,
            signature={},
            stop=Stop(),
        )
        try:
            answer = _Target(self, engine, run).perform(call)
            receipt = None if lease.received is None else lease.received.receipt
            for _ in range(5):
                try:
                    complete_run(engine, None, run.run_id, run.attempt, answer, receipt=receipt, chance=self.chance)
                except StaleAttempt:
                    self.errors["pull worker: StaleAttempt"] += 1
                except Unavailable:
                    self.clock.sleep_until(self.clock.now() + 1_000)
                    continue
                break
        finally:
            running.pop(run.run_id, None)

    def _until_answered(self, ask: Callable[[], Any]) -> Any:
        while True:
            try:
                return ask()
            except Unavailable:
                self.clock.sleep_until(self.clock.now() + 1_000)

    def calm_down(self) -> None:
        """End all faults."""
        self.weather.odds = CALM
        self.duplicated = 0.0
        self.index.lag = lambda chance: chance.randrange(50)


@contextmanager
def a_gated_world(seed: int, deployment: Deployment = DEPLOYMENT) -> Iterator[GatedWorld]:
    """Build such a world. Everything random in it comes from the seed."""
    clock, chance = SideClock(), random.Random(seed)
    secrets, pages = _SeededSecrets(random.Random(chance.random())), random.Random(chance.random())
    with (
        Database() as database,
        mock.patch.object(ids, "secrets", secrets),
        mock.patch.object(ask_gates, "_CHANCE", pages),
        mock.patch.object(ask_gates, "_OFFSET", pages.random()),
        mock.patch.object(wake, "_CHANCE", pages),
    ):
        world = World.on(database, clock, deployment, page_size=10)
        index = LaggingIndex(world, random.Random(chance.random()), some_lag)
        weather = Weather(clock, random.Random(chance.random()))
        gated = GatedWorld(world, Journal(world), weather, index, chance)
        clock.spawn(gated.plan)
        try:
            yield gated
        finally:
            clock.close()
            index.close()

"""Builders that read as sentences, a clock that tests move, and a whole embedded engine in memory."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Self

from onthedot.core import lifecycle
from onthedot.core.choices import Priority, RetryPolicy
from onthedot.core.clock import NOON as NOON  # noqa: PLC0414 - tests import the clock from here
from onthedot.core.clock import VirtualClock as VirtualClock  # noqa: PLC0414
from onthedot.core.ids import fresh_generation, fresh_job_id
from onthedot.core.moves import Move
from onthedot.core.ports import Clock, Received, RunStore
from onthedot.core.records import Definition, Record, Status
from onthedot.core.schema import DEFAULT_POOL
from onthedot.core.slots import Deployment, Placement, fire_slot, place, shard_of, watch_slot
from onthedot.engines.sqlite.database import Database
from onthedot.targets.rules import AllowList
from onthedot.targets.types import HttpTarget
from onthedot.wiring.embedded import server_deployment
from onthedot.wiring.sqlite import SqliteEngine
from tests.table_queues import SqliteRunQueues, SqliteTickQueue

DEPLOYMENT = Deployment(shards=2, lookahead=3, history_days=7)
SERVER = server_deployment(["http", "workflow"], AllowList(), cpus=1.0, memory_mb=1024)
"""The deployment of `onthedot serve`."""
VISIBILITY_MS = 960_000


class SettableClock(VirtualClock):
    """A clock that its machine may set."""

    def set_by(self, milliseconds: int) -> None:
        self._now += milliseconds


class RunBuilder:
    """A run as the API would create it now: sent when it is near, in its fire slot when it is far."""

    def __init__(self, now: int, deployment: Deployment) -> None:
        self._now = now
        self._deployment = deployment
        self._placed: Placement | None = None
        run_id = fresh_job_id()
        self._run = Record(
            run_id=run_id,
            job_id=run_id,
            tenant="acme",
            definition=Definition(HttpTarget("http://127.0.0.1:9/callback")),
            priority=Priority.MEDIUM,
            pool=DEFAULT_POOL,
            created_at=now,
            fire_time=now,
            due_at=now,
            status=Status.PENDING,
            generation=fresh_generation(),
        )

    def due_in(self, seconds: float) -> Self:
        at = self._now + round(seconds * 1000)
        return self.having(fire_time=at, due_at=at)

    def called(self, run_id: str) -> Self:
        return self.having(run_id=run_id, job_id=run_id)

    def in_tenant(self, tenant: str) -> Self:
        return self.having(tenant=tenant)

    def of_priority(self, priority: Priority) -> Self:
        return self.having(priority=priority)

    def with_retries(self, retries: int, backoff_seconds: float = 2.0) -> Self:
        policy = RetryPolicy(retries, backoff_seconds, jitter=False)
        definition = self._run.definition
        assert definition is not None
        return self.having(definition=replace(definition, retry=policy))

    def pending(self) -> Self:
        """Put the run into its fire slot, even if it is near."""
        run = self._run
        slot = fire_slot(shard_of(run.job_id, self._deployment.shards), run.due_at, self._now)
        return self.standing(Status.PENDING, slot)

    def dispatched(self) -> Self:
        """Make the run DISPATCHED, even if it is far. No message is sent."""
        run = self._run
        slot = watch_slot(shard_of(run.job_id, self._deployment.shards), run.due_at, self._now)
        return self.standing(Status.DISPATCHED, slot)

    def standing(self, status: Status, slot: str) -> Self:
        self._placed = Placement(status, slot)
        return self

    def having(self, **fields: Any) -> Self:
        self._run = replace(self._run, **fields)
        return self

    def build(self) -> Record:
        run = self._run
        placed = self._placed or place(run.job_id, run.due_at, self._now, self._deployment)
        return replace(run, status=placed.status, slot=placed.slot)

    def stored_in(self, store: RunStore) -> Record:
        run = self.build()
        assert store.create(run) is None, f"{run.run_id} exists already"
        return run


def a_run(clock: Clock, deployment: Deployment = DEPLOYMENT) -> RunBuilder:
    """Begin a run: `a_run(clock).due_in(90).in_tenant("acme").pending().stored_in(store)`."""
    return RunBuilder(clock.now(), deployment)


def the_claim_of(run: Record, clock: Clock, claim_token: str = "tick/1") -> Move:
    """Return the dispatcher's move of a PENDING run."""
    assert run.slot is not None
    return lifecycle.claim(run.run_id, run.slot, run.generation, run.due_at, now=clock.now(), claim_token=claim_token)


def the_start_of(run: Record, now: int) -> Move:
    """Return a worker's move of a DISPATCHED run, with the attempt token "mine"."""
    return lifecycle.start(run.run_id, run.generation, now=now, worker="w", attempt_token="mine")


@dataclass(frozen=True)
class World(SqliteEngine):
    """The embedded engine in memory, in virtual time, with queues that deliver as those of AWS do."""

    clock: VirtualClock
    queues: SqliteRunQueues
    ticks: SqliteTickQueue = None  # type: ignore[assignment] # `on` sets it

    @classmethod
    def on(
        cls,
        database: Database,
        clock: Clock,
        deployment: Deployment,
        page_size: int | None = None,
        *,
        remembers: bool = False,
    ) -> Self:
        made = super().on(database, clock, deployment, page_size, remembers=remembers)
        return replace(made, queues=SqliteRunQueues(database, clock), ticks=SqliteTickQueue(database, clock))

    def received(self, priority: Priority = Priority.MEDIUM, pool: str = DEFAULT_POOL) -> Sequence[Received]:
        """Receive up to ten messages, and hide them as a queue of the push pools does."""
        return self.queues.receive(pool, priority, 10, visibility_ms=VISIBILITY_MS)


@contextmanager
def a_world(deployment: Deployment = DEPLOYMENT, page_size: int = 10) -> Iterator[World]:
    """Build a world. Its pages are small, so that code which reads only the first page fails a test."""
    clock = VirtualClock()
    with Database() as database:
        yield World.on(database, clock, deployment, page_size)

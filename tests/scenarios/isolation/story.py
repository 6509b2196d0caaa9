"""A random story of healthy tenants beside poisoned records, removed pools, failing services and outages."""

import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from onthedot.core.choices import Priority, RetryPolicy
from onthedot.core.errors import Unavailable
from onthedot.core.pools import DEFAULT_POOLS, Pool, PoolKind, Pools
from onthedot.core.records import Definition, Record
from onthedot.core.schema import DEFAULT_POOL
from onthedot.core.slots import BUCKET_MS, Deployment, SlotKind
from onthedot.jobs.submit import JobRequest, submit_job
from onthedot.schedules.choices import Misfire, MisfirePolicy
from onthedot.schedules.schedule import CronSchedule, EverySchedule, Recurrence, Schedule
from onthedot.targets.types import HttpTarget, WorkflowTarget
from onthedot.workflows.submit import submit_workflow
from tests.builders import NOON
from tests.poison import READABLE, UNREADABLE
from tests.scenarios.kits.latency import Trouble
from tests.scenarios.kits.poisoning import poison_slot, raw_fields
from tests.scenarios.kits.troubled_world import TickOutage, TroubledWorld
from tests.scenarios.kits.workflows import DIAMOND

MINUTE: Final = BUCKET_MS
STORY: Final = 30 * MINUTE
"""Everything is due, and every trouble ends, within this time after noon."""
BUSY_POOL, DENIED_POOL, REMOVED_POOL = "busy", "denied", "removed"
PRESENT: Final = Pools(
    (
        *DEFAULT_POOLS,
        *(Pool(name, PoolKind.PUSH, frozenset({"http"}), 1, 1000, 60, batch=10) for name in (BUSY_POOL, DENIED_POOL)),
    )
)


@dataclass(frozen=True)
class Poisoned:
    """A poisoned record as it was written."""

    kind: str
    run_id: str
    stored: Mapping[str, Any]


@dataclass
class Story:
    """The events of one seed, and their results."""

    troubled: TroubledWorld
    chance: random.Random
    accepted: dict[str, Record] = field(default_factory=dict)
    """The jobs of healthy tenants, as the API answered."""
    accepted_at: dict[str, int] = field(default_factory=dict)
    poisons: list[Poisoned] = field(default_factory=list)
    waits: Counter[str] = field(default_factory=Counter)
    """The reasons that `explain` gave for late runs of healthy tenants, by code."""

    def at(self, when: int, act: Callable[[], object]) -> None:
        self.troubled.clock.spawn(act, at=NOON + when)

    def submit(self, when: int, tenant: str, request: JobRequest) -> None:
        """Let a client submit the job. It tries again while the API is unavailable."""
        self.at(when, lambda: self._submit(tenant, request))

    def _submit(self, tenant: str, request: JobRequest) -> None:
        clock, engine = self.troubled.clock, self.troubled.engine()
        while True:
            try:
                if isinstance(request.definition.target, WorkflowTarget):
                    job = submit_workflow(engine, tenant, request, DIAMOND)
                else:
                    job = submit_job(engine, tenant, request)
                break
            except Unavailable:
                clock.sleep_until(clock.now() + 2_000)
        if tenant.startswith("healthy"):
            self.accepted[job.run_id] = job
            self.accepted_at[job.run_id] = clock.now()

    # Healthy tenants

    def healthy_tenant(self, tenant: str) -> None:
        for number in range(self.chance.randint(5, 12)):
            self._one_off(tenant, f"one-off {number}")
        for number in range(self.chance.randint(1, 3)):
            self._recurring(tenant, f"recurring {number}")
        if self.chance.random() < 0.5:
            when = self.chance.randrange(STORY // 2)
            delay = self.chance.choice((0, 20_000, 8 * MINUTE))
            self.submit(when, tenant, a_request("workflow", Definition(WorkflowTarget()), delay_ms=delay, pool=None))

    def _one_off(self, tenant: str, key: str) -> None:
        when = self.chance.randrange(STORY // 2)
        near = self.chance.random() < 0.3
        due = when + self.chance.randrange(MINUTE) if near else self.chance.randrange(when, STORY)
        self.submit(when, tenant, a_request(key, at=NOON + due, priority=self.chance.choice(list(Priority))))

    def _recurring(self, tenant: str, key: str) -> None:
        seconds = self.chance.choice((45, 60, 90, 300))
        rule = self.chance.choice(
            (
                CronSchedule(self.chance.choice(("* * * * *", "*/2 * * * *", "*/5 * * * *"))),
                EverySchedule(seconds, NOON + self.chance.randrange(MINUTE)),
            )
        )
        misfire = Misfire(self.chance.choice(list(MisfirePolicy)))
        recurrence = Recurrence(Schedule(rule, end_at=NOON + STORY), misfire)
        self.submit(self.chance.randrange(5 * MINUTE), tenant, a_request(key, recurrence=recurrence))

    # Trouble

    def poison(self, kind: str, slot_kind: SlotKind) -> None:
        world = self.troubled.world
        written = self.chance.randrange(STORY // 2)
        due = written + self.chance.randrange(MINUTE, 8 * MINUTE)
        shard = self.chance.randrange(world.deployment.shards)

        def write() -> None:
            run_id = poison_slot(world, kind, slot_kind, NOON + due, shard=shard)
            self.poisons.append(Poisoned(kind, run_id, raw_fields(world, run_id)))

        self.at(written, write)

    def all_poisons(self) -> None:
        """Write a record of each kind, in a fire slot and in a watch slot where such a record can be."""
        for kind in (*UNREADABLE, *READABLE):
            for slot_kind in SlotKind:
                if kind != "newer schedule" or slot_kind is SlotKind.FIRE:
                    self.poison(kind, slot_kind)

    def bad_tenant(self, pool: str) -> None:
        """Submit runs of a pool whose queues fail all through the story."""
        for number in range(self.chance.randint(3, 15)):
            due = NOON + self.chance.randrange(STORY)
            self.submit(self.chance.randrange(STORY // 3), "bad", a_request(f"{pool} {number}", at=due, pool=pool))

    def failing(self, port: str, longest: int, **about: object) -> None:
        first = NOON + self.chance.randrange(STORY - longest)
        last = first + self.chance.randrange(longest // 4, longest)
        self.troubled.services.troubles.append(Trouble(port, first, last, **about))  # type: ignore[arg-type]

    def outage(self, group: int | None) -> None:
        first = NOON + self.chance.randrange(STORY - 8 * MINUTE)
        last = first + self.chance.randrange(MINUTE, 8 * MINUTE)
        self.troubled.outages.append(TickOutage(first, last, group))


def a_request(
    key: str,
    definition: Definition | None = None,
    *,
    at: int | None = None,
    delay_ms: int | None = None,
    recurrence: Recurrence | None = None,
    pool: str | None = DEFAULT_POOL,
    priority: Priority = Priority.MEDIUM,
) -> JobRequest:
    plain = Definition(HttpTarget("http://x/"), retry=RetryPolicy(jitter=False))
    return JobRequest(
        definition=definition or plain,
        fingerprint=key,
        priority=priority,
        pool=pool,
        recurrence=recurrence,
        at=at,
        delay_ms=delay_ms,
        idempotency_key=key,
    )


def a_deployment(chance: random.Random) -> Deployment:
    return Deployment(shards=chance.choice((4, 6, 8)), lookahead=3, history_days=7, pools=PRESENT)


def tell(story: Story) -> None:
    """Choose by chance what happens in the story, and let it happen."""
    for number in range(story.chance.randint(2, 4)):
        story.healthy_tenant(f"healthy-{number}")
    story.all_poisons()
    troubles = story.troubled.services.troubles
    for pool in (BUSY_POOL, DENIED_POOL):
        story.bad_tenant(pool)
        troubles.append(Trouble("queues", NOON, NOON + STORY, pool=pool, denied=pool == DENIED_POOL))
    chance, groups = story.chance, range(story.troubled.world.deployment.shards // 2)
    possible: list[tuple[float, Callable[[], None]]] = [
        (0.5, lambda: story.failing("limits", 10 * MINUTE)),
        (0.5, lambda: story.failing("registry", 10 * MINUTE)),
        (0.5, lambda: story.failing("blobs", 10 * MINUTE)),
        (0.3, lambda: story.failing("signing", 10 * MINUTE)),
        (0.5, lambda: story.failing("store", 8 * MINUTE, slow_ms=chance.randint(100, 1_500))),
        (0.3, lambda: story.failing("store", 5 * MINUTE, about=f"fire#{chance.choice(groups)}#")),
        (0.3, lambda: story.failing("store", MINUTE)),
        (0.3, lambda: story.failing("queues", 3 * MINUTE, pool=DEFAULT_POOL)),
        (0.4, lambda: story.outage(None)),
        (0.4, lambda: story.outage(chance.choice(groups))),
    ]
    for likely, happens in possible:
        if chance.random() < likely:
            happens()

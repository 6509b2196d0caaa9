"""A random life of gates: runs of all kinds, limits that change while runs wait, and faults by chance. By seed."""

import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from onthedot.core.choices import Priority, RetryPolicy
from onthedot.core.gate_names import TENANT, GateId
from onthedot.core.ports import Answer, Call
from onthedot.core.records import TERMINAL, Definition, Kind, Status
from onthedot.core.schema import DEFAULT_POOL
from onthedot.core.slots import BUCKET_MS
from onthedot.engine import Engine
from onthedot.gates.limits import GateLimits, TenantLimits
from onthedot.gates.manage import clear_limits, delete_gate, put_gate, put_limits
from onthedot.jobs.change import cancel_job, pause_job, resume_job
from onthedot.jobs.patch import JobPatch, patch_job
from onthedot.jobs.redrive import redrive_matching
from onthedot.jobs.run_extra import run_now
from onthedot.jobs.submit import JobRequest, submit_job
from onthedot.schedules.choices import Misfire, MisfirePolicy, OverlapPolicy
from onthedot.schedules.schedule import EverySchedule, Recurrence, Schedule
from onthedot.targets.types import HttpTarget
from onthedot.workers.assign import assign_to_worker
from tests.builders import NOON
from tests.scenarios.kits.gated_world import LONELY, PULL, GatedWorld, a_gated_world
from tests.scenarios.kits.perturbed import Odds

MINUTE: Final = BUCKET_MS
STORY: Final = 4 * MINUTE
"""Clients act, and faults strike, within this time after noon."""
QUIET: Final = 20 * MINUTE
"""The longest time after the story until each run has its outcome."""
LEAVES: Final = 10 * MINUTE
"""A gate at which nothing waits has left its slot after this time."""
TENANTS: Final = ("acme", "beta")
NAMES: Final = ("alone", "both", "customer", "rate")
KEYED: Final = "customer"
QUICKLY: Final = (30, 50, 17, 3)
SLOWLY: Final = (10, 20, 40, 30)
LIVE: Final = frozenset(Status) - TERMINAL - {Status.COMPLETED}


@dataclass
class Life:
    gated: GatedWorld
    chance: random.Random
    faulty: bool = True
    changing: bool = True
    jobs: list[tuple[str, str]] = field(default_factory=list)
    """The tenant and the id of each job that a client got an answer for."""
    work_ms: int | None = None
    """How long each attempt takes. None: by chance."""
    calm_since: int = 0
    """The time at which the last fault has struck."""
    pace: tuple[int, ...] = QUICKLY
    """How many attempts are short or long."""

    def api(self) -> Engine:
        return self.gated.machine()

    def tell(self) -> None:
        gated, chance = self.gated, self.chance
        gated.work = self._work
        gated.visibility_ms = chance.choice((40_000, 120_000, 900_000))
        self.pace = chance.choice((QUICKLY, QUICKLY, SLOWLY))
        if self.faulty:
            self._let_faults_strike()
        for tenant in TENANTS:
            for name in NAMES:
                gated.world.gates.put(tenant, name, self._limits(name))
            if chance.random() < 0.4:
                gated.world.limits.put(tenant, self._tenant_limits())
        for _ in range(chance.randint(1, 2)):
            gated.clock.spawn(partial(gated.pull_worker, PULL, chance.randint(1, 6)), at=NOON + chance.randrange(5_000))
        self._plan_acts()

    def _let_faults_strike(self) -> None:
        gated, chance = self.gated, self.chance
        gated.duplicated = chance.choice((0.0, 0.05, 0.2))
        scale = chance.choice((0.2, 1.0, 3.0))
        rates = [scale * chance.choice((0.0, 0.002, 0.01)) for _ in range(4)]
        gated.weather.odds = Odds(crash=rates[0], away=rates[1], repeated=rates[2], stop=rates[3] / 4)

    def _plan_acts(self) -> None:
        chance = self.chance
        for _ in range(chance.randint(3, 8)):
            self._burst()
        for _ in range(chance.randint(0, 3)):
            self._recurring()
        for _ in range(chance.randint(0, 14) if self.changing else 0):
            self.gated.at(NOON + chance.randrange(5_000, STORY), chance.choice(self._changes()))

    # Runs

    def _work(self, call: Call) -> tuple[int, Answer]:
        """Decide how long an attempt takes and how it ends."""
        if self.work_ms is not None:
            return self.work_ms, Answer(ok=True)
        longest = self.chance.choices((300, 1_500, 6_000, 100_000), self.pace)[0]
        drawn = self.chance.random()
        if drawn < 0.02:
            answer = Answer(ok=False, error="never", retryable=False)
        elif drawn < 0.12:
            answer = Answer(ok=False, error="not now")
        else:
            answer = Answer(ok=True, result=str(call.attempt))
        return self.chance.randrange(20, longest), answer

    def _named(self) -> tuple[str, ...]:
        """Choose up to three gates, some with a key."""
        count = self.chance.choices((0, 1, 2, 3), (5, 55, 25, 15))[0]
        names = self.chance.sample(NAMES, count)
        return tuple(f"{name}:{self.chance.randint(1, 3)}" if name == KEYED else name for name in names)

    def _request(
        self, *, gates: tuple[str, ...], pool: str = DEFAULT_POOL, recurrence: Recurrence | None = None
    ) -> JobRequest:
        chance = self.chance
        retry = RetryPolicy(max_retries=3, backoff_seconds=chance.choice((1.0, 2.0)), jitter=False)
        delay = 0 if recurrence else chance.choice((0, 0, 0, chance.randrange(30_000), chance.randrange(4 * MINUTE)))
        return JobRequest(
            definition=Definition(HttpTarget("http://x/"), retry=retry),
            fingerprint="same",
            priority=chance.choice(list(Priority)),
            pool=pool,
            recurrence=recurrence,
            delay_ms=None if recurrence else delay,
            record={
                "gates": gates,
                "start_within_seconds": chance.choice((5, 60)) if chance.random() < 0.1 else None,
            },
        )

    def _burst(self) -> None:
        """Let a client submit some jobs for the same gates at about the same time."""
        chance = self.chance
        tenant, gates, when = chance.choice(TENANTS), self._named(), NOON + chance.randrange(STORY)
        pool = chance.choices((DEFAULT_POOL, PULL, LONELY), (75, 20, 5))[0]
        for _ in range(chance.choice((1, 3, 8, 15, 25))):
            request = self._request(gates=gates, pool=pool)
            self.gated.at(when + chance.randrange(chance.choice((100, 3_000))), partial(self._submit, tenant, request))

    def _recurring(self) -> None:
        chance = self.chance
        misfire = Misfire(MisfirePolicy.RUN_ALL)
        rule = EverySchedule(chance.choice((10, 20, 45)), NOON)
        overlap = chance.choices(list(OverlapPolicy), (80, 10, 10))[0]
        recurrence = Recurrence(Schedule(rule, end_at=NOON + STORY), misfire, overlap)
        request = self._request(gates=self._named(), recurrence=recurrence)
        self.gated.at(NOON + chance.randrange(MINUTE), partial(self._submit, chance.choice(TENANTS), request))

    def _submit(self, tenant: str, request: JobRequest) -> None:
        job = submit_job(self.api(), tenant, request)
        self.jobs.append((tenant, job.run_id))

    # Limits

    def _limits(self, name: str) -> GateLimits:
        chance = self.chance
        in_flight = chance.choice((1, 1, 2, 3, 5, 7, 8, 9, 12, 16, 17, 20))
        per_second = chance.choice((0.5, 1, 2, 5, 20))
        burst = chance.choice((None, None, 1, 3, 10))
        if name == "rate" and chance.random() < 0.6:
            return GateLimits(per_second=per_second, burst=burst)
        if name in ("rate", "both") and chance.random() < 0.7:
            return GateLimits(in_flight=in_flight, per_second=per_second, burst=burst)
        return GateLimits(in_flight=in_flight)

    def _tenant_limits(self) -> TenantLimits:
        per_second = self.chance.choice((None, None, 5, 20))
        return TenantLimits(in_flight=self.chance.choice((2, 4, 10, 20)), per_second=per_second)

    def _changes(self) -> list[Callable[[], object]]:
        changes = (self._put, self._put, self._pause_gate, self._resume_gate, self._delete, self._put_tenant)
        return [*changes, self._pause_job, self._resume_jobs, self._cancel, self._patch, self._extra, self._redrive]

    def _put(self) -> None:
        name = self.chance.choice(NAMES)
        put_gate(self.api(), self.chance.choice(TENANTS), name, self._limits(name))

    def _pause_gate(self) -> None:
        tenant, name = self.chance.choice(TENANTS), self.chance.choice(NAMES)
        stopped = (
            replace(self._limits(name), paused=True),
            GateLimits(in_flight=0),
            GateLimits(in_flight=self.chance.randint(1, 5), per_second=0),
        )
        put_gate(self.api(), tenant, name, self.chance.choice(stopped))

    def _resume_gate(self) -> None:
        api = self.api()
        for tenant in TENANTS:
            for name in NAMES:
                limits = api.gates.find(tenant, name)
                if limits is not None and limits.is_stopped:
                    put_gate(api, tenant, name, self._limits(name))

    def _delete(self) -> None:
        delete_gate(self.api(), self.chance.choice(TENANTS), self.chance.choice(NAMES))

    def _put_tenant(self) -> None:
        tenant = self.chance.choice(TENANTS)
        if self.chance.random() < 0.3:
            clear_limits(self.api(), tenant)
        else:
            put_limits(self.api(), tenant, replace(self._tenant_limits(), paused=self.chance.random() < 0.2))

    # Jobs

    def _some_jobs(self) -> list[tuple[str, str]]:
        return self.chance.sample(self.jobs, min(len(self.jobs), 3))

    def _pause_job(self) -> None:
        for tenant, job_id in self._some_jobs():
            pause_job(self.api(), tenant, job_id)

    def _resume_jobs(self) -> None:
        for tenant, job_id in list(self.jobs):
            job = self.gated.world.store.get(job_id)
            if job is not None and job.status is Status.PAUSED:
                resume_job(self.api(), tenant, job_id)

    def _cancel(self) -> None:
        for tenant, job_id in self._some_jobs()[:1]:
            cancel_job(self.api(), tenant, job_id)

    def _patch(self) -> None:
        gates = self._named()
        patch = JobPatch({"gates": gates})
        for tenant, job_id in self._some_jobs():
            patch_job(self.api(), tenant, job_id, patch, None)

    def _extra(self) -> None:
        """Run a job now, or give it to one worker."""
        for tenant, job_id in self._some_jobs():
            workers = self.gated.world.registry.workers()
            if self.chance.random() < 0.5 or not workers:
                run_now(self.api(), tenant, job_id)
            else:
                assign_to_worker(self.api(), tenant, job_id, self.chance.choice(list(workers)).worker_id)

    def _redrive(self) -> None:
        redrive_matching(self.api(), self.chance.choice(TENANTS))

    # The end

    def live(self) -> list[str]:
        statuses = ", ".join(f"'{status}'" for status in LIVE)
        query = f"SELECT run_id, status, slot, reason, pool FROM runs WHERE status IN ({statuses}) AND kind <> ?"
        with self.gated.world.database.transaction() as connection:
            rows = connection.execute(query, (Kind.EVENT,)).fetchall()
        return [" ".join(str(value) for value in row) for row in rows]

    def flagged(self) -> list[str]:
        """Return the gates that were flagged long ago. A late message may flag a gate at any time."""
        long_ago = self.gated.clock.now() - LEAVES
        with self.gated.world.database.transaction() as connection:
            rows = connection.execute(
                "SELECT partition AS gate, slot FROM items"
                " WHERE slot IS NOT NULL AND coalesce(json_extract(content, '$.f'), 0) <= ?",
                (long_ago,),
            ).fetchall()
        return [f"{row['gate']} in {row['slot']}" for row in rows]

    def play(self) -> None:
        """Let the story happen, then let everything end without faults."""
        gated = self.gated
        gated.let_pass(STORY / 1000)
        gated.calm_down()
        self.calm_since = gated.clock.now()
        self.pace = QUICKLY
        gated.clock.spawn(partial(gated.pull_worker, PULL, 6))
        gated.clock.spawn(partial(gated.pull_worker, LONELY, 6))
        # A client that was stopped may act when the story is over.
        for after in (0, 100_000):
            gated.at(gated.clock.now() + after, self._settle)
        gated.let_pass(2 * MINUTE / 1000)
        until = gated.clock.now() + QUIET
        while self.live() and gated.clock.now() < until:
            gated.let_pass(10)

    def _settle(self) -> None:
        api = self.api()
        for tenant in TENANTS:
            for name in NAMES:
                limits = api.gates.find(tenant, name)
                if limits is not None and (limits.is_stopped or (limits.per_second or 5) < 5):
                    put_gate(api, tenant, name, GateLimits(in_flight=limits.in_flight or 3, per_second=5, burst=3))
            limits = api.limits.find(tenant)
            if limits is not None and limits.is_stopped:
                put_limits(api, tenant, self._tenant_limits())
        self._resume_jobs()

    def fill(self, held: Iterable[GateId]) -> None:
        """Fill gates that still have holders with new runs: these need the places of the dead.

        The gates of tenants come first, and their limits are cleared then, so that they do not keep runs from others.
        """
        gates = sorted(held, key=lambda gate: (gate.name != TENANT, gate))
        self.work_ms = 15_000
        for of_tenant in (True, False):
            some = [gate for gate in gates if (gate.name == TENANT) is of_tenant]
            for gate in some:
                limits = self._limits_of(gate)
                if limits is not None and limits.in_flight:
                    self._fill(gate, limits.in_flight)
            if some:
                self.gated.let_pass(6 * MINUTE / 1000)
            if of_tenant:
                for tenant in TENANTS:
                    self.gated.world.limits.put(tenant, None)
                self.gated.let_pass(5)
        until = self.gated.clock.now() + QUIET
        while self.live() and self.gated.clock.now() < until:
            self.gated.let_pass(10)

    def _limits_of(self, gate: GateId) -> GateLimits | None:
        world = self.gated.world
        return world.limits.find(gate.tenant) if gate.name == TENANT else world.gates.find(gate.tenant, gate.name)

    def _fill(self, gate: GateId, count: int) -> None:
        for _ in range(count):
            request = self._request(gates=() if gate.name == TENANT else (gate.named,))
            now = replace(request, delay_ms=0, record={"gates": request.gates})
            self.gated.at(self.gated.clock.now(), partial(self._submit, gate.tenant, now))


@contextmanager
def a_life(seed: int, *, faulty: bool = True, changing: bool = True) -> Iterator[Life]:
    """Begin a life. Everything random in it comes from the seed."""
    with a_gated_world(seed) as gated:
        life = Life(gated, random.Random(seed + 1), faulty, changing)
        life.tell()
        yield life

"""The scheduler of users' tests visits known slots only. Its runs end as by the ticks of a deployment."""

import random
from typing import Any

from onthedot.core.choices import Priority, RetryPolicy
from onthedot.core.clock import VirtualClock
from onthedot.core.ports import Answer, Call
from onthedot.core.records import Definition, Record
from onthedot.core.schema import DEFAULT_POOL
from onthedot.engine import Engine
from onthedot.jobs.submit import JobRequest, submit_job
from onthedot.schedules.schedule import CronSchedule, Recurrence, Schedule, every
from onthedot.targets.types import HttpTarget
from onthedot.testing.scheduler import VirtualScheduler, WorkerDied
from onthedot.wiring.virtual import virtual_world
from tests.builders import NOON, a_world
from tests.scenarios.kits.faults import Crash
from tests.scenarios.kits.simulation import Simulation

HOURS = 8
PRIORITIES = list(Priority)


class Fated:
    """Answers by the time and the attempt of a run alone, so that both schedulers get the same answers."""

    def __init__(self, death: type[BaseException]) -> None:
        self.death = death
        self.calls: list[tuple[int, int, str]] = []

    def perform(self, call: Call) -> Answer:
        chance = random.Random(f"{call.fire_time}/{call.attempt}/{call.payload!r}")
        self.calls.append((call.fire_time, call.attempt, call.payload.decode()))
        if chance.random() < 0.1:
            raise self.death
        if chance.random() < 0.3:
            return Answer(ok=False, error="busy", retryable=chance.random() < 0.8)
        return Answer(ok=True, result="fine")


def submit_all(engine: Engine) -> list[Record]:
    chance = random.Random(7)
    jobs = []
    for number in range(25):
        when: dict[str, Any] = {"delay_ms": chance.randrange(HOURS * 3_600_000)}
        if number % 5 == 1:
            when = {"recurrence": Recurrence(Schedule(CronSchedule(f"{chance.randrange(60)} */3 * * *", "Asia/Tokyo")))}
        if number % 5 == 2:
            when = {"recurrence": Recurrence(Schedule(every(chance.randrange(3000, 9000), engine.clock.now())))}
        definition = Definition(HttpTarget("http://x/"), payload=number, retry=RetryPolicy(3, 30.0, jitter=False))
        request = JobRequest(definition, "f", PRIORITIES[number % 3], DEFAULT_POOL, **when)
        jobs.append(submit_job(engine, "acme", request))
    return jobs


def outcomes(engine: Engine, jobs: list[Record]) -> list[Any]:
    """Return, for each job, the nominal time, status and attempts' outcomes of its ended runs."""
    found = []
    for job in jobs:
        stored = engine.store.get(job.job_id)
        records = [
            *engine.store.runs_of(job.job_id, 1000).items,
            *([stored] if stored and job.recurrence is None else []),
        ]
        found.append(
            sorted((r.fire_time, str(r.status), [a.outcome for a in r.attempts]) for r in records if r.attempts)
        )
    return found


def test_runs_end_alike() -> None:
    with a_world(page_size=1000) as world:
        simulation, ticked = Simulation(world), Fated(Crash)
        simulation.target = ticked  # type: ignore[assignment]
        jobs = submit_all(world.engine)
        simulation.let_pass(HOURS * 3600 + 3600)
        expected = outcomes(world.engine, jobs)
    clock, direct = VirtualClock(NOON), Fated(WorkerDied)
    with virtual_world(clock) as virtual:
        scheduler = VirtualScheduler(clock, virtual.engine, virtual.queues, virtual.outlook, direct)
        jobs = submit_all(scheduler.engine)
        scheduler.let_pass(NOON + (HOURS + 1) * 3_600_000)
        found = outcomes(scheduler.engine, jobs)
        remembered = list(virtual.records._known.values())
        virtual.records._known.clear()
        assert [scheduler.engine.store.get(record.run_id) for record in remembered] == remembered
    assert sum(map(len, expected)) > 40
    assert {outcome for job in expected for _, _, all_of in job for outcome in all_of} == {
        "succeeded",
        "failed",
        "lost",
    }
    assert found == expected

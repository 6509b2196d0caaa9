"""Random lives of recurring jobs: changes, outages and crashes, and at the end one outcome for each expected time.

More seeds: `ONTHEDOT_SEEDS=500 pytest tests/scenarios/recurring/test_random_changes.py`.
"""

import os
import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

import pytest

from onthedot.core.errors import JobConflict, JobNotFound, Unavailable
from onthedot.core.records import Record, Status
from onthedot.core.slots import Deployment
from onthedot.jobs.audit import audit_recent
from onthedot.jobs.change import cancel_job, delete_job, pause_job, resume_job
from onthedot.schedules.choices import Misfire, MisfirePolicy, OverlapPolicy
from onthedot.schedules.schedule import Schedule, fires_between
from tests.builders import World, a_world
from tests.scenarios.kits.faults import Crash, Fault, Faults
from tests.scenarios.kits.outcomes import problems
from tests.scenarios.kits.recurring import change_schedule, cron, every, submit
from tests.scenarios.kits.simulation import Simulation

ONE_SHARD = Deployment(shards=1, lookahead=3, history_days=7)
SEEDS = int(os.environ.get("ONTHEDOT_SEEDS", "40"))
CRASHES = [fault for fault in Fault if fault is not Fault.MEANWHILE]
STEPS = 14
GONE = (Status.CANCELLED, Status.DELETED)


class Life:
    """One job, and the times that its schedules expected while they were in force."""

    def __init__(self, seed: int, world: World) -> None:
        self.random = random.Random(seed)
        self.simulation = Simulation(world)
        misfire = Misfire(self.random.choice(list(MisfirePolicy)), self.random.choice([0, 1, 60, 300]))
        self.schedule = self.any_schedule()
        self.since = self.now
        self.times: list[int] = []
        self.log: list[str] = [f"{misfire} {self.schedule}"]
        self.job = submit(self.simulation, self.schedule, misfire, self.random.choice(list(OverlapPolicy)))

    @property
    def now(self) -> int:
        return self.simulation.clock.now()

    @property
    def stored(self) -> Record:
        return self.simulation.stored(self.job)

    def any_schedule(self) -> Schedule:
        ends = self.now + self.random.randrange(120, 1_200) * 1_000 if self.random.random() < 0.3 else None
        if self.random.random() < 0.5:
            return cron(self.random.choice(["* * * * *", "*/2 * * * *", "*/3 * * * *", "0 0 1 1 *"]))
        return every(self.random.choice([7, 20, 45, 60, 100]), self.simulation, end_at=ends)

    def live(self) -> list[str]:
        """Let the job live, and return the problems with its outcomes."""
        for _ in range(STEPS):
            self.step()
        self.simulation.let_pass(self.random.randrange(60))
        if self.stored.status is Status.PAUSED:
            self.act(self.random.choice([self.resume, self.cancel, self.delete]), Faults())
        self.expect_until(self.now)
        return self.settle()

    def settle(self) -> list[str]:
        """Let the sweep find the runs whose messages or workers a crash took away."""
        found: list[str] = []
        for _ in range(12):
            self.simulation.let_pass(600)
            found = problems(self.simulation, self.job, self.times)
            if not found:
                break
        return found

    def step(self) -> None:
        """Do one thing: let time pass, miss some ticks, crash a tick, or change the job, perhaps with a crash."""
        what = self.random.choice(["pass", "pass", "outage", "tick", "work", "act", "act", "act"])
        if what == "pass":
            self.simulation.let_pass(self.random.randrange(5, 100))
        elif what == "outage":
            self.simulation.clock.advance(self.random.choice([30, 90, 300, 900]))
        elif what == "tick":
            self.simulation.plan_ticks()
            self.simulation.dispatch(self.any_fault())
        elif what == "work":
            self.simulation.work(self.any_fault())
        else:
            acts = [
                self.pause,
                self.pause,
                self.resume,
                self.resume,
                self.change,
                self.change,
                self.cancel,
                self.delete,
            ]
            self.act(self.random.choice(acts), self.any_fault() if self.random.random() < 0.5 else Faults())
        self.log.append(f"{self.now}: {what} -> {self.stored.status} at {self.stored.fire_at}")

    def any_fault(self) -> Faults:
        return Faults(self.random.randrange(6), self.random.choice(CRASHES))

    def act(self, act: Callable[[Faults], object], faults: Faults) -> None:
        """Change the job, and note when its schedule ended, if the change happened in spite of the fault."""
        before = self.stored
        with suppress(Crash, Unavailable, JobConflict, JobNotFound):
            act(faults)
        after = self.stored
        self.log.append(f"{self.now}: {act.__name__} {faults.at} {faults.fault} {faults.seen}")
        if after.schedule_version != before.schedule_version or (after.status in GONE and before.status not in GONE):
            self.expect_until(self.now, by=before)
            assert after.recurrence is not None
            self.schedule, self.since = after.recurrence.schedule, self.now

    def expect_until(self, until: int, by: Record | None = None) -> None:
        if (by or self.stored).status not in GONE:
            self.times += fires_between(self.schedule, self.since, until + 1, 10_000)

    def pause(self, faults: Faults) -> None:
        pause_job(self.simulation.engine(faults), "acme", self.job.job_id)

    def resume(self, faults: Faults) -> None:
        resume_job(self.simulation.engine(faults), "acme", self.job.job_id)

    def change(self, faults: Faults) -> None:
        change_schedule(self.simulation.engine(faults), self.job, self.any_schedule())

    def cancel(self, faults: Faults) -> None:
        cancel_job(self.simulation.engine(faults), "acme", self.job.job_id)

    def delete(self, faults: Faults) -> None:
        delete_job(self.simulation.engine(faults), "acme", self.job.job_id)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_whatever_happens_to_a_job_each_expected_time_has_one_outcome(seed: int) -> None:
    with a_world(ONE_SHARD) as world:
        life = Life(seed, world)
        assert life.live() == [], "\n".join(life.log)
        assert life.stored.given_up is None
        assert audit_recent(world.engine, life.stored).holes == ()
        for run_id, count in Counter(run_id for run_id, _, _ in life.simulation.target.calls).items():
            run = world.store.get(run_id)
            assert run is not None
            assert count <= 1 + run.losses, "only a run whose worker died is tried again"

"""A pull worker in a simulated world: leases, reports, heartbeats and deaths, with faults at any of their effects."""

import random
from dataclasses import dataclass, replace
from typing import Any

from onthedot.core.choices import Priority, Requirements, RetryPolicy
from onthedot.core.ports import Answer
from onthedot.core.records import Definition, Record
from onthedot.jobs.submit import JobRequest, submit_job
from onthedot.targets.types import ShellTarget
from onthedot.workers.lease import LeasedRun, LeasedRuns, lease_runs
from onthedot.workers.records import Load, Resources, WorkerRecord
from onthedot.workers.registrations import Offer, beat_worker, find_worker, register_worker
from onthedot.workers.report import complete_run, keep_lease
from tests.scenarios.kits.faults import Faults
from tests.scenarios.kits.simulation import NEVER, Simulation

POOL = "pull"
FINE = Answer(ok=True, result="fine")
ABLE = frozenset({"http", "shell", "python"})


def a_shell_job(simulation: Simulation, delay_s: float = 0, **given: Any) -> Record:
    """A job that only pull workers can do, handed over at once."""
    definition = Definition(
        ShellTarget(("true",)), retry=RetryPolicy(jitter=False), requirements=given.pop("requirements", Requirements())
    )
    request = JobRequest(
        definition=definition,
        fingerprint="same",
        priority=given.pop("priority", Priority.MEDIUM),
        pool=POOL,
        delay_ms=round(delay_s * 1000),
        idempotency_key=given.pop("key", None),
        record={"gates": given.pop("gates", ())},
    )
    return submit_job(simulation.world.engine, given.pop("tenant", "acme"), request)


@dataclass
class PullWorker:
    simulation: Simulation
    record: WorkerRecord

    @property
    def worker_id(self) -> str:
        return self.record.worker_id

    def lease(self, most: int = 1, faults: Faults = NEVER, **wishes: Any) -> LeasedRuns:
        engine = self.simulation.engine(faults)
        known = find_worker(engine, self.record.tenant, self.worker_id)
        return lease_runs(engine, known, most=most, **wishes)

    def lease_one(self, **wishes: Any) -> LeasedRun:
        leases = self.lease(**wishes).leases
        assert len(leases) == 1, leases
        return leases[0]

    def keep(self, lease: LeasedRun) -> Record:
        receipt = None if lease.received is None else lease.received.receipt
        return keep_lease(
            self.simulation.world.engine, self.record.tenant, lease.run.run_id, lease.run.attempt, receipt
        )

    def complete(self, lease: LeasedRun, answer: Answer = FINE, faults: Faults = NEVER) -> Record:
        return complete_run(
            self.simulation.engine(faults),
            self.record.tenant,
            lease.run.run_id,
            lease.run.attempt,
            answer,
            receipt=None if lease.received is None else lease.received.receipt,
            chance=random.Random(1),
        ).run

    def beat(self, *running: str) -> None:
        """Report that the worker lives, and the runs that it has."""
        beat_worker(self.simulation.world.engine, self.record.tenant, self.worker_id, Load(running))

    def work_until_idle(self, answer: Answer = FINE) -> list[str]:
        """Take and complete whatever there is now; the runs, in order."""
        done: list[str] = []
        while leases := self.lease(10).leases:
            for lease in leases:
                self.complete(lease, answer)
                done.append(lease.run.run_id)
        return done


def a_worker(simulation: Simulation, tenant: str | None = "acme", **given: Any) -> PullWorker:
    offer = Offer(POOL, ABLE, Resources(concurrency=4, cpu=4, memory_mb=4096))
    record = register_worker(simulation.world.engine, tenant, replace(offer, **given))
    return PullWorker(simulation, record)

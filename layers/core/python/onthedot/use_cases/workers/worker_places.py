"""Read which runs have the places of full workers. The reads are bounded, however many runs a worker has."""

from collections.abc import Mapping, Sequence
from typing import Final

from onthedot.domain.reports.explain_gates import HeldPlace
from onthedot.domain.reports.explain_workers import MOST_NAMED, WorkerPlaces
from onthedot.domain.runs.records import Record, Status
from onthedot.domain.workers.records import WorkerRecord
from onthedot.ports import Engine
from onthedot.use_cases.gates.named_runs import NamedRuns, read_named

MOST_READ: Final = 10
"""Most runs of a worker that are read."""


def read_places(engine: Engine, workers: Sequence[WorkerRecord], tenant: str) -> Mapping[str, WorkerPlaces]:
    """Return the places of these workers by their ids. Runs of other tenants are not named. Raise Unavailable."""
    named = read_named(engine, [run_id for worker in workers for run_id in worker.load.running[:MOST_READ]])
    return {worker.worker_id: _places(worker, named, tenant) for worker in workers}


def _places(worker: WorkerRecord, named: NamedRuns, tenant: str) -> WorkerPlaces:
    found = [named.runs[run_id] for run_id in worker.load.running[:MOST_READ] if run_id in named.runs]
    # The record is as old as the last heartbeat: a run that it names may have ended since.
    running = [run for run in found if run.status is Status.RUNNING and run.worker == worker.worker_id]
    own = sorted((run for run in running if run.tenant == tenant), key=_since)
    longest = [HeldPlace(named.name(run.run_id) or run.job_id, _since(run)) for run in own[:MOST_NAMED]]
    return WorkerPlaces(worker, longest, of_others=len(own) < len(running))


def _since(run: Record) -> int:
    return run.started_at or run.fire_at

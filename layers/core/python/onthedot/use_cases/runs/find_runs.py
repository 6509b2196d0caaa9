"""Find runs by a query that some index or record can answer with a bounded number of reads."""

from dataclasses import dataclass, field

from onthedot.domain.errors import InvalidRequest, Problem
from onthedot.domain.reports.failure_filter import EVERY
from onthedot.domain.runs.records import Record, Status
from onthedot.ports import Engine, Page
from onthedot.use_cases.jobs.read_jobs import read_job
from onthedot.use_cases.runs.failed_runs import dead_letters
from onthedot.use_cases.runs.job_runs import job_runs
from onthedot.use_cases.runs.run_filter import RunFilter
from onthedot.use_cases.runs.running_runs import running_runs
from onthedot.use_cases.runs.worker_runs import worker_runs

ADVICE = "give job_id, worker_id, or status RUNNING or FAILED; an index for other lists would cost every run a write"


@dataclass(frozen=True, slots=True)
class RunQuery:
    """A query of runs."""

    wanted: RunFilter = field(default_factory=RunFilter)
    worker_id: str | None = None


def find_runs(engine: Engine, tenant: str, query: RunQuery, limit: int, cursor: str | None = None) -> Page[Record]:
    """Return a page of the tenant's runs.

    Raise InvalidRequest for a query that no index answers, JobNotFound, WorkerNotFound and Unavailable.
    """
    wanted = query.wanted
    if query.worker_id is not None:
        return worker_runs(engine, tenant, query.worker_id, wanted, limit=limit, cursor=cursor)
    if wanted.job_id is not None:
        return job_runs(engine, read_job(engine, tenant, wanted.job_id), wanted, limit, cursor)
    if wanted.status == Status.RUNNING:
        return running_runs(engine, tenant, limit, cursor)
    if wanted.status == Status.FAILED:
        return dead_letters(engine, tenant, EVERY, limit, cursor)
    raise InvalidRequest(Problem("job_id" if wanted.status is None else "status", ADVICE))

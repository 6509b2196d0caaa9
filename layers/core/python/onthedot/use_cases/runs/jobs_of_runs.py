"""Read the jobs of a page of runs at once, for their names and targets."""

from collections.abc import Mapping, Sequence

from onthedot.domain.errors import Unavailable
from onthedot.domain.runs.records import Kind, Record
from onthedot.ports import Deadline, Engine
from onthedot.use_cases import patience

_OF_JOBS = frozenset({Kind.STAMPED, Kind.SKIPPED_RANGE})
"""The kinds of records that have no definition of their own."""


def jobs_of(
    engine: Engine, runs: Sequence[Record], known: Sequence[Record] = (), *, must_have_all: bool = False
) -> Mapping[str, Record]:
    """Return the jobs of these runs by id, with one read of the jobs that are not known.

    A one-off job is its own run. A job that cannot be read, or is gone, is missing: a list is shown without its name.
    With `must_have_all`, raise Unavailable when the store did not answer about a job.
    """
    jobs = {job.job_id: job for job in known}
    jobs |= {run.job_id: run for run in runs if run.kind is Kind.ONE_OFF}
    tenants = {run.job_id: run.tenant for run in runs if run.kind in _OF_JOBS and run.job_id not in jobs}
    if tenants:
        read = engine.store.get_many(list(tenants), Deadline.after(engine.clock.now(), patience.READ_MS))
        if must_have_all and read.unread:
            raise Unavailable(f"jobs of runs: {len(read.unread)} could not be read")
        jobs |= {job_id: job for job_id, job in read.found.items() if job.tenant == tenants[job_id]}
    return jobs


def name_of(job: Record | None) -> str | None:
    """Return the name of a job, or None when it has none, or is gone."""
    return None if job is None or job.definition is None else job.definition.name

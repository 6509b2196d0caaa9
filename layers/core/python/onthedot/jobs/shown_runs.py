"""Show runs with the names and targets of their jobs, which are read at once for a page."""

from collections.abc import Mapping, Sequence

from onthedot.core import patience
from onthedot.core.errors import Unavailable
from onthedot.core.ports import Deadline
from onthedot.core.records import Definition, Kind, Record
from onthedot.engine import Engine
from onthedot.jobs.contents import short_result, whole_result
from onthedot.jobs.executions_views import ExecutionView, SkippedView, run_view

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
    return None if job is None or job.definition is None else job.definition.name


def shown_runs(
    engine: Engine, runs: Sequence[Record], known: Sequence[Record] = ()
) -> list[ExecutionView | SkippedView]:
    """`known` are jobs that the caller has read."""
    jobs = jobs_of(engine, runs, known)
    now = engine.clock.now()
    return [run_view(run, short_result(engine.blobs, run), now, _definition(jobs, run)) for run in runs]


def shown_run(
    engine: Engine, run: Record, *, definition: Definition | None = None, whole: bool = False
) -> ExecutionView | SkippedView:
    """`definition` is that of its job, if known. `whole`: with a long result."""
    result = whole_result(engine.blobs, run) if whole else short_result(engine.blobs, run)
    return run_view(run, result, engine.clock.now(), definition or _definition(jobs_of(engine, [run]), run))


def _definition(jobs: Mapping[str, Record], run: Record) -> Definition | None:
    return jobs[run.job_id].definition if run.job_id in jobs else None

"""Read the jobs of a page of runs at once, for their names and targets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from onthedot.core import patience
from onthedot.core.errors import Unavailable
from onthedot.core.ports import Deadline
from onthedot.core.records import Definition, Kind, Record
from onthedot.engine import Engine
from onthedot.jobs.contents import ShownResult, short_result

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


@dataclass(frozen=True, slots=True)
class ShownRun:
    """A run with its result and its definition, to be shown."""

    run: Record
    result: ShownResult
    definition: Definition | None = None
    """The definition of its job, for a run that has none of its own."""


def shown_runs(engine: Engine, runs: Sequence[Record], known: Sequence[Record] = ()) -> list[ShownRun]:
    """Return the runs of a page as they are shown. `known` are jobs that the caller has read."""
    jobs = jobs_of(engine, runs, known)
    definitions = {job_id: job.definition for job_id, job in jobs.items()}
    return [ShownRun(run, short_result(engine.blobs, run), definitions.get(run.job_id)) for run in runs]


def definition_of_job(engine: Engine, run: Record) -> Definition | None:
    """Return the definition of a run's job. A run that has its own needs no read."""
    job = jobs_of(engine, [run]).get(run.job_id)
    return None if job is None else job.definition

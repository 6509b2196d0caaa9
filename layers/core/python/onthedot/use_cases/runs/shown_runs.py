"""Read the short results of runs, and the definitions of their jobs at once, to show them."""

from collections.abc import Sequence
from dataclasses import dataclass

from onthedot.domain.runs.records import Definition, Record
from onthedot.ports import Engine
from onthedot.use_cases.attempts.results import ShownResult, short_result
from onthedot.use_cases.runs.jobs_of_runs import jobs_of


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

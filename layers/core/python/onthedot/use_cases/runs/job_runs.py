"""List the runs of a job, the newest first, by status."""

from functools import partial

from onthedot.domain.runs.records import Record
from onthedot.ports import Deadline, Engine, Page
from onthedot.use_cases import patience
from onthedot.use_cases.jobs.list_runs import list_runs
from onthedot.use_cases.runs.filtered_pages import CHUNK, Chunk, filtered_page
from onthedot.use_cases.runs.run_filter import RunFilter


def job_runs(engine: Engine, job: Record, wanted: RunFilter, limit: int, cursor: str | None = None) -> Page[Record]:
    """Return a page of the job's runs that pass the filter. The own run of a one-off job is among them."""
    deadline = Deadline.after(engine.clock.now(), patience.REQUEST_MS)
    return filtered_page(
        partial(_chunk, engine, job, limit if wanted.status is None else CHUNK),
        lambda runs: [run for run in runs if wanted.passes(run)],
        limit,
        cursor,
        lambda: deadline.allows(engine.clock.now()),
    )


def _chunk(engine: Engine, job: Record, size: int, place: str | None) -> Chunk:
    page = list_runs(engine, job, size, place)
    items = [((-run.nominal_at, run.run_id), run) for run in page.items]
    return Chunk(items, page.cursor, page.unreadable)

"""List dead letters, the runs that failed for good, by filters."""

from collections.abc import Sequence
from functools import partial

from onthedot.domain.reports.failure_filter import FailureFilter
from onthedot.domain.runs.records import Record
from onthedot.ports import Deadline, Engine, Page
from onthedot.use_cases import patience
from onthedot.use_cases.runs.filtered_pages import CHUNK, Chunk, filtered_page
from onthedot.use_cases.runs.jobs_of_runs import jobs_of, name_of


def dead_letters(
    engine: Engine, tenant: str, wanted: FailureFilter, limit: int, cursor: str | None = None
) -> Page[Record]:
    """Return a page of a tenant's failed runs that pass the filter, the latest first. Raise Unavailable."""
    deadline = Deadline.after(engine.clock.now(), patience.REQUEST_MS)
    size = CHUNK if wanted.looks_at_runs else limit
    return filtered_page(
        partial(_chunk, engine, tenant, wanted, size),
        partial(matching, engine, wanted),
        limit,
        cursor,
        lambda: deadline.allows(engine.clock.now()),
    )


def matching(engine: Engine, wanted: FailureFilter, runs: Sequence[Record]) -> list[Record]:
    """Return the runs that pass the filter, in their order. Their jobs are read only for a filter by name.

    Raise Unavailable when such a job cannot be read now: without its name, its runs would be missing in silence.
    """
    jobs = jobs_of(engine, runs, must_have_all=True) if wanted.name is not None else {}
    return [run for run in runs if wanted.passes(run, name_of(jobs.get(run.job_id)))]


def _chunk(engine: Engine, tenant: str, wanted: FailureFilter, size: int, place: str | None) -> Chunk:
    page = engine.store.failed(tenant, size, place, wanted.window)
    items = [((-(run.finished_at or 0), run.run_id), run) for run in page.items]
    return Chunk(items, page.cursor, page.unreadable)

"""Lists of jobs on each engine: partitions are merged by time, and each job is on one page."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from onthedot.core.choices import Priority
from onthedot.core.listing import listed_under
from onthedot.core.records import Definition, Kind, Record
from onthedot.engine import Engine
from onthedot.jobs.facts import FactFilter
from onthedot.jobs.list_jobs import JobQuery, list_jobs
from onthedot.targets.types import HttpTarget
from tests.builders import a_run, a_world
from tests.contract.kits.kit import Kit


@pytest.fixture
def engine(kit: Kit) -> Iterator[Engine]:
    with a_world() as world:
        yield replace(world.engine, store=kit.store(), clock=kit.clock)


def some_jobs(engine: Engine) -> list[Record]:
    """Jobs of two kinds and two names, three in each millisecond. The latest is the first."""
    jobs: list[Record] = []
    for number in range(24):
        job = a_run(engine.clock).due_in(400).having(created_at=engine.clock.now() + number // 3).build()
        kind = Kind.EVENT if number % 4 == 0 else Kind.ONE_OFF
        fields: dict[str, Any] = {"kind": kind, "listed_under": listed_under("acme", job.job_id, kind)}
        definition = Definition(HttpTarget("http://127.0.0.1:9/"), name=f"{'even' if number % 2 == 0 else 'odd'} job")
        jobs.append(replace(job, definition=definition, **fields))
        assert engine.store.create(jobs[-1]) is None
    return jobs[::-1]


def every_page(engine: Engine, query: JobQuery, limit: int) -> list[list[Record]]:
    pages: list[list[Record]] = []
    cursor = None
    while True:
        page = list_jobs(engine, "acme", query, limit, cursor)
        pages.append([listed.job for listed in page.items])
        cursor = page.cursor
        if cursor is None:
            return pages
        assert len(pages) < 50, "it never ends"


@pytest.mark.parametrize("limit", [5, 50])
@pytest.mark.parametrize(
    "facts",
    [FactFilter(), FactFilter(name="odd"), FactFilter(kind=Kind.EVENT), FactFilter(kind=Kind.ONE_OFF, name="even")],
    ids=["all", "odd", "event", "even one-off"],
)
def test_each_job_that_passes_is_on_one_page_the_latest_first(engine: Engine, facts: FactFilter, limit: int) -> None:
    jobs = some_jobs(engine)
    expected = [
        job
        for job in jobs
        if facts.kind in (None, job.kind)
        and job.definition
        and (job.definition.name or "").startswith(facts.name or "")
    ]

    pages = every_page(engine, JobQuery(facts), limit)

    found = [job for page in pages for job in page]
    assert sorted(job.run_id for job in found) == sorted(job.run_id for job in expected)
    times = [job.created_at for job in found]
    assert times == sorted(times, reverse=True)
    assert all(len(page) == limit for page in pages[:-1])


def test_a_status_is_read_from_the_jobs(engine: Engine) -> None:
    jobs = some_jobs(engine)

    assert len([job for page in every_page(engine, JobQuery(status="PENDING"), 7) for job in page]) == len(jobs)
    assert every_page(engine, JobQuery(status="RUNNING"), 7) == [[]]
    assert every_page(engine, JobQuery(FactFilter(priority=Priority.HIGH)), 7) == [[]]

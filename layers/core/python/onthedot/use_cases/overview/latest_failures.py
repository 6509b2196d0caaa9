"""Read the latest dead letters of a tenant, and count those of the last hour by their cause."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from onthedot.domain.runs.records import Definition, Record
from onthedot.ports import Engine
from onthedot.use_cases.runs.count_causes import Cause, causes_among
from onthedot.use_cases.runs.jobs_of_runs import jobs_of

LOOKED_AT: Final = 100
"""The latest dead letters that are looked at."""
SHOWN: Final = 10
MOST_CAUSES: Final = 5
MOST_JOBS: Final = 10
"""Most jobs of whose runs successes are counted."""


@dataclass(frozen=True, slots=True)
class LatestFailures:
    """The latest dead letters, and the causes of those of the last hour, the most frequent first."""

    failures: Sequence[tuple[Record, Definition | None]]
    """Each with the definition of its job. None: the job is gone, or cannot be read now."""
    causes: Sequence[Cause]
    of_latest: int | None = None
    """How many dead letters of the hour were counted, if there may be more. None: all."""


def latest_failures(engine: Engine, tenant: str, since: int) -> LatestFailures:
    """Return the latest dead letters, and the causes of those since this time. Raise Unavailable."""
    page = engine.store.failed(tenant, LOOKED_AT)
    found = page.items
    recent = list(takewhile(lambda run: (run.finished_at or 0) >= since, found))
    shown = found[:SHOWN]
    jobs = jobs_of(engine, shown)
    definitions = {job_id: job.definition for job_id, job in jobs.items()}
    return LatestFailures(
        [(run, run.definition or definitions.get(run.job_id)) for run in shown],
        causes_among(engine, recent, MOST_CAUSES, MOST_JOBS),
        len(recent) if page.cursor is not None and len(recent) == len(found) else None,
    )

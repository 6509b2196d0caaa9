"""Keep a job that has ended for as long as one of its runs needs it: a run reads its definition from its job.

An ended job expires. Its last run can live longer: it may be retried for weeks, wait for a worker, or be redriven. So
the start of a run, the redrive and the sweep extend the expiry of its job when that is near. A run that starts soon
after the end of its job costs no write.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

from onthedot.core import lifecycle
from onthedot.core.engine import Core
from onthedot.core.errors import Unavailable
from onthedot.core.ports import Deadline
from onthedot.core.records import Kind, Record

WAITED_MS: Final = 86_400_000
"""The sweep reads the job of a run that has waited for this long."""


def keep_jobs(engine: Core, jobs: Iterable[Record], deadline: Deadline) -> None:
    """Extend the expiry of these jobs, if they have ended and expire soon.

    The next start, redrive or sweep repeats a write that failed.
    """
    now = engine.clock.now()
    moves = [lifecycle.keep_for_run(job, now, engine.deployment) for job in jobs]
    if wanted := [move for move in moves if move is not None]:
        with suppress(Unavailable):
            engine.store.move_many(wanted, deadline)


def keep_jobs_of(engine: Core, runs: Sequence[Record], deadline: Deadline) -> None:
    """Extend the expiry of the jobs of runs that have waited for long."""
    now = engine.clock.now()
    job_ids = {run.job_id for run in runs if run.kind is Kind.STAMPED and now - run.due_at > WAITED_MS}
    if job_ids:
        with suppress(Unavailable):
            keep_jobs(engine, engine.store.get_many(sorted(job_ids), deadline).found.values(), deadline)

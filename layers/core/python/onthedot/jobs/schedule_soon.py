"""Schedule a job at once that was just stored or changed, because the next tick may be too late for it.

If the process dies before this, the run is late but not lost: the job stays in its slot, and a tick or the sweep finds
it.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from onthedot.core import patience
from onthedot.core.engine import Core
from onthedot.core.errors import OnthedotError
from onthedot.core.ids import fresh_generation
from onthedot.core.ports import Deadline
from onthedot.core.records import Kind, Record, Status
from onthedot.core.send import send_runs
from onthedot.core.slots import horizon
from onthedot.core.stamp import stamp_jobs

_LOG: Final = logging.getLogger(__name__)


def schedule_soon(engine: Core, job: Record) -> Record:
    touched = schedule_all_soon(engine, [job], patience.SEND_MS)
    stored = None
    with _left_to_a_pass(job.run_id):
        stored = engine.store.get(job.run_id) if touched else None
    return stored or job


def schedule_all_soon(engine: Core, jobs: Sequence[Record], patience_ms: int) -> bool:
    """Send near runs, link waiting jobs to their parents, stamp recurring jobs that fire before the horizon.

    Return whether jobs were linked or stamped, which changes their records.
    """
    now = engine.clock.now()
    deadline = Deadline.after(now, patience_ms)
    near = [job for job in jobs if job.kind is not Kind.RECURRING and job.status is Status.DISPATCHED]
    waiting = [job for job in jobs if job.status is Status.WAITING]
    until = horizon(now, engine.deployment.lookahead)
    active = (job for job in jobs if job.kind is Kind.RECURRING and job.status is Status.ACTIVE)
    recurring = [job.run_id for job in active if job.due_at < until]
    if near:
        with _left_to_a_pass(near[0].run_id):
            send_runs(engine, near, deadline)
    for child in waiting:
        with _left_to_a_pass(child.run_id):
            if deadline.allows(engine.clock.now()):
                engine.points.link_to_parents(engine, child)
    claim_token = f"api/{fresh_generation()}"
    if recurring:
        with _left_to_a_pass(recurring[0]):
            stamp_jobs(engine, recurring, claim_token, deadline)
    return bool(waiting or recurring)


@contextmanager
def _left_to_a_pass(run_id: str) -> Iterator[None]:
    """Leave a step that fails to a tick or the sweep: the jobs are stored, so the client must not get an error."""
    try:
        yield
    except OnthedotError as error:
        _LOG.warning("left_to_a_pass", extra={"run": run_id, "error": str(error)})

"""Release the runs of a job that wait at a gate which the job no longer names."""

import logging
from collections.abc import Sequence
from typing import Final

from onthedot.core import patience
from onthedot.core.errors import OnthedotError
from onthedot.core.gate_names import QUEUE, TENANT, TURN, gate_of_slot
from onthedot.core.ids import fresh_generation
from onthedot.core.moves import applied
from onthedot.core.outcomes import is_record_written
from onthedot.core.ports import Deadline
from onthedot.core.records import Record, Status
from onthedot.core.send import send_runs
from onthedot.engine import Engine
from onthedot.gates import run_moves
from onthedot.schedules.choices import OverlapPolicy

_LOG: Final = logging.getLogger(__name__)
MOST_RUNS: Final = 1_000
"""The latest runs of a job that are looked at. An older one goes on at its turn at the old gate."""
_PAGE: Final = 100


def release_runs(engine: Engine, job: Record) -> int:
    """Send runs that wait at a gate which the job does not name any more. Return their number.

    A run that is not released goes on at its turn at the old gate. So a failure here is logged and does no harm.
    """
    deadline = Deadline.after(engine.clock.now(), patience.REQUEST_MS)
    released, read, cursor = 0, 0, None
    try:
        while read < MOST_RUNS and deadline.allows(engine.clock.now()):
            page = engine.store.runs_of(job.job_id, _PAGE, cursor)
            released += _release(engine, [run for run in page.items if _waits_elsewhere(run, job)], deadline)
            read, cursor = read + _PAGE, page.cursor
            if cursor is None:
                break
    except OnthedotError as error:
        _LOG.warning("left_to_a_pass", extra={"run": job.run_id, "error": str(error)})
    return released


def _waits_elsewhere(run: Record, job: Record) -> bool:
    gate = gate_of_slot(run.slot) if run.status is Status.PENDING else None
    if gate is None or gate.name in (TENANT, QUEUE):
        return False
    return _may_overlap(job) if gate.name == TURN else gate.named not in job.gates


def _may_overlap(job: Record) -> bool:
    return job.recurrence is None or job.recurrence.overlap is OverlapPolicy.ALLOW


def _release(engine: Engine, runs: Sequence[Record], deadline: Deadline) -> int:
    if not runs:
        return 0
    now = engine.clock.now()
    moves = [
        run_moves.release(run, now, fresh_generation=fresh_generation(), deployment=engine.deployment) for run in runs
    ]
    moved = [applied(run, move) for run, move in zip(runs, moves, strict=True)]
    outcomes = engine.store.move_many(moves, deadline)
    written = [run for run, outcome in zip(moved, outcomes, strict=True) if is_record_written(run, outcome)]
    send_runs(engine, written, deadline)
    return len(written)

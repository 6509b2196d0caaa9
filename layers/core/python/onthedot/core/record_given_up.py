"""Record the fire times that a change of a job gives up, so that no crash leaves a time without an outcome."""

from typing import Final

from onthedot.core import given_up
from onthedot.core.engine import Core
from onthedot.core.moves import Move
from onthedot.core.outcomes import current_record
from onthedot.core.records import Record

_PAGE: Final = 500
_MOST_PAGES: Final = 4


def with_given_up(engine: Core, job: Record, move: Move, now: int) -> Move:
    """Return the move, with the times that it gives up. Records are read only if there are such times."""
    first = given_up.first_unsettled(job, move, now)
    if first is None:
        return move
    return given_up.giving_up(job, move, _recorded(engine, job.job_id, first), now, engine.deployment)


def store_given_up(engine: Core, job: Record) -> Record:
    """Store the range of the times that the job has given up, if any, and return the job without them.

    The API calls this after the change. Dispatchers, and a client that changes the job next, call it again if the
    process died there. Raise Unavailable.
    """
    if job.given_up is None:
        return job
    now = engine.clock.now()
    engine.store.create(given_up.given_up_range(job, now, engine.deployment))
    return current_record(engine.store.move(given_up.range_is_stored(job, now, engine.deployment))) or job


def _recorded(engine: Core, job_id: str, first: int) -> list[Record]:
    """Return the job's records from this time on: runs that a pause skipped, stamps of a dispatcher that died."""
    records: list[Record] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = engine.store.runs_of(job_id, _PAGE, cursor)
        records += [record for record in page.items if (record.skipped_until or record.fire_time) >= first]
        cursor = page.cursor
        if cursor is None or any(record.fire_time < first for record in page.items):
            break
    return records

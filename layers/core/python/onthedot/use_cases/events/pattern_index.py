"""Where events find the jobs that wait for them. An event job's entries stand before the job does, and go after it.

Each pattern of a job has entries of its own, under a name that only this pattern ever has. So nobody removes what
somebody else has just put, and a job that is ACTIVE always has its entries, wherever somebody died. What is left over
then is harmless, for the job itself is read before anything runs; whoever meets it long after takes it away.
"""

import json
from contextlib import suppress
from typing import Any, Final

from onthedot.domain.errors import Unavailable
from onthedot.domain.events.index import index_keys
from onthedot.domain.runs.records import TERMINAL, Record
from onthedot.ports import Engine, PatternEntry

LEFT_OVER_MS: Final = 3_600_000
"""No request takes so long from putting its entries to storing its job."""


def enter(engine: Engine, job: Record) -> None:
    """Before an event job is stored or changed. Raises Unavailable: then it must not be."""
    if job.pattern is not None and job.pattern_entry is not None:
        entry = PatternEntry(job.job_id, job.pattern_entry, job.pattern, engine.clock.now())
        engine.patterns.put(job.tenant, keys_of(job.pattern), entry)


def enter_changed(engine: Engine, before: Record, after: Record) -> None:
    """Before a change that gives the job another pattern. Raises Unavailable."""
    if after.pattern_entry != before.pattern_entry:
        enter(engine, after)


def leave(engine: Engine, job: Record, standing: Record | None) -> None:
    """The job was refused, changed or stopped, and `standing` is what is there now; unless that needs the entries.

    If this fails they are left over.
    """
    if job.pattern is None or job.pattern_entry is None:
        return
    if standing is None or standing.status in TERMINAL or standing.pattern_entry != job.pattern_entry:
        with suppress(Unavailable):
            engine.patterns.remove(job.tenant, keys_of(job.pattern), job.job_id, job.pattern_entry)


def clear_left_over(engine: Engine, tenant: str, entry: PatternEntry, job: Record | None) -> None:
    """An entry that an event met and no job needs: take it away, unless a job may just be coming for it."""
    needed = job is not None and job.status not in TERMINAL and job.pattern_entry == entry.name
    if not needed and entry.put_at + LEFT_OVER_MS < engine.clock.now():
        with suppress(Unavailable):
            engine.patterns.remove(tenant, keys_of(entry.pattern), entry.job_id, entry.name)


def keys_of(pattern: str) -> tuple[str, ...]:
    return index_keys(read(pattern))


def read(pattern: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(pattern)
    return found

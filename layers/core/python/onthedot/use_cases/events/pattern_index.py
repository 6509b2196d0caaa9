"""Maintain the index by which events find the jobs that wait for them.

An event job's entries are put before the job is stored, and removed after it ends. Each pattern of a job has entries of
its own, under a name that only this pattern ever has. So no request removes the entries of another request, and an
ACTIVE job always has its entries, even when a request died. Entries that are left over then are harmless, because the
job is read before a run is made. An event that finds them an hour later removes them.
"""

import json
from contextlib import suppress
from typing import Any, Final

from onthedot.domain.errors import Unavailable
from onthedot.domain.events.index import index_keys
from onthedot.domain.runs.records import TERMINAL, Record
from onthedot.ports import Engine, PatternEntry

LEFT_OVER_MS: Final = 3_600_000
"""The age at which an entry without a job is left over: no request takes so long to store its job."""


def enter(engine: Engine, job: Record) -> None:
    """Put the entries of an event job, before it is stored or changed. Raise Unavailable: then do neither."""
    if job.pattern is not None and job.pattern_entry is not None:
        entry = PatternEntry(job.job_id, job.pattern_entry, job.pattern, engine.clock.now())
        engine.patterns.put(job.tenant, keys_of(job.pattern), entry)


def enter_changed(engine: Engine, before: Record, after: Record) -> None:
    """Put the entries of a new pattern, before a change that gives it to the job. Raise Unavailable."""
    if after.pattern_entry != before.pattern_entry:
        enter(engine, after)


def leave(engine: Engine, job: Record, stored: Record | None) -> None:
    """Remove the entries of a job that was refused, changed or stopped, unless the stored job needs them.

    `stored` is the record that has the job's id now. If this fails, the entries are left over.
    """
    if job.pattern is None or job.pattern_entry is None:
        return
    if stored is None or stored.status in TERMINAL or stored.pattern_entry != job.pattern_entry:
        with suppress(Unavailable):
            engine.patterns.remove(job.tenant, keys_of(job.pattern), job.job_id, job.pattern_entry)


def clear_left_over(engine: Engine, tenant: str, entry: PatternEntry, job: Record | None) -> None:
    """Remove an entry that no job needs, unless it is so new that its job may not be stored yet."""
    needed = job is not None and job.status not in TERMINAL and job.pattern_entry == entry.name
    if not needed and entry.put_at + LEFT_OVER_MS < engine.clock.now():
        with suppress(Unavailable):
            engine.patterns.remove(tenant, keys_of(entry.pattern), entry.job_id, entry.name)


def keys_of(pattern: str) -> tuple[str, ...]:
    """Return the keys under which a pattern is found."""
    return index_keys(read(pattern))


def read(pattern: str) -> dict[str, Any]:
    """Return a stored pattern as an object."""
    found: dict[str, Any] = json.loads(pattern)
    return found

"""List the runs of a worker: what it runs now, and the latest that ended on it.

The record of a pull worker names them, as of its last heartbeat. What a worker without such a record runs now is found
in the watch slots, like all running runs. So is what any worker runs now when only that is asked for.
"""

import json
from typing import Final

from onthedot.domain.errors import Unavailable, WorkerNotFound
from onthedot.domain.runs.records import Record, Status
from onthedot.domain.workers.records import Load, is_unregistered
from onthedot.ports import Deadline, Engine, Page
from onthedot.use_cases import patience
from onthedot.use_cases.runs.filtered_pages import Key
from onthedot.use_cases.runs.run_filter import RunFilter
from onthedot.use_cases.runs.running_runs import running_runs
from onthedot.use_cases.workers.worker_registry import see_worker

_NOW: Final = "now:"
"""The first part of a cursor in the list of running runs. A heartbeat between two pages does not change the list."""


def worker_runs(
    engine: Engine, tenant: str, worker_id: str, wanted: RunFilter, *, limit: int, cursor: str | None = None
) -> Page[Record]:
    """Return a page of the tenant's runs on this worker: the running ones, then the others by their last start.

    Raise WorkerNotFound and Unavailable.
    """
    if cursor is not None and cursor.startswith(_NOW):
        return _running(engine, tenant, worker_id, wanted, limit=limit, cursor=cursor.removeprefix(_NOW))
    load = _load(engine, tenant, worker_id)
    names_none = not (load.running or load.recent) and wanted.status is None
    if cursor is None and (names_none or wanted.status == Status.RUNNING):
        return _running(engine, tenant, worker_id, wanted, limit=limit)
    return _named(engine, tenant, worker_id, load, wanted, limit=limit, cursor=cursor)


def _load(engine: Engine, tenant: str, worker_id: str) -> Load:
    """Return the load that the record has. A worker that does not register has none. Raise WorkerNotFound."""
    try:
        return see_worker(engine, tenant, worker_id).load
    except WorkerNotFound:
        if is_unregistered(worker_id):
            return Load()
        raise


def _running(
    engine: Engine, tenant: str, worker_id: str, wanted: RunFilter, *, limit: int, cursor: str | None = None
) -> Page[Record]:
    """Return a page of what the worker runs now, by the watch slots.

    A record there that cannot be read does not say which worker has its run.
    """
    page = running_runs(
        engine, tenant, limit, cursor, passes=lambda run: run.worker == worker_id and wanted.passes(run)
    )
    return Page(page.items, None if page.cursor is None else _NOW + page.cursor)


def _named(
    engine: Engine, tenant: str, worker_id: str, load: Load, wanted: RunFilter, *, limit: int, cursor: str | None
) -> Page[Record]:
    """Return a page of the runs that the record names. A run that it names wrongly is not listed."""
    ids = list(dict.fromkeys((*load.running, *load.recent)))
    read = engine.store.get_many(ids, Deadline.after(engine.clock.now(), patience.REQUEST_MS))
    if read.unread:  # a page without these runs would claim that the worker did not have them
        raise Unavailable(f"runs of a worker: {len(read.unread)} could not be read")
    last = None if cursor is None else tuple(json.loads(cursor))
    keyed = {
        _key(run, worker_id): run
        for run in read.found.values()
        if run.tenant == tenant and _was_on(run, worker_id) and wanted.passes(run)
    }
    keys = sorted(key for key in keyed if last is None or key > last)
    further = json.dumps(keys[limit - 1]) if len(keys) > limit else None
    faulty = [one for one in read.unreadable.values() if one.tenant == tenant] if cursor is None else []
    return Page([keyed[key] for key in keys[:limit]], further, faulty)


def _key(run: Record, worker_id: str) -> Key:
    runs_now = run.status is Status.RUNNING and run.worker == worker_id
    return (0 if runs_now else 1, -(run.started_at or 0), run.run_id)


def _was_on(run: Record, worker_id: str) -> bool:
    return run.worker == worker_id or any(attempt.worker == worker_id for attempt in run.attempts)

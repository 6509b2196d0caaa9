"""Find runs by a query that an index or a record answers with a bounded number of reads."""

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Final

from onthedot.core import patience
from onthedot.core.errors import InvalidRequest, Problem, Unavailable, WorkerNotFound
from onthedot.core.lifecycle import LONGEST_LOOK_MS
from onthedot.core.ports import Deadline, Page, SlotEntry
from onthedot.core.records import Kind, Record, Status
from onthedot.core.slots import BUCKET_MS, REREAD, WATCH_DISTANCE, SlotKind, bucket_of, slot_name
from onthedot.engine import Engine
from onthedot.jobs.causes import EVERY
from onthedot.jobs.dead_letters import dead_letters
from onthedot.jobs.list_runs import list_runs, read_job
from onthedot.jobs.run_pages import CHUNK, Chunk, Key, RunFilter, filtered_page
from onthedot.workers.records import Load, is_unregistered
from onthedot.workers.registrations import see_worker

BEHIND: Final = 2 * REREAD
"""Buckets before the current one that may still have running runs, because the sweep was late."""
AHEAD: Final = LONGEST_LOOK_MS // BUCKET_MS + WATCH_DISTANCE
"""Buckets after the current one that may have running runs: a run may start while the sweep looks in an hour."""
AT_ONCE: Final = 32
"""Slots that are read side by side."""
MOST_WAVES: Final = 4
"""The most times that slots are read for one chunk."""
MOST_CHUNKS: Final = 4
"""The most chunks of a page, which reads at most 512 slots."""
SLOT_PAGE: Final = 250
"""Entries of a slot that are read at once."""
READERS: Final = 8


@dataclass(frozen=True, slots=True)
class _Slot:
    """A watch slot, from a place in it on."""

    bucket: int
    shard: int
    cursor: str | None = None

    @property
    def name(self) -> str:
        return slot_name(SlotKind.WATCH, self.shard, self.bucket)

    @property
    def place(self) -> str:
        return json.dumps([self.bucket, self.shard, self.cursor])


def running_runs(
    engine: Engine,
    tenant: str,
    limit: int,
    cursor: str | None = None,
    *,
    status: Status = Status.RUNNING,
    passes: Callable[[Record], bool] = lambda _: True,
) -> Page[Record]:
    """Return runs that run now, or with `status` those that were sent. `passes` chooses some. Raise Unavailable."""
    now = engine.clock.now()
    deadline = Deadline.after(now, patience.REQUEST_MS)
    shards = max(engine.deployment.shards, engine.shards.read().used)
    return filtered_page(
        engine.clock,
        partial(_chunk, _Search(engine, tenant, now, shards, deadline)),
        lambda runs: [run for run in runs if run.status is status and passes(run)],
        limit,
        cursor,
        most_chunks=MOST_CHUNKS,
    )


@dataclass(frozen=True, slots=True)
class _Search:
    engine: Engine
    tenant: str
    now: int
    shards: int
    deadline: Deadline

    def slots(self, place: str | None) -> Iterator[_Slot]:
        present = bucket_of(self.now)
        first = _Slot(present - BEHIND, 0) if place is None else _Slot(*json.loads(place))
        if first.bucket < present - BEHIND:
            first = _Slot(present - BEHIND, 0)
        if first.shard < self.shards:
            yield first
        for bucket in range(first.bucket, present + AHEAD + 1):
            from_shard = first.shard + 1 if bucket == first.bucket else 0
            yield from (_Slot(bucket, shard) for shard in range(from_shard, self.shards))

    def read(self, slot: _Slot) -> Page[SlotEntry]:
        return self.engine.store.read_slot(slot.name, slot.cursor, SLOT_PAGE)

    def may_run(self, entry: SlotEntry) -> bool:
        """Return whether the run may have started: it is the tenant's, and its time has come."""
        return entry.tenant == self.tenant and entry.kind is not Kind.GATE and entry.due_at <= self.now


def _chunk(search: _Search, place: str | None) -> Chunk:
    keys: dict[str, Key] = {}
    for _ in range(MOST_WAVES):
        slots = search.slots(place)
        first = next(slots, None)
        if first is None:
            return _read_runs(search, keys, None)
        # The rest of a large slot is read alone: the slots behind it would be read again and again.
        wave = [first, *islice(slots, 0 if first.cursor else AT_ONCE - 1)]
        following = _take(search, wave, keys) or next(slots, None)
        place = None if following is None else following.place
        if place is None or len(keys) >= CHUNK:
            break
    return _read_runs(search, keys, place)


def _take(search: _Search, wave: Sequence[_Slot], keys: dict[str, Key]) -> _Slot | None:
    """Add the entries of these slots. Return where to go on inside of them, None: behind them."""
    with ThreadPoolExecutor(READERS) as readers:
        pages = list(readers.map(search.read, wave))
    for number, (slot, page) in enumerate(zip(wave, pages, strict=True)):
        for entry in filter(search.may_run, page.items):
            keys.setdefault(entry.run_id, (slot.bucket, slot.shard, entry.due_at, entry.run_id))
        if page.cursor is not None:
            return replace(slot, cursor=page.cursor)
        if len(keys) >= CHUNK and number + 1 < len(wave):
            return wave[number + 1]
    return None


def _read_runs(search: _Search, keys: dict[str, Key], following: str | None) -> Chunk:
    read = search.engine.store.get_many(list(keys), search.deadline)
    if read.unread:  # a page without these runs would claim that they do not run
        raise Unavailable(f"running runs: {len(read.unread)} could not be read")
    found = [(keys[run_id], run) for run_id, run in read.found.items() if run.tenant == search.tenant]
    return Chunk(found, following, [one for one in read.unreadable.values() if one.tenant == search.tenant])


_NOW: Final = "now:"
"""The first part of a cursor in the list of running runs. A heartbeat between two pages does not change the list."""


def worker_runs(
    engine: Engine, tenant: str, worker_id: str, wanted: RunFilter, *, limit: int, cursor: str | None = None
) -> Page[Record]:
    """Return the running ones first, then the others by their last start. Raise WorkerNotFound and Unavailable."""
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
    # A record that cannot be read does not say which worker has its run.
    page = running_runs(
        engine, tenant, limit, cursor, passes=lambda run: run.worker == worker_id and wanted.passes(run)
    )
    return Page(page.items, None if page.cursor is None else _NOW + page.cursor)


def _named(
    engine: Engine, tenant: str, worker_id: str, load: Load, wanted: RunFilter, *, limit: int, cursor: str | None
) -> Page[Record]:
    # A run that the record names wrongly is not listed.
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


def job_runs(engine: Engine, job: Record, wanted: RunFilter, limit: int, cursor: str | None = None) -> Page[Record]:
    # The own run of a one-off job is among them.
    return filtered_page(
        engine.clock,
        partial(_chunk_of_job, engine, job, limit if wanted.status is None else CHUNK),
        lambda runs: [run for run in runs if wanted.passes(run)],
        limit,
        cursor,
    )


def _chunk_of_job(engine: Engine, job: Record, size: int, place: str | None) -> Chunk:
    page = list_runs(engine, job, size, place)
    items = [((-run.fire_time, run.run_id), run) for run in page.items]
    return Chunk(items, page.cursor, page.unreadable)


ADVICE = "give job_id, worker_id, or status RUNNING or FAILED; an index for other lists would cost every run a write"


def find_runs(
    engine: Engine, tenant: str, wanted: RunFilter, worker_id: str | None, *, limit: int, cursor: str | None
) -> Page[Record]:
    """Raise InvalidRequest for a query that no index answers, JobNotFound, WorkerNotFound and Unavailable."""
    if worker_id is not None:
        return worker_runs(engine, tenant, worker_id, wanted, limit=limit, cursor=cursor)
    if wanted.job_id is not None:
        return job_runs(engine, read_job(engine, tenant, wanted.job_id), wanted, limit, cursor)
    if wanted.status == Status.RUNNING:
        return running_runs(engine, tenant, limit, cursor)
    if wanted.status == Status.FAILED:
        return dead_letters(engine, tenant, EVERY, limit, cursor)
    raise InvalidRequest(Problem("job_id" if wanted.status is None else "status", ADVICE))

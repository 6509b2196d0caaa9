"""List the runs of a tenant that run now, from the entries of the watch slots.

An entry does not say whether its run has started, because a start would have to write the index then. So runs that were
sent and wait for a worker are read too. Slots are read in the order of time: the sweep moves a run that still runs to a
later slot only, so a run that runs all the time is on some page. It may be on two.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Final

from onthedot.domain.errors import Unavailable
from onthedot.domain.runs.lifecycle.sent import LONGEST_LOOK_MS
from onthedot.domain.runs.records import Kind, Record, Status
from onthedot.domain.runs.slots import BUCKET_MS, REREAD, WATCH_DISTANCE, SlotKind, bucket_of, slot_name
from onthedot.ports import Deadline, Engine, Page, SlotEntry
from onthedot.use_cases import patience
from onthedot.use_cases.runs.filtered_pages import CHUNK, Chunk, Key, filtered_page

BEHIND: Final = 2 * REREAD
"""Buckets before the present one that may still have running runs, because the sweep was late."""
AHEAD: Final = LONGEST_LOOK_MS // BUCKET_MS + WATCH_DISTANCE
"""Buckets after the present one that may have running runs: a run may start while the sweep looks in an hour."""
AT_ONCE: Final = 32
"""Slots that are read side by side."""
MOST_WAVES: Final = 4
"""Most times that slots are read for one chunk."""
MOST_CHUNKS: Final = 4
"""Most chunks of a page, which reads at most 512 slots."""
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
    """Return a page of the tenant's runs that run now, or that were sent and wait for a worker. Raise Unavailable.

    `passes` chooses some of them.
    """
    now = engine.clock.now()
    deadline = Deadline.after(now, patience.REQUEST_MS)
    shards = max(engine.deployment.shards, engine.shards.read().used)
    return filtered_page(
        partial(_chunk, _Search(engine, tenant, now, shards, deadline)),
        lambda runs: [run for run in runs if run.status is status and passes(run)],
        limit,
        cursor,
        lambda: deadline.allows(engine.clock.now()),
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
        """Yield the slots from this place on, in the order of time."""
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
        return entry.tenant == self.tenant and entry.kind is not Kind.GATE and entry.fire_at <= self.now


def _chunk(search: _Search, place: str | None) -> Chunk:
    """Read slots until there are enough runs that may run, and then these runs."""
    keys: dict[str, Key] = {}
    for _ in range(MOST_WAVES):
        slots = search.slots(place)
        first = next(slots, None)
        if first is None:
            return _read_runs(search, keys, None)
        # The rest of a large slot is read alone: the slots behind it would be read again and again.
        wave = [first, *islice(slots, 0 if first.cursor else AT_ONCE - 1)]
        place = _take(search, wave, keys) or _place_of(next(slots, None))
        if place is None or len(keys) >= CHUNK:
            break
    return _read_runs(search, keys, place)


def _take(search: _Search, wave: Sequence[_Slot], keys: dict[str, Key]) -> str | None:
    """Add the entries of these slots. Return the place at which to go on inside of them, None: behind them."""
    with ThreadPoolExecutor(READERS) as readers:
        pages = list(readers.map(search.read, wave))
    for number, (slot, page) in enumerate(zip(wave, pages, strict=True)):
        for entry in filter(search.may_run, page.items):
            keys.setdefault(entry.run_id, (slot.bucket, slot.shard, entry.fire_at, entry.run_id))
        if page.cursor is not None:
            return _Slot(slot.bucket, slot.shard, page.cursor).place
        if len(keys) >= CHUNK and number + 1 < len(wave):
            return wave[number + 1].place
    return None


def _place_of(slot: _Slot | None) -> str | None:
    return None if slot is None else slot.place


def _read_runs(search: _Search, keys: dict[str, Key], following: str | None) -> Chunk:
    read = search.engine.store.get_many(list(keys), search.deadline)
    if read.unread:  # a page without these runs would claim that they do not run
        raise Unavailable(f"running runs: {len(read.unread)} could not be read")
    found = [(keys[run_id], run) for run_id, run in read.found.items() if run.tenant == search.tenant]
    return Chunk(found, following, [one for one in read.unreadable.values() if one.tenant == search.tenant])

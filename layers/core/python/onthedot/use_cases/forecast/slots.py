"""Count the runs of a tenant that wait in slots. Slots are read side by side, and counted one by one in their order.

So the same slots give the same count, whichever thread is the fastest.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from onthedot.domain.ids import job_id_of
from onthedot.domain.runs.records import Kind
from onthedot.domain.runs.slots import WATCH_DISTANCE, SlotKind, slot_bucket, slot_name
from onthedot.ports import SlotEntry
from onthedot.use_cases.dispatch.slot_entries import read_slot_entries
from onthedot.use_cases.forecast.survey import Survey

READERS: Final = 16
"""Threads that read slots. There are many slots, most are empty, and reading a slot is mostly waiting for a reply."""
AHEAD: Final = 4
"""Slots for each reader that may be read before they are counted, so that a large slot stops no reader."""
MOST_ENTRIES: Final = 20_000
"""Entries read of one slot, which has one shard's runs of one minute, of all tenants."""
_AT_ONCE: Final = 1_000


def count_waiting(survey: Survey, buckets: Sequence[int]) -> list[str]:
    """Count runs in fire slots. Return the recurring jobs, each of which makes several runs."""
    recurring = []
    for entry in _entries(survey, SlotKind.FIRE, buckets):
        if entry.kind is Kind.RECURRING:
            recurring.append(entry.run_id)
        else:
            survey.tally.add(entry.fire_at, job_id_of(entry.run_id))
    return recurring


def count_sent(survey: Survey, buckets: Sequence[int]) -> None:
    """Count runs in watch slots that are sent, and whose time is to come."""
    for entry in _entries(survey, SlotKind.WATCH, [bucket + WATCH_DISTANCE for bucket in buckets]):
        # Running runs are in these slots too, but no run starts before its time. And so are gates.
        if entry.fire_at > survey.now and entry.kind is not Kind.GATE:
            survey.tally.add(entry.fire_at, job_id_of(entry.run_id))


@dataclass(slots=True)
class _ReadSlot:
    """A slot as far as it was read."""

    entries: list[SlotEntry] = field(default_factory=list)
    """Those of the tenant."""
    seen: int = 0
    """Entries of all tenants."""
    is_complete: bool = False


def _entries(survey: Survey, kind: SlotKind, buckets: Sequence[int]) -> Iterator[SlotEntry]:
    """Yield the tenant's entries in the slots of these buckets, of all shards that any version has used."""
    slots = [slot_name(kind, shard, bucket) for bucket in buckets for shard in range(survey.shards)]
    for slot, read in _in_order(survey, slots):
        # A slot that was read while those before it used up the room is left out, as if it had not been read.
        counted = read if survey.has_room else _ReadSlot()
        if not counted.is_complete:
            survey.note_slot(slot_bucket(slot) - (WATCH_DISTANCE if kind is SlotKind.WATCH else 0))
        survey.entries += counted.seen
        yield from counted.entries


def _in_order(survey: Survey, slots: Sequence[str]) -> Iterator[tuple[str, _ReadSlot]]:
    """Yield the slots in their order as they were read. A bounded number of them is read ahead."""
    names = iter(slots)
    reading: deque[tuple[str, Future[_ReadSlot]]] = deque()
    with ThreadPoolExecutor(READERS) as readers:
        reading.extend((slot, readers.submit(_read, survey, slot)) for slot in islice(names, READERS * AHEAD))
        while reading:
            slot, future = reading.popleft()
            yield slot, future.result()
            reading.extend((following, readers.submit(_read, survey, following)) for following in islice(names, 1))


def _read(survey: Survey, slot: str) -> _ReadSlot:
    """Read a slot. This runs in a thread beside others, so it changes nothing of the survey."""
    read = _ReadSlot()
    if not survey.has_time or not survey.has_room:
        return read
    for entries in read_slot_entries(survey.engine, slot, _AT_ONCE):
        read.entries += [entry for entry in entries if entry.tenant == survey.tenant]
        read.seen += len(entries)
        if read.seen >= MOST_ENTRIES or not survey.has_time:
            return read
    read.is_complete = True
    return read

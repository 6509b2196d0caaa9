"""Make pages of the runs that pass a filter, from a source that is read chunk by chunk.

A page reads a bounded number of chunks. So it may have few runs, or none, and still have a next page. A page may end
inside a chunk: its cursor has the place of the chunk and the key of the last run, and the next page begins behind it.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from onthedot.core import patience
from onthedot.core.errors import Unreadable
from onthedot.core.ports import Clock, Deadline, Page
from onthedot.core.records import Record
from onthedot.jobs.shown import shown_run_status

CHUNK: Final = 100
"""Runs that are read at once when a filter may refuse some."""
MOST_CHUNKS: Final = 10
"""The most chunks that one page reads, unless its source says otherwise."""

Key = tuple[int | str, ...]
"""The place of a run in the order of its list."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Runs of a source, each with its key, and the place of the next chunk. None: this is the last one."""

    items: Sequence[tuple[Key, Record]]
    next_place: str | None
    unreadable: Sequence[Unreadable] = ()


def filtered_page(
    clock: Clock,
    read: Callable[[str | None], Chunk],
    passing: Callable[[Sequence[Record]], Sequence[Record]],
    limit: int,
    cursor: str | None,
    *,
    most_chunks: int = MOST_CHUNKS,
) -> Page[Record]:
    """`read` gets the place of a chunk, None for the first one. `passing` keeps the order of the runs that pass."""
    deadline = Deadline.after(clock.now(), patience.REQUEST_MS)
    place, last = _opened(cursor)
    found: list[Record] = []
    faulty: list[Unreadable] = []
    for _ in range(most_chunks):
        chunk = read(place)
        items = sorted(item for item in _keyed(chunk) if last is None or item[0] > last)
        faulty += chunk.unreadable if last is None else ()
        keys = {run.run_id: key for key, _, run in items}
        chosen = passing([run for _, _, run in items])
        room = limit - len(found)
        found += chosen[:room]
        if len(chosen) > room:
            return Page(found, _cursor(place, keys[found[-1].run_id]), faulty)
        place, last = chunk.next_place, None
        if place is None:
            return Page(found, None, faulty)
        if len(found) == limit or not deadline.allows(clock.now()):
            break
    return Page(found, _cursor(place, None), faulty)


def _keyed(chunk: Chunk) -> list[tuple[Key, str, Record]]:
    # The id between them keeps the sort from comparing records.
    return [(key, run.run_id, run) for key, run in chunk.items]


def _opened(cursor: str | None) -> tuple[str | None, Key | None]:
    if cursor is None:
        return None, None
    content: list[Any] = json.loads(cursor)
    return content[0], None if content[1] is None else tuple(content[1])


def _cursor(place: str | None, last: Key | None) -> str:
    return json.dumps([place, last], separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class RunFilter:
    """A filter of runs. A field that is None lets all of them pass."""

    job_id: str | None = None
    status: str | None = None
    """The status as users see it."""

    def passes(self, run: Record) -> bool:
        return self.job_id in (None, run.job_id) and self.status in (None, shown_run_status(run))

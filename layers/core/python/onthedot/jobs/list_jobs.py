"""List the jobs of a tenant, the latest first: partitions of the listing index, merged by time and filtered.

A page looks at a bounded number of entries and reads a bounded number of records. So it may have few jobs, or none,
and still have a next page.
"""

import heapq
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from onthedot.core import patience
from onthedot.core.errors import Unavailable, Unreadable
from onthedot.core.listing import listing_partitions
from onthedot.core.ports import Deadline, ListEntry, Page
from onthedot.core.records import Kind, Record, Status
from onthedot.engine import Engine
from onthedot.jobs.facts import FactFilter, facts_of
from onthedot.jobs.list_runs import next_fire_of
from onthedot.jobs.shown import shown_status

MOST_LOOKED_AT: Final = 5_000
"""The most entries of the index that one page looks at."""
MOST_READ: Final = 500
"""The most records that one page reads."""
READ_AT_ONCE: Final = 100
FILTERED_AT_ONCE: Final = 1_000
"""Entries of a partition that are read at once when few of them will pass."""

Position = tuple[int, str] | None
"""The last entry of a partition that was looked at. None: the partition is at its start."""


@dataclass(frozen=True, slots=True)
class JobQuery:
    """The filters of a list of jobs."""

    facts: FactFilter = field(default_factory=FactFilter)
    status: str | None = None
    """The status as users see it."""

    def passes(self, listed: "ListedJob") -> bool:
        return self.facts.passes(facts_of(listed.job)) and self.status in (None, listed.status)


@dataclass(frozen=True, slots=True)
class ListedJob:
    """A job as it is now, with its next fire time."""

    job: Record
    next_at: int | None
    positions: tuple[Position, ...] = ()
    """The positions of the partitions after this job."""

    @property
    def cursor(self) -> str:
        """The cursor of the page that begins after this job."""
        return _cursor(self.positions)

    @property
    def status(self) -> str:
        return shown_status(self.job, self.next_at)


@dataclass(frozen=True, slots=True)
class _Looked:
    """An entry, and the number of its partition."""

    entry: ListEntry
    partition: int


def list_jobs(engine: Engine, tenant: str, query: JobQuery, limit: int, cursor: str | None = None) -> Page[ListedJob]:
    """Return a page of the tenant's jobs, as they are now. The index may lag by some seconds. Raise Unavailable."""
    return _Pager(engine, tenant, query, limit, cursor).page()


class _Pager:
    """One page in the making."""

    def __init__(self, engine: Engine, tenant: str, query: JobQuery, limit: int, cursor: str | None) -> None:
        self._engine = engine
        self._tenant = tenant
        self._query = query
        self._limit = limit
        self._partitions = listing_partitions(tenant, query.facts.kind)
        self._positions = _positions(cursor, len(self._partitions))
        self._deadline = Deadline.after(engine.clock.now(), patience.REQUEST_MS)
        self._found: list[ListedJob] = []
        self._unreadable: list[Unreadable] = []
        self._is_chunk_used = True

    def page(self) -> Page[ListedJob]:
        entries = self._merged()
        looked_at, read = 0, 0
        while len(self._found) < self._limit and looked_at < MOST_LOOKED_AT and read < MOST_READ:
            chunk = self._chunk(entries, MOST_LOOKED_AT - looked_at)
            if not chunk:
                return Page(self._found, None, self._unreadable)
            looked_at += len(chunk)
            read += self._take(chunk)
            if not self._deadline.allows(self._engine.clock.now()):
                break
        if self._is_chunk_used and next(entries, None) is None:
            return Page(self._found, None, self._unreadable)
        return Page(self._found, _cursor(self._positions), self._unreadable)

    def _chunk(self, entries: Iterator[_Looked], most: int) -> list[_Looked]:
        wanted = READ_AT_ONCE if self._query.status else min(self._limit - len(self._found), READ_AT_ONCE)
        chunk: list[_Looked] = []
        for looked in islice(entries, most):
            chunk.append(looked)
            wanted -= self._may_pass(looked)
            if not wanted:
                break
        return chunk

    def _may_pass(self, looked: _Looked) -> bool:
        return looked.entry.facts is None or self._query.facts.passes(looked.entry.facts)

    def _take(self, chunk: Sequence[_Looked]) -> int:
        """Read the jobs that may pass, and take each one that passes. Return how many were read."""
        ids = [looked.entry.run_id for looked in chunk if self._may_pass(looked)]
        records = self._engine.store.get_many(ids, self._deadline)
        if records.unread:  # a page without these jobs would claim that they do not exist
            raise Unavailable(f"list: {len(records.unread)} jobs could not be read")
        for looked in chunk:
            if len(self._found) == self._limit:
                self._is_chunk_used = False
                break
            run_id = looked.entry.run_id
            self._positions[looked.partition] = (looked.entry.created_at, run_id)
            faulty = records.unreadable.get(run_id)
            if faulty is not None and faulty.tenant == self._tenant:
                self._unreadable.append(faulty)
            if (job := records.found.get(run_id)) is not None:
                self._add(job)
        return len(ids)

    def _add(self, job: Record) -> None:
        # The index may show a job that was deleted meanwhile.
        if job.tenant != self._tenant or job.status is Status.DELETED or job.kind is Kind.STAMPED:
            return
        listed = ListedJob(job, next_fire_of(self._engine, job), tuple(self._positions))
        if self._query.passes(listed):
            self._found.append(listed)

    def _merged(self) -> Iterator[_Looked]:
        """Yield the entries of all partitions, the latest first. A partition is read on when its entries are used."""
        size = READ_AT_ONCE if self._query.facts.is_empty else FILTERED_AT_ONCE
        if self._query.facts.is_empty and self._query.status is None:
            size = min(self._limit, READ_AT_ONCE)
        parts = (self._entries(number, name, size) for number, name in enumerate(self._partitions))
        return heapq.merge(*parts, key=lambda looked: -looked.entry.created_at)

    def _entries(self, number: int, partition: str, size: int) -> Iterator[_Looked]:
        after = self._positions[number]
        has_more = True
        while has_more:
            entries, has_more = self._engine.store.listed(partition, size, after)
            for entry in entries:
                after = (entry.created_at, entry.run_id)
                yield _Looked(entry, number)


def _cursor(positions: Sequence[Position]) -> str:
    return json.dumps(positions, separators=(",", ":"))


def _positions(cursor: str | None, partitions: int) -> list[Position]:
    """Return the position of each partition. DynamoDB does not define the order of jobs of one millisecond."""
    if cursor is None:
        return [None] * partitions
    return [None if position is None else (int(position[0]), str(position[1])) for position in json.loads(cursor)]

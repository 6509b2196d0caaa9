"""A tenant's runs of the coming minutes, counted from the slots and from the schedules of recurring jobs."""

from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import islice
from typing import Final

from onthedot.core import patience
from onthedot.core.errors import Unavailable
from onthedot.core.ids import job_id_of
from onthedot.core.listing import listing_partitions
from onthedot.core.ports import Deadline, SlotEntry
from onthedot.core.records import Kind, Record, Status
from onthedot.core.send import read_slot_pages
from onthedot.core.slots import BUCKET_MS, WATCH_DISTANCE, SlotKind, bucket_of, slot_bucket, slot_name
from onthedot.engine import Engine
from onthedot.schedules.choices import MisfirePolicy
from onthedot.schedules.counting import count_fires, fires_per_minute, minute_pattern
from onthedot.schedules.schedule import Schedule, fires_between, jittered
from onthedot.statistics.health import TickStatus, read_ticks

SHOWN: Final = 3
NEAREST: Final = 5
_MOST_KEPT: Final = 1_000


@dataclass(slots=True)
class Tally:
    """The runs of each minute before `until`. Runs that are overdue count to the minute of `now`."""

    now: int
    until: int
    counts: Counter[int] = field(default_factory=Counter)
    _waiting: defaultdict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    _expected: dict[int, list[tuple[int, str]]] = field(default_factory=dict)
    """The jobs with the most expected runs of each minute, the largest first."""

    _nearest: list[tuple[int, str]] = field(default_factory=list)

    def add(self, at: int, job_id: str) -> None:
        if at < self.until:
            minute = bucket_of(max(at, self.now)) * BUCKET_MS
            self.counts[minute] += 1
            self._waiting[minute][job_id] += 1
            self.add_nearest([at], job_id)

    def add_expected(self, job_ids: Sequence[str], minutes: Mapping[int, int]) -> None:
        """Count the coming runs of jobs that fire alike: of each job so many in each minute."""
        named = job_ids[:SHOWN]
        for minute, runs in minutes.items():
            self.counts[minute] += runs * len(job_ids)
            top = self._expected.setdefault(minute, [])
            if len(top) < SHOWN or runs > top[-1][0]:
                top.extend((runs, job_id) for job_id in named)
                top.sort(key=lambda one: -one[0])
                del top[SHOWN:]

    def add_nearest(self, times: Sequence[int], job_id: str) -> None:
        """Remember times of a job, in case they are among the first ones."""
        self._nearest += [(max(at, self.now), job_id) for at in times if at < self.until]
        if len(self._nearest) > _MOST_KEPT:
            self._nearest = self.nearest()

    def nearest(self) -> list[tuple[int, str]]:
        return nsmallest(NEAREST, self._nearest)

    def heaviest(self, minute: int) -> list[tuple[str, int]]:
        """Return the jobs with the most runs in a minute, and how many, the largest first."""
        waiting = self._waiting.get(minute, Counter())
        totals = Counter(dict(waiting.most_common(SHOWN)))
        for runs, job_id in self._expected.get(minute, ()):
            totals[job_id] = runs + waiting.get(job_id, 0)
        return totals.most_common(SHOWN)


MOST_IN_ALL: Final = 200_000


@dataclass(slots=True)
class Survey:
    """A forecast while its slots and schedules are read. Only the thread that counts changes it."""

    engine: Engine
    tenant: str
    now: int
    until: int
    deadline: Deadline
    shards: int
    tally: Tally
    names: dict[str, str | None] = field(default_factory=dict)
    entries: int = 0
    """Entries of the slots that were counted so far, of all tenants."""
    truncated: bool = False
    complete_until: int | None = None

    @property
    def has_time(self) -> bool:
        return self.deadline.allows(self.engine.clock.now())

    @property
    def has_room(self) -> bool:
        return self.entries < MOST_IN_ALL

    def note(self, *, complete: bool) -> None:
        """Note whether something was read to its end."""
        self.truncated = self.truncated or not complete

    def note_slot(self, bucket: int) -> None:
        """Note that the slot of this bucket was not read to its end."""
        self.note(complete=False)
        start = bucket * BUCKET_MS
        self.complete_until = start if self.complete_until is None else min(self.complete_until, start)

    def name_jobs(self, jobs: dict[str, Record]) -> None:
        self.names |= {job_id: None if job.definition is None else job.definition.name for job_id, job in jobs.items()}


MOST_RECURRING: Final = 5_000
MOST_FIRES: Final = 1_000_000
"""Minutes with fire times of a job, or fire times with jitter. Jobs that fire alike count once."""


def count_recurring(survey: Survey, job_ids: Sequence[str]) -> None:
    survey.note(complete=len(job_ids) <= MOST_RECURRING)
    chosen = job_ids[:MOST_RECURRING]
    jobs = dict(survey.engine.store.get_many(chosen, survey.deadline).found) if chosen else {}
    survey.note(complete=len(jobs) == len(chosen))
    survey.name_jobs(jobs)
    budget = MOST_FIRES
    for alike in _groups(jobs.values()):
        if budget <= 0 or not survey.has_time:
            survey.note(complete=False)
            return
        budget -= _count(survey, alike, budget)


@dataclass(frozen=True, slots=True)
class _Expected:
    job_id: str
    schedule: Schedule
    position: int
    """The first fire time that is not stamped."""
    left: int | None
    """Runs that it may still have. None: no limit."""
    policy: MisfirePolicy

    @property
    def jitter(self) -> int:
        return self.schedule.jitter_seconds

    @property
    def pattern(self) -> Hashable:
        """A value that is equal for jobs that fire equally often in each minute."""
        if self.jitter:
            return self.job_id
        return minute_pattern(self.schedule, self.position), self.left, self.policy


def _groups(jobs: Iterable[Record]) -> Iterator[list[_Expected]]:
    """Yield the active jobs in groups that fire alike. Jitter moves the runs of each job differently."""
    groups: defaultdict[Hashable, list[_Expected]] = defaultdict(list)
    for job in jobs:
        if job.recurrence is None or job.status is not Status.ACTIVE:
            continue
        recurrence = job.recurrence
        left = None if recurrence.max_runs is None else max(0, recurrence.max_runs - (job.stamped or 0))
        one = _Expected(job.job_id, recurrence.schedule, job.due_at, left, recurrence.misfire.policy)
        groups[one.pattern].append(one)
    yield from groups.values()


def _count(survey: Survey, alike: Sequence[_Expected], budget: int) -> int:
    """Count the coming runs of a group. Return what that takes of the budget."""
    first = alike[0]
    times: Sequence[int] = ()
    present = bucket_of(survey.now) * BUCKET_MS
    overdue = _overdue(first, present)
    left = None if first.left is None else max(0, first.left - overdue)
    if first.jitter:
        times = _jittered_times(survey, first, present, left, budget)
        minutes, used = dict(Counter(bucket_of(at) * BUCKET_MS for at in times)), len(times)
    else:
        minutes = fires_per_minute(first.schedule, _after(first, present), survey.until, left)
        used = len(minutes)
    if overdue:
        minutes[present] = minutes.get(present, 0) + overdue
    survey.tally.add_expected([job.job_id for job in alike], minutes)
    # Jobs of one group differ within a minute only, so the earliest runs are those of the earliest positions.
    for job in nsmallest(NEAREST, alike, key=lambda one: one.position):
        most = NEAREST if left is None else min(NEAREST, left)
        fires = times if first.jitter else fires_between(job.schedule, _after(job, present), survey.until, most)
        coming = nsmallest(NEAREST, fires)
        survey.tally.add_nearest([*[survey.now] * min(overdue, NEAREST), *coming], job.job_id)
    return used


def _after(job: _Expected, present: int) -> int:
    return max(job.position, present) - 1


def _overdue(job: _Expected, present: int) -> int:
    """Return how many runs the fire times before the current minute give. A policy runs all of them or the latest."""
    if job.position >= present:
        return 0
    missed = count_fires(job.schedule, job.position - 1, present)
    return min(
        missed if job.policy is MisfirePolicy.RUN_ALL else 1, missed, MOST_FIRES if job.left is None else job.left
    )


def _jittered_times(survey: Survey, job: _Expected, present: int, left: int | None, budget: int) -> Sequence[int]:
    """Return the times of the coming runs of a job with jitter. The order of its fire times is not that of its runs."""
    most = budget if left is None else min(budget, left)
    fires = fires_between(job.schedule, _after(job, present), survey.until, most)
    survey.note(complete=len(fires) < most or most == left)
    times = (max(jittered(job.job_id, nominal, job.jitter), survey.now) for nominal in fires)
    return [at for at in times if at < survey.until]


READERS: Final = 16
"""Threads that read slots. There are many slots, most are empty, and reading a slot is mostly waiting for a reply."""
AHEAD: Final = 4
"""Slots for each reader that may be read before they are counted, so that a large slot stops no reader."""
MOST_ENTRIES: Final = 20_000
"""Entries read of one slot, which has one shard's runs of one minute, of all tenants."""
_SLOTS_AT_ONCE: Final = 1_000


def count_waiting(survey: Survey, buckets: Sequence[int]) -> list[str]:
    """Count runs in fire slots. Return the recurring jobs, each of which makes several runs."""
    recurring = []
    for entry in _entries(survey, SlotKind.FIRE, buckets):
        if entry.kind is Kind.RECURRING:
            recurring.append(entry.run_id)
        else:
            survey.tally.add(entry.due_at, job_id_of(entry.run_id))
    return recurring


def count_sent(survey: Survey, buckets: Sequence[int]) -> None:
    """Count runs in watch slots that are sent, and whose time is to come."""
    for entry in _entries(survey, SlotKind.WATCH, [bucket + WATCH_DISTANCE for bucket in buckets]):
        # Running runs are in these slots too, but no run starts before its time. And so are gates.
        if entry.due_at > survey.now and entry.kind is not Kind.GATE:
            survey.tally.add(entry.due_at, job_id_of(entry.run_id))


@dataclass(slots=True)
class _ReadSlot:
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
    """Read a slot. This runs in a thread alongside others, so it changes nothing of the survey."""
    read = _ReadSlot()
    if not survey.has_time or not survey.has_room:
        return read
    for page in read_slot_pages(survey.engine, slot, _SLOTS_AT_ONCE):
        read.entries += [entry for entry in page.items if entry.tenant == survey.tenant]
        read.seen += len(page.items)
        if read.seen >= MOST_ENTRIES or not survey.has_time:
            return read
    read.is_complete = True
    return read


SENT_AHEAD: Final = 16
"""Buckets. A queue takes no message that is due later than 15 minutes from now."""
BY_SLOTS: Final = 60
"""Minutes of a window whose recurring jobs are found in its slots alone."""
MOST_LATE: Final = 60
"""The most minutes before the current one whose slots are read while ticks are late."""
MOST_NAMED: Final = 1_000
_AT_ONCE: Final = 1_000


@dataclass(frozen=True, slots=True)
class HeavyJob:
    """A job with many runs in a minute. The name is None for a job without one, and for one that was not read."""

    job_id: str
    name: str | None
    runs: int


@dataclass(frozen=True, slots=True)
class Forecast:
    """The number of runs in each of the coming minutes."""

    minutes: Mapping[int, int]
    """Runs by the start of their minute, the current one first."""
    truncated: bool
    heaviest: Mapping[int, Sequence[HeavyJob]] = field(default_factory=dict)
    complete_until: int | None = None
    """The minute from which on waiting runs were not all counted. None: they were."""
    nearest: Sequence[tuple[int, str]] = ()
    """The times and job ids of the runs that come first."""
    names: Mapping[str, str | None] = field(default_factory=dict)


def forecast(engine: Engine, tenant: str, minutes: int) -> Forecast:
    now = engine.clock.now()
    first = bucket_of(now)
    until, deadline = (first + minutes) * BUCKET_MS, Deadline.after(now, patience.REQUEST_MS)
    shards = max(engine.deployment.shards, engine.shards.read().used)
    survey = Survey(engine, tenant, now, until, deadline, shards, Tally(now, until))
    listed = _listed(survey) if minutes > BY_SLOTS else []
    count_sent(survey, range(first, first + min(minutes, SENT_AHEAD)))
    near = count_waiting(survey, range(first - _late_buckets(engine), first + min(minutes, BY_SLOTS)))
    count_recurring(survey, list(dict.fromkeys([*near, *listed])))
    count_waiting(survey, range(first + BY_SLOTS, first + minutes))
    starts = [bucket * BUCKET_MS for bucket in range(first, first + minutes)]
    counts = {start: survey.tally.counts[start] for start in starts}
    nearest = survey.tally.nearest()
    heaviest = _named(survey, starts, [job_id for _, job_id in nearest])
    return Forecast(counts, survey.truncated, heaviest, survey.complete_until, nearest, survey.names)


def _late_buckets(engine: Engine) -> int:
    """Return how many buckets before the current one may have runs that wait for a tick, because ticks are late."""
    try:
        report = read_ticks(engine)
    except Unavailable:
        return 0
    late_ms = max(report.age_ms or 0, report.waited_ms or 0) if report.status is TickStatus.LATE else 0
    return min(-(-late_ms // BUCKET_MS), MOST_LATE)


def _listed(survey: Survey) -> list[str]:
    """Return the recurring jobs that the listing index shows."""
    found: list[str] = []
    for partition in listing_partitions(survey.tenant, Kind.RECURRING):
        after: tuple[int, str] | None = None
        has_more = True
        while has_more and len(found) <= MOST_RECURRING:
            entries, has_more = survey.engine.store.listed(partition, _AT_ONCE, after)
            found += [one.run_id for one in entries if one.facts is None or one.facts.kind is Kind.RECURRING]
            if not entries:
                break
            after = (entries[-1].created_at, entries[-1].run_id)
    return found


def _named(survey: Survey, starts: Sequence[int], first: Sequence[str]) -> dict[int, list[HeavyJob]]:
    """Return the heaviest jobs of each minute with their names. Names of `first` are read first, then by minute."""
    heaviest = {start: found for start in starts if (found := survey.tally.heaviest(start))}
    ids = dict.fromkeys([*first, *(job_id for found in heaviest.values() for job_id, _ in found)])
    chosen = [job_id for job_id in ids if job_id not in survey.names][:MOST_NAMED]
    if chosen and survey.has_time:
        survey.name_jobs(dict(survey.engine.store.get_many(chosen, survey.deadline).found))
    return {
        start: [HeavyJob(job_id, survey.names.get(job_id), runs) for job_id, runs in found]
        for start, found in heaviest.items()
    }

"""Count a tenant's runs of the coming minutes from the entries of the slots.

Counted are runs that wait in a fire slot, retries among them, runs that are sent and whose time is to come, and fire
times of recurring jobs that are not stamped yet. Not counted are running and paused runs, runs that wait at a gate
without an instant, runs on demand, and jobs that will be submitted. Overdue runs in the present fire slots count to the
present minute.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from onthedot.domain.runs.records import Kind, Record, Status
from onthedot.domain.runs.slots import BUCKET_MS, WATCH_DISTANCE, SlotKind, bucket_of, slot_name
from onthedot.domain.schedules.schedule import fires_between, jittered
from onthedot.ports import Deadline, Engine, SlotEntry
from onthedot.use_cases import patience
from onthedot.use_cases.dispatch.slot_entries import read_slot_entries

READERS: Final = 8
"""Threads that read slots. There are many slots, most are empty, and reading a slot is mostly waiting for a reply."""
SENT_AHEAD: Final = 16
"""Buckets. A queue takes no message that is due later than 15 minutes from now."""
MOST_ENTRIES: Final = 20_000
"""Entries read of one slot, which has one shard's runs of one minute, of all tenants."""
MOST_RECURRING: Final = 5_000
MOST_FIRES: Final = 100_000
_AT_ONCE: Final = 1_000


@dataclass(frozen=True, slots=True)
class Forecast:
    """The number of runs in each of the coming minutes."""

    minutes: Mapping[int, int]
    """Runs by the start of their minute, the present one first."""
    truncated: bool
    """Whether there are more runs than were counted."""


@dataclass(slots=True)
class _Survey:
    """A forecast while its slots are read."""

    engine: Engine
    tenant: str
    now: int
    until: int
    deadline: Deadline
    shards: int
    counts: Counter[int] = field(default_factory=Counter)
    truncated: bool = False

    def count(self, at: int) -> None:
        if at < self.until:
            self.counts[bucket_of(at) * BUCKET_MS] += 1

    def has_time(self) -> bool:
        return self.deadline.allows(self.engine.clock.now())

    def note(self, *, complete: bool) -> None:
        self.truncated = self.truncated or not complete


def forecast(engine: Engine, tenant: str, minutes: int) -> Forecast:
    """Count the tenant's runs of the coming minutes."""
    now = engine.clock.now()
    first = bucket_of(now)
    until, deadline = (first + minutes) * BUCKET_MS, Deadline.after(now, patience.REQUEST_MS)
    shards = max(engine.deployment.shards, engine.shards.read().used)
    survey = _Survey(engine, tenant, now, until, deadline, shards)
    recurring = _count_waiting(survey, range(first, first + minutes))
    _count_sent(survey, range(first, first + min(minutes, SENT_AHEAD)))
    _count_recurring(survey, recurring)
    starts = [bucket * BUCKET_MS for bucket in range(first, first + minutes)]
    return Forecast({start: survey.counts[start] for start in starts}, survey.truncated)


def _count_waiting(survey: _Survey, buckets: Sequence[int]) -> list[str]:
    """Count runs in fire slots. Return the recurring jobs, each of which makes several runs."""
    recurring = []
    for entry in _entries(survey, SlotKind.FIRE, buckets):
        if entry.kind is Kind.RECURRING:
            recurring.append(entry.run_id)
        else:
            survey.count(max(entry.fire_at, survey.now))
    return recurring


def _count_sent(survey: _Survey, buckets: Sequence[int]) -> None:
    for entry in _entries(survey, SlotKind.WATCH, [bucket + WATCH_DISTANCE for bucket in buckets]):
        # Running runs are in these slots too, but no run starts before its time. And so are gates.
        if entry.fire_at > survey.now and entry.kind is not Kind.GATE:
            survey.count(entry.fire_at)


def _count_recurring(survey: _Survey, job_ids: Sequence[str]) -> None:
    survey.note(complete=len(job_ids) <= MOST_RECURRING)
    chosen = job_ids[:MOST_RECURRING]
    jobs = survey.engine.store.get_many(chosen, survey.deadline).found if chosen else {}
    survey.note(complete=len(jobs) == len(chosen))
    budget = MOST_FIRES
    for job in jobs.values():
        if not survey.has_time():
            survey.note(complete=False)
            return
        budget -= _count_fires(survey, job, budget)


def _count_fires(survey: _Survey, job: Record, budget: int) -> int:
    recurrence = job.recurrence
    if recurrence is None or job.status is not Status.ACTIVE:
        return 0
    left = budget if recurrence.max_runs is None else max(0, min(budget, recurrence.max_runs - (job.stamped or 0)))
    fires = fires_between(recurrence.schedule, job.fire_at - 1, survey.until, left)
    survey.note(complete=len(fires) < budget)
    for nominal in fires:
        survey.count(max(jittered(job.job_id, nominal, recurrence.schedule.jitter_seconds), survey.now))
    return len(fires)


def _entries(survey: _Survey, kind: SlotKind, buckets: Sequence[int]) -> Iterator[SlotEntry]:
    """Yield the tenant's entries in the slots of these buckets, of all shards that any version has used."""
    slots = [slot_name(kind, shard, bucket) for bucket in buckets for shard in range(survey.shards)]
    with ThreadPoolExecutor(READERS) as readers:
        for entries, complete in readers.map(lambda slot: _read(survey, slot), slots):
            survey.note(complete=complete)
            yield from entries


def _read(survey: _Survey, slot: str) -> tuple[list[SlotEntry], bool]:
    """Return the tenant's entries in a slot, and whether these are all."""
    found: list[SlotEntry] = []
    seen = 0
    if not survey.has_time():
        return found, False
    for entries in read_slot_entries(survey.engine, slot, _AT_ONCE):
        found += [entry for entry in entries if entry.tenant == survey.tenant]
        seen += len(entries)
        if seen >= MOST_ENTRIES or not survey.has_time():
            return found, False
    return found, True

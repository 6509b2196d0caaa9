"""Count a tenant's runs of the coming minutes from the entries of the slots and the schedules of recurring jobs.

Counted are runs that wait in a fire slot, retries among them, runs that are sent and whose time is to come, and fire
times of recurring jobs that are not stamped yet. Not counted are running and paused runs, runs that wait at a gate
without an instant, runs on demand, and jobs that will be submitted. Overdue runs in the present fire slots count to the
present minute. While ticks are late, so do those in the fire slots since the last tick.

A long window has many slots: one for each minute and shard. They are read the earliest first, until the time or the
number of entries is used up. Recurring jobs of a long window are read from the listing index, so they count in all its
minutes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from onthedot.domain.errors import Unavailable
from onthedot.domain.reports.health import TickStatus
from onthedot.domain.runs.listing import listing_partitions
from onthedot.domain.runs.records import Kind
from onthedot.domain.runs.slots import BUCKET_MS, bucket_of
from onthedot.ports import Deadline, Engine
from onthedot.use_cases import patience
from onthedot.use_cases.forecast.expected import MOST_RECURRING, count_recurring
from onthedot.use_cases.forecast.slots import count_sent, count_waiting
from onthedot.use_cases.forecast.survey import Survey
from onthedot.use_cases.forecast.tally import Tally
from onthedot.use_cases.shards.read_ticks import read_ticks

SENT_AHEAD: Final = 16
"""Buckets. A queue takes no message that is due later than 15 minutes from now."""
BY_SLOTS: Final = 60
"""Minutes of a window whose recurring jobs are found in its slots alone."""
MOST_LATE: Final = 60
"""Most minutes before the present one whose slots are read while ticks are late."""
MOST_NAMED: Final = 1_000
"""Jobs that are read for their names only."""
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
    """Runs by the start of their minute, the present one first."""
    truncated: bool
    """Whether there are more runs than were counted."""
    heaviest: Mapping[int, Sequence[HeavyJob]] = field(default_factory=dict)
    """The jobs with the most runs of each minute that has runs."""
    complete_until: int | None = None
    """The minute from which on waiting runs were not all counted. None: they were."""
    nearest: Sequence[tuple[int, str]] = ()
    """The times and job ids of the runs that come first."""


def forecast(engine: Engine, tenant: str, minutes: int) -> Forecast:
    """Count the tenant's runs of the coming minutes."""
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
    return Forecast(counts, survey.truncated, _named(survey, starts), survey.complete_until, survey.tally.nearest())


def _late_buckets(engine: Engine) -> int:
    """Return how many buckets before the present one may have runs that wait for a tick, because ticks are late."""
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


def _named(survey: Survey, starts: Sequence[int]) -> dict[int, list[HeavyJob]]:
    """Return the heaviest jobs of each minute with their names. Names of the earliest minutes are read first."""
    heaviest = {start: found for start in starts if (found := survey.tally.heaviest(start))}
    ids = dict.fromkeys(job_id for found in heaviest.values() for job_id, _ in found if job_id not in survey.names)
    chosen = list(ids)[:MOST_NAMED]
    if chosen and survey.has_time:
        survey.name_jobs(dict(survey.engine.store.get_many(chosen, survey.deadline).found))
    return {
        start: [HeavyJob(job_id, survey.names.get(job_id), runs) for job_id, runs in found]
        for start, found in heaviest.items()
    }

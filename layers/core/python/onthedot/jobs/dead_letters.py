"""Count dead letters by their cause or by their job, and the successes of the same jobs since."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from onthedot.core import patience
from onthedot.core.ports import Deadline, Page
from onthedot.core.records import Kind, Record, Status
from onthedot.engine import Engine
from onthedot.jobs.causes import FailureFilter, cause_of
from onthedot.jobs.run_pages import CHUNK, Chunk, filtered_page
from onthedot.jobs.shown_runs import jobs_of, name_of
from onthedot.statistics.counters import MINUTE_MS


def dead_letters(
    engine: Engine, tenant: str, wanted: FailureFilter, limit: int, cursor: str | None = None
) -> Page[Record]:
    """Return a page of a tenant's failed runs that pass the filter, the latest first. Raise Unavailable."""
    size = CHUNK if wanted.looks_at_runs else limit
    return filtered_page(
        engine.clock,
        partial(_chunk, engine, tenant, wanted, size),
        partial(matching, engine, wanted),
        limit,
        cursor,
    )


def matching(engine: Engine, wanted: FailureFilter, runs: Sequence[Record]) -> list[Record]:
    """Raise Unavailable when a job cannot be read for its name: its runs would silently be missing."""
    jobs = jobs_of(engine, runs, must_have_all=True) if wanted.name is not None else {}
    return [run for run in runs if wanted.passes(run, name_of(jobs.get(run.job_id)))]


def _chunk(engine: Engine, tenant: str, wanted: FailureFilter, size: int, place: str | None) -> Chunk:
    page = engine.store.failed(tenant, size, place, wanted.window)
    items = [((-(run.finished_at or 0), run.run_id), run) for run in page.items]
    return Chunk(items, page.cursor, page.unreadable)


PAGE: Final = 100
MOST_COUNTED: Final = 2_000
"""The most dead letters that one call looks at."""
STEPS: Final = 24
"""Parts of the time for each of which failures are counted."""
MOST_JOBS: Final = 40
"""The most jobs of whose runs one call counts successes."""
MOST_RUNS: Final = 100
"""The latest runs of each of these jobs that are looked at. Those whose time is to come are not among them."""


@dataclass(slots=True)
class Cause:
    """The dead letters with one cause."""

    text: str
    latest: Record
    """The dead letter that failed last."""
    oldest_at: int
    count: int = 0
    job_ids: dict[str, None] = field(default_factory=dict)
    """The jobs of these runs, the latest first."""
    recurring: dict[str, None] = field(default_factory=dict)
    """Those of them that can have had further runs."""
    name: str | None = None
    """The name of the job of the latest."""
    successes_since: int = 0
    times: list[int] = field(default_factory=list)
    """When the runs failed, the latest first."""

    def over_time(self, since: int, until: int) -> list[int]:
        """Count the failures in each of `STEPS` equal parts of this time."""
        counts = [0] * STEPS
        for time in self.times:
            counts[max(0, min(STEPS - 1, (time - since) * STEPS // max(1, until - since)))] += 1
        return counts

    def add(self, run: Record) -> None:
        # The latest runs are counted first.
        self.count += 1
        self.oldest_at = min(self.oldest_at, run.finished_at or 0)
        self.times.append(run.finished_at or 0)
        self.job_ids[run.job_id] = None
        if run.kind is Kind.STAMPED:
            self.recurring[run.job_id] = None


@dataclass(slots=True)
class Causes:
    """The causes of dead letters, the most frequent first."""

    causes: Sequence[Cause] = ()
    truncated: bool = False
    """Whether there are more dead letters, causes or successes than were counted."""
    since: int = 0
    until: int = 0
    """The time that was looked at: the window of the filter, up to the end of this minute.

    So the answer stays the same for a while.
    """


def count_causes(engine: Engine, tenant: str, wanted: FailureFilter, limit: int, *, by_job: bool = False) -> Causes:
    """With `by_job` the runs of a job count as one, with the cause of the latest. Raise Unavailable."""
    now = engine.clock.now()
    deadline = Deadline.after(now, patience.REQUEST_MS)
    result = Causes()
    found = _grouped(_dead_letters(engine, tenant, wanted, result, deadline), by_job=by_job)
    result.until = min(wanted.window.until, -(-now // MINUTE_MS) * MINUTE_MS)
    result.since = wanted.window.since or min((cause.oldest_at for cause in found), default=result.until)
    _add_most_frequent(engine, result, found, limit)
    _add_successes(engine, result, deadline, MOST_JOBS)
    return result


def causes_among(engine: Engine, runs: Iterable[Record], limit: int, most_jobs: int) -> Sequence[Cause]:
    # The latest of these dead letters is the first of them.
    result = Causes()
    _add_most_frequent(engine, result, _grouped(runs), limit)
    _add_successes(engine, result, Deadline.after(engine.clock.now(), patience.READ_MS), most_jobs)
    return result.causes


def _grouped(runs: Iterable[Record], *, by_job: bool = False) -> Sequence[Cause]:
    found: dict[str, Cause] = {}
    for run in runs:
        text = cause_of(run)
        found.setdefault(run.job_id if by_job else text, Cause(text, run, run.finished_at or 0)).add(run)
    return list(found.values())


def _add_most_frequent(engine: Engine, result: Causes, found: Sequence[Cause], limit: int) -> None:
    causes = sorted(found, key=lambda cause: (-cause.count, -(cause.latest.finished_at or 0)))
    result.causes = causes[:limit]
    result.truncated = result.truncated or len(causes) > limit
    jobs = jobs_of(engine, [cause.latest for cause in result.causes])
    for cause in result.causes:
        cause.name = name_of(jobs.get(cause.latest.job_id))


def _dead_letters(
    engine: Engine, tenant: str, wanted: FailureFilter, result: Causes, deadline: Deadline
) -> Iterator[Record]:
    cursor: str | None = None
    for _ in range(MOST_COUNTED // PAGE):
        page = engine.store.failed(tenant, PAGE, cursor, wanted.window)
        yield from matching(engine, wanted, page.items)
        cursor = page.cursor
        if cursor is None:
            return
        if not deadline.allows(engine.clock.now()):
            break
    result.truncated = True


def _add_successes(engine: Engine, result: Causes, deadline: Deadline, most_jobs: int) -> None:
    """Count successes of the jobs of each cause since its latest dead letter, for the most frequent causes first."""
    now = engine.clock.now()
    known: dict[str, Sequence[Record]] = {}
    for cause in result.causes:
        for job_id in cause.recurring:
            if job_id not in known and (len(known) >= most_jobs or not deadline.allows(engine.clock.now())):
                result.truncated = True
                return
            if job_id not in known:
                known[job_id] = engine.store.runs_of(job_id, MOST_RUNS, until=now).items
            cause.successes_since += _count_since(known[job_id], cause, result)


def _count_since(runs: Sequence[Record], cause: Cause, result: Causes) -> int:
    since = cause.latest.finished_at or 0
    successes = [run for run in runs if run.status is Status.SUCCEEDED and (run.finished_at or 0) > since]
    if len(runs) == MOST_RUNS and runs[-1].fire_time > since:
        result.truncated = True
    return len(successes)

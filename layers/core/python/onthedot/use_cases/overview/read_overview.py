"""Read the overview of a tenant. `docs/statistics.md` says how many reads it makes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from onthedot.domain.gates.limits import TenantLimits
from onthedot.domain.reports.health import TickReport, TickStatus
from onthedot.domain.reports.hold_ups import HoldUp, in_closed_stage
from onthedot.domain.reports.summary import LargestCause, Summary, summarize
from onthedot.domain.runs.records import Record
from onthedot.domain.statistics.counters import Counters, added
from onthedot.domain.statistics.ends import MINUTE_MS
from onthedot.domain.statistics.steps import StepRange, in_steps
from onthedot.domain.transfer.stage_state import StageState
from onthedot.domain.workers.records import WorkerRecord
from onthedot.ports import Deadline, Engine
from onthedot.use_cases import patience
from onthedot.use_cases.forecast.forecast import Forecast, forecast
from onthedot.use_cases.overview.gate_hold_ups import gate_hold_ups
from onthedot.use_cases.overview.latest_failures import LatestFailures, latest_failures
from onthedot.use_cases.overview.parts import Part, ReadParts, read_parts
from onthedot.use_cases.overview.sent_hold_ups import SentHoldUps, may_hold_up, sent_hold_ups
from onthedot.use_cases.shards.read_ticks import read_ticks
from onthedot.use_cases.workers.read_queues import QueueReport, read_queues

MINUTES: Final = 60
SOON_MS: Final = 2_000
SLOW_MS: Final = 10_000
"""For parts that cost many reads of a table. A file is read at once."""
LONGEST_MS: Final = 60_000
"""The coming runs cost reads for each shard and minute, so they are good for longer on a stage with more shards."""


@dataclass(frozen=True, slots=True)
class Coming:
    """The runs of the coming hour, and the names of the jobs that come first."""

    forecast: Forecast
    names: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Overview:
    """The overview of a tenant. A part that could not be read is None, and its name is in `unknown`."""

    now: int
    ticks: TickReport | None
    summary: Summary
    hour: Sequence[tuple[int, Counters]] | None
    """The beginning and the counters of each of the latest 60 minutes, the oldest first."""
    queues: Sequence[QueueReport] | None
    workers: Sequence[WorkerRecord] | None
    """The pull workers that may run jobs of the tenant."""
    coming: Coming | None
    failures: LatestFailures | None
    hold_ups: Sequence[HoldUp] | None
    limits: TenantLimits | None
    """None: the tenant has none, or they are unknown."""
    unknown: Sequence[str]


@dataclass(frozen=True, slots=True)
class _Limits:
    """The limits of a tenant, or none."""

    limits: TenantLimits | None


def read_overview(engine: Engine, tenant: str) -> Overview:
    """Return the overview of a tenant. It raises no error for a part that cannot be read."""
    now = engine.clock.now()
    read = read_parts(engine, tenant, _parts(engine, tenant, now))
    queues, workers = read.get("queues"), read.get("workers")
    gates: Sequence[HoldUp] | None = read.get("hold_ups")
    sent = _sent(engine, tenant, queues or (), workers)
    closed = in_closed_stage(read.get("stage_state") or StageState())
    hold_ups = None if gates is None and not closed else [*closed, *sent.at_workers, *(gates or ()), *sent.in_queues]
    limits: _Limits | None = read.get("limits")
    return Overview(
        now,
        read.get("ticks"),
        _summary(read, hold_ups or ()),
        read.get("hour"),
        queues,
        None if workers is None else [one for one in workers if one.tenant in (None, tenant)],
        read.get("due"),
        read.get("failures"),
        hold_ups,
        None if limits is None else limits.limits,
        read.unknown,
    )


def _parts(engine: Engine, tenant: str, now: int) -> list[Part]:
    slow_ms = SLOW_MS if engine.index_lags else SOON_MS
    due_ms = min(slow_ms * engine.deployment.shards, LONGEST_MS)
    return [
        Part("ticks", lambda: read_ticks(engine, note_start=True), 0, of_stage=True),
        Part("stage_state", engine.stage.read, 0, of_stage=True),
        Part("hour", lambda: _hour(engine, tenant, now), SOON_MS),
        Part("queues", lambda: read_queues(engine), slow_ms, of_stage=True),
        Part("workers", lambda: list(engine.registry.workers()), SOON_MS, of_stage=True),
        Part("due", lambda: _coming(engine, tenant), due_ms),
        Part("failures", lambda: latest_failures(engine, tenant, now - MINUTES * MINUTE_MS), slow_ms),
        Part("hold_ups", lambda: gate_hold_ups(engine, tenant), slow_ms),
        Part("limits", lambda: _Limits(engine.limits.find(tenant)), SOON_MS),
    ]


def _hour(engine: Engine, tenant: str, now: int) -> Sequence[tuple[int, Counters]]:
    last = now // MINUTE_MS
    asked = StepRange((last - MINUTES + 1) * MINUTE_MS, (last + 1) * MINUTE_MS, MINUTE_MS)
    return in_steps(engine.statistics.read(tenant, *asked.minutes), asked)


def _coming(engine: Engine, tenant: str) -> Coming:
    found = forecast(engine, tenant, MINUTES)
    jobs = list(dict.fromkeys(job_id for _, job_id in found.nearest))
    read = engine.store.get_many(jobs, Deadline.after(engine.clock.now(), patience.READ_MS)).found if jobs else {}
    return Coming(found, {job_id: _name(read.get(job_id)) for job_id in jobs})


def _name(job: Record | None) -> str | None:
    return None if job is None or job.definition is None else job.definition.name


def _sent(
    engine: Engine, tenant: str, queues: Sequence[QueueReport], workers: Sequence[WorkerRecord] | None
) -> SentHoldUps:
    """Return why sent runs of the tenant do not start. They are looked for only when messages of any tenant wait."""
    if not may_hold_up(engine, queues, workers):
        return SentHoldUps()
    good_ms = LONGEST_MS if engine.index_lags else SOON_MS
    part = Part("sent_hold_ups", lambda: sent_hold_ups(engine, tenant, queues, workers), good_ms)
    found: SentHoldUps | None = read_parts(engine, tenant, [part]).get(part.name)
    return found or SentHoldUps()


def _summary(read: ReadParts, hold_ups: Sequence[HoldUp]) -> Summary:
    ticks: TickReport | None = read.get("ticks")
    hour: Sequence[tuple[int, Counters]] | None = read.get("hour")
    late = ticks.sentence if ticks is not None and ticks.status is TickStatus.LATE else None
    return summarize(
        late,
        None if hour is None else added(counters for _, counters in hour),
        _largest_cause(read.get("failures")),
        [hold_up.message for hold_up in hold_ups],
    )


def _largest_cause(failures: LatestFailures | None) -> LargestCause | None:
    if failures is None or not failures.causes:
        return None
    first = failures.causes[0]
    return LargestCause(first.text, first.count, failures.of_latest)

"""Read the overview of a tenant: its parts side by side, so that one that fails or is slow does not hide the others."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final

from onthedot.core.errors import OnthedotError
from onthedot.core.records import Definition, Record
from onthedot.engine import Engine, KnownPart
from onthedot.gates.limits import TenantLimits
from onthedot.jobs.dead_letters import Cause, causes_among
from onthedot.jobs.shown_runs import jobs_of
from onthedot.statistics.counters import MINUTE_MS, Counters, StepRange, added, in_steps
from onthedot.statistics.forecast import Forecast, forecast
from onthedot.statistics.health import TickReport, TickStatus, read_ticks
from onthedot.statistics.hold_ups import HoldUp, SentHoldUps, gate_hold_ups, in_closed_stage, may_hold_up, sent_hold_ups
from onthedot.statistics.summary import Summary, summarize
from onthedot.transfer.stage_state import StageState
from onthedot.workers.queues import QueueReport, read_queues
from onthedot.workers.records import WorkerRecord

_LOG: Final = logging.getLogger(__name__)
LONGEST_SECONDS: Final = 8.0
"""How long a call waits for its parts. The rest of them is unknown then."""
MOST_KNOWN: Final = 2_000


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an overview: how it is read, and for how long its value is good."""

    name: str
    read: Callable[[], Any]
    good_ms: int
    of_stage: bool = False
    """Whether it is the same for all tenants."""


def read_parts(engine: Engine, tenant: str, parts: Sequence[Part]) -> Mapping[str, Any]:
    """Return the values of parts by name, read now or a moment ago. One that cannot be read is missing."""
    now = engine.clock.now()
    keys = {part.name: ("" if part.of_stage else tenant, part.name) for part in parts}
    known = {name: engine.known_parts[key] for name, key in keys.items() if key in engine.known_parts}
    values = {name: one.value for name, one in known.items() if now < one.until}
    for part, value in _read_all([part for part in parts if part.name not in values]):
        values[part.name] = value
        if len(engine.known_parts) >= MOST_KNOWN:
            engine.known_parts.clear()
        engine.known_parts[keys[part.name]] = KnownPart(now + part.good_ms, value)
    return values


def _read_all(parts: Sequence[Part]) -> Iterator[tuple[Part, Any]]:
    """Yield the parts that could be read in time, with their values. Whatever is wrong with one, others are shown."""
    if not parts:
        return
    readers = ThreadPoolExecutor(len(parts), thread_name_prefix="overview")
    futures = [readers.submit(part.read) for part in parts]
    wait(futures, LONGEST_SECONDS)
    ended = [(part, future) for part, future in zip(parts, futures, strict=True) if future.done()]
    # A part that takes too long has a deadline of its own. Its thread ends then.
    readers.shutdown(wait=False, cancel_futures=True)
    for part, future in ended:
        try:
            yield part, future.result()
        except OnthedotError as error:
            _LOG.warning("part_unknown", extra={"part": part.name, "why": str(error)})
        except Exception:  # noqa: BLE001 (as the docstring says)
            _LOG.exception("part_unknown", extra={"part": part.name})


LOOKED_AT: Final = 100
SHOWN: Final = 10
MOST_CAUSES: Final = 5
MOST_JOBS: Final = 10


@dataclass(frozen=True, slots=True)
class LatestFailures:
    """The latest dead letters, and the causes of those of the last hour, the most frequent first."""

    failures: Sequence[tuple[Record, Definition | None]]
    """Each with the definition of its job. None: the job is gone, or cannot be read now."""
    causes: Sequence[Cause]
    of_latest: int | None = None
    """How many dead letters of the hour were counted, if there may be more. None: all."""


def latest_failures(engine: Engine, tenant: str, since: int) -> LatestFailures:
    """Return the latest dead letters, and the causes of those since this time. Raise Unavailable."""
    page = engine.store.failed(tenant, LOOKED_AT)
    found = page.items
    recent = list(takewhile(lambda run: (run.finished_at or 0) >= since, found))
    shown = found[:SHOWN]
    jobs = jobs_of(engine, shown)
    definitions = {job_id: job.definition for job_id, job in jobs.items()}
    return LatestFailures(
        [(run, run.definition or definitions.get(run.job_id)) for run in shown],
        causes_among(engine, recent, MOST_CAUSES, MOST_JOBS),
        len(recent) if page.cursor is not None and len(recent) == len(found) else None,
    )


MINUTES: Final = 60
SOON_MS: Final = 2_000
SLOW_MS: Final = 10_000
"""For parts that cost many reads of a table. A file is read at once."""
LONGEST_MS: Final = 60_000
"""The coming runs cost reads for each shard and minute, so they are good for longer on a stage with more shards."""


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
    coming: Forecast | None
    failures: LatestFailures | None
    hold_ups: Sequence[HoldUp] | None
    limits: TenantLimits | None
    """None: the tenant has none, or they are unknown."""
    unknown: Sequence[str]


def read_overview(engine: Engine, tenant: str) -> Overview:
    """Return the overview of a tenant. It raises no error for a part that cannot be read."""
    now = engine.clock.now()
    parts = _parts(engine, tenant, now)
    read = read_parts(engine, tenant, parts)
    queues, workers = read.get("queues"), read.get("workers")
    gates: Sequence[HoldUp] | None = read.get("hold_ups")
    sent = _sent(engine, tenant, queues or (), workers)
    closed = in_closed_stage(read.get("stage_state") or StageState())
    hold_ups = None if gates is None and not closed else [*closed, *sent.at_workers, *(gates or ()), *sent.in_queues]
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
        read.get("limits"),
        [part.name for part in parts if part.name not in read],
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
        Part("due", lambda: forecast(engine, tenant, MINUTES), due_ms),
        Part("failures", lambda: latest_failures(engine, tenant, now - MINUTES * MINUTE_MS), slow_ms),
        Part("hold_ups", lambda: gate_hold_ups(engine, tenant), slow_ms),
        Part("limits", lambda: engine.limits.find(tenant), SOON_MS),
    ]


def _hour(engine: Engine, tenant: str, now: int) -> Sequence[tuple[int, Counters]]:
    last = now // MINUTE_MS
    asked = StepRange((last - MINUTES + 1) * MINUTE_MS, (last + 1) * MINUTE_MS, MINUTE_MS)
    return in_steps(engine.statistics.read(tenant, *asked.minutes), asked)


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


def _summary(read: Mapping[str, Any], hold_ups: Sequence[HoldUp]) -> Summary:
    ticks: TickReport | None = read.get("ticks")
    hour: Sequence[tuple[int, Counters]] | None = read.get("hour")
    late = ticks.sentence if ticks is not None and ticks.status is TickStatus.LATE else None
    return summarize(
        late,
        None if hour is None else added(counters for _, counters in hour),
        _largest_cause(read.get("failures")),
        [hold_up.message for hold_up in hold_ups],
    )


def _largest_cause(failures: LatestFailures | None) -> str | None:
    if failures is None or not failures.causes:
        return None
    first, of_latest = failures.causes[0], failures.of_latest
    among = "" if of_latest is None else f" of the latest {of_latest:,}"
    return f"The largest cause: {first.text} ({first.count:,}{among})."

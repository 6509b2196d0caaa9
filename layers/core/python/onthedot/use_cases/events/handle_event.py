"""Handle an event: stamp a run for each job whose pattern it matches.

The event may be delivered many times, and its handler may die anywhere. A run's id comes from the event's id, so no run
is doubled. A handler that handles the event again sends the runs that were not sent. A run that was stamped and never
sent stays in its watch slot, where the sweep finds it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final

from onthedot.domain.errors import Unavailable
from onthedot.domain.events.index import lookup_keys
from onthedot.domain.events.patterns import matches
from onthedot.domain.ids import event_run_id
from onthedot.domain.runs.endings import closed
from onthedot.domain.runs.fairness import Limits
from onthedot.domain.runs.records import Kind, Record, Status
from onthedot.domain.runs.stamping import new_run
from onthedot.ports import Deadline, Engine, Moved, PatternEntry
from onthedot.use_cases.dispatch.send_runs import send_runs
from onthedot.use_cases.events import pattern_index
from onthedot.use_cases.events.event_payloads import Payloads, PayloadTooLarge
from onthedot.use_cases.jobs.place_job import left_to_claim_pass
from onthedot.use_cases.outcomes import record_after_create

JOBS_AT_ONCE: Final = 100
TRIGGER: Final = "event"


@dataclass(frozen=True, slots=True)
class Event:
    """An event that may start runs of event jobs."""

    event_id: str
    time: int
    document: dict[str, Any]
    """The whole event as EventBridge writes it: `source`, `detail-type`, `detail` and so on."""


@dataclass(slots=True)
class Handled:
    """The result of handling an event."""

    runs: list[str] = field(default_factory=list)
    """Ids of the runs that the event caused, now or when it was handled before."""
    made: int = 0
    """The number of runs that were made now."""


def first_seen(engine: Engine, tenant: str, event: Event) -> Event:
    """Return the event with the time that it had when it first arrived.

    A sender may send it again with another time.
    """
    expires_at = closed(engine.clock.now(), engine.deployment)["expires_at"]
    return replace(event, time=engine.patterns.first_time(tenant, event.event_id, event.time, expires_at))


def handle_event(engine: Engine, tenant: str, event: Event, deadline: Deadline) -> Handled:
    """Stamp and send a run for each matching job.

    Raise Unavailable when not every matching job has its run by the deadline. When the event is delivered again, its
    handler makes the missing runs.
    """
    handled = Handled()
    limits = engine.limits.read()
    payloads = Payloads(engine.blobs, event.document)
    entries = _matching(engine, tenant, event)
    while found := dict(islice(entries, JOBS_AT_ONCE)):
        if not deadline.allows(engine.clock.now()):
            raise Unavailable(f"event {event.event_id}: out of time after {len(handled.runs)} runs")
        jobs = _jobs(engine, tenant, event, found, deadline)
        runs = [_run(engine, job, event, payloads, limits) for job in jobs]
        _stamp(engine, event, runs, handled, deadline)
    return handled


def _matching(engine: Engine, tenant: str, event: Event) -> Iterator[tuple[str, PatternEntry]]:
    """Yield each job once, with one of its entries that match."""
    seen: set[str] = set()
    for entry in engine.patterns.matching(tenant, lookup_keys(event.document)):
        if entry.job_id not in seen and matches(pattern_index.read(entry.pattern), event.document):
            seen.add(entry.job_id)
            yield entry.job_id, entry


def _jobs(
    engine: Engine, tenant: str, event: Event, found: Mapping[str, PatternEntry], deadline: Deadline
) -> list[Record]:
    """Return the jobs that wait for the event as they are now: the index may be out of date."""
    read = engine.store.get_many(list(found), deadline)
    # A job that is missing here may exist: perhaps it was not read in time.
    jobs = {i: read.found.get(i) or (engine.store.get(i) if i in read.unread else None) for i in found}
    for job_id, entry in found.items():
        if job_id not in read.unreadable:
            pattern_index.clear_left_over(engine, tenant, entry, jobs[job_id])
    return [job for job in jobs.values() if job is not None and _waits_for(job, tenant, event)]


def _waits_for(job: Record, tenant: str, event: Event) -> bool:
    if (job.kind, job.status, job.tenant) != (Kind.EVENT, Status.ACTIVE, tenant) or job.pattern is None:
        return False
    return matches(pattern_index.read(job.pattern), event.document)


def _run(engine: Engine, job: Record, event: Event, payloads: Payloads, limits: Limits) -> Record:
    """Return the job's run for the event. It is due now, and its nominal time is that of the event."""
    now = engine.clock.now()
    run_id = event_run_id(job.job_id, event.time, event.event_id)
    run = new_run(job, run_id, event.time, now, now=now, deployment=engine.deployment, trigger=TRIGGER)
    try:
        run = payloads.added_to(run, job)
    except PayloadTooLarge as error:
        return replace(
            run, status=Status.SKIPPED, reason=str(error), claim_token=None, **closed(now, engine.deployment)
        )
    throttled = run.status is Status.DISPATCHED and limits.why_throttled(run.tenant, run.pool, run.priority)
    return left_to_claim_pass(engine, run, now) if throttled else run


def _stamp(engine: Engine, event: Event, runs: Sequence[Record], handled: Handled, deadline: Deadline) -> None:
    outcomes = engine.store.create_many(runs, deadline) if runs else []
    stored = [record_after_create(run, outcome) for run, outcome in zip(runs, outcomes, strict=True)]
    to_send = [run for run in stored if run is not None and run.status is Status.DISPATCHED and run.attempt == 0]
    if to_send:
        send_runs(engine, to_send, deadline)
    handled.runs += [run.run_id for run in stored if run is not None]
    handled.made += sum(isinstance(outcome, Moved) for outcome in outcomes)
    undecided = sum(run is None for run in stored)
    if undecided:
        raise Unavailable(f"event {event.event_id}: {undecided} runs may be stamped or not")

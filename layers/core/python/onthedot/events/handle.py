"""Handle an event: stamp a run for each job whose pattern it matches.

The event may be delivered many times, and its handler may die anywhere. A run's id comes from the event's id, so no run
is doubled. A handler that handles the event again sends the runs that were not sent. A run that was stamped and never
sent stays in its watch slot, where the sweep finds it.
"""

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final

from onthedot.core.errors import PayloadGone, Unavailable
from onthedot.core.ids import event_run_id
from onthedot.core.lifecycle import closed, cut
from onthedot.core.outcomes import record_after_create
from onthedot.core.ports import Deadline, Moved, Refused, Undecided
from onthedot.core.records import TERMINAL, Kind, Record, Status
from onthedot.core.send import send_runs
from onthedot.core.slots import Placement
from onthedot.core.stamping import new_run
from onthedot.engine import Engine
from onthedot.events.patterns import index_keys, lookup_keys, matches
from onthedot.events.payloads import Payloads, PayloadTooLarge
from onthedot.events.ports import PatternEntry
from onthedot.gates.waiting import LISTING_MS, place_near

LEFT_OVER_MS: Final = 3_600_000
"""The age at which an entry without a job is left over: no request takes so long to store its job."""


def enter(engine: Engine, job: Record) -> None:
    """Put the entries of an event job, before it is stored or changed. Raise Unavailable: then do neither."""
    if job.pattern is not None and job.pattern_entry is not None:
        entry = PatternEntry(job.job_id, job.pattern_entry, job.pattern, engine.clock.now())
        engine.patterns.put(job.tenant, keys_of(job.pattern), entry)


def enter_changed(engine: Engine, before: Record, after: Record) -> None:
    """Put the entries of a new pattern, before a change that gives it to the job. Raise Unavailable."""
    if after.pattern_entry != before.pattern_entry:
        enter(engine, after)


def leave(engine: Engine, job: Record, stored: Record | None) -> None:
    """Remove the entries of a job that was refused, changed or stopped, unless the stored job needs them.

    `stored` is the record that has the job's id now. If this fails, the entries are left over.
    """
    if job.pattern is None or job.pattern_entry is None:
        return
    if stored is None or stored.status in TERMINAL or stored.pattern_entry != job.pattern_entry:
        with suppress(Unavailable):
            engine.patterns.remove(job.tenant, keys_of(job.pattern), job.job_id, job.pattern_entry)


def _clear_left_over(engine: Engine, tenant: str, entry: PatternEntry, job: Record | None) -> None:
    """Remove an entry that no job needs, unless it is so new that its job may not be stored yet."""
    needed = job is not None and job.status not in TERMINAL and job.pattern_entry == entry.name
    if not needed and entry.put_at + LEFT_OVER_MS < engine.clock.now():
        with suppress(Unavailable):
            engine.patterns.remove(tenant, keys_of(entry.pattern), entry.job_id, entry.name)


def keys_of(pattern: str) -> tuple[str, ...]:
    return index_keys(json.loads(pattern))


_LOG: Final = logging.getLogger(__name__)
JOBS_AT_ONCE: Final = 100
IN_LOG: Final = 10
TRIGGER: Final = "event"


@dataclass(frozen=True, slots=True)
class Event:
    event_id: str
    time: int
    document: dict[str, Any]
    """The whole event as EventBridge writes it: `source`, `detail-type`, `detail` and so on."""


@dataclass(slots=True)
class Handled:
    runs: list[str] = field(default_factory=list)
    """Ids of the runs that the event caused, now or when it was handled before."""
    made: int = 0
    """Number of runs that were made now."""
    unreadable: dict[str, str] = field(default_factory=dict)
    """Jobs that this version cannot read, with the reason. The event may match them, and they have no run."""
    unavailable: Unavailable | None = None
    """The first failure that keeps a job from having its run now."""

    @contextmanager
    def apart(self, job_id: str) -> Iterator[None]:
        """Note an error about one job, so that it does not stop other jobs."""
        try:
            yield
        except Unavailable as error:
            self.unavailable = self.unavailable or error
        except Exception as error:  # noqa: BLE001 - a damaged pattern or record can raise anything
            self.unreadable[job_id] = cut(f"{type(error).__name__}: {error}")


def first_seen(engine: Engine, tenant: str, event_id: str, time: int) -> int:
    """Return the time that the event had when it first arrived. A sender may send it again with another time."""
    expires_at = closed(engine.clock.now(), engine.deployment)["expires_at"]
    return engine.patterns.first_time(tenant, event_id, time, expires_at)


def handle_event(engine: Engine, tenant: str, event: Event, deadline: Deadline) -> Handled:
    """Stamp and send a run for each matching job. A job that cannot be read does not stop the others.

    Raise Unavailable when not every matching job has its run by the deadline. When the event is delivered again, its
    handler makes the missing runs.
    """
    handled = Handled()
    payloads = Payloads(engine.blobs, event.document)
    entries = _matching(engine, tenant, event, handled, deadline)
    while found := dict(islice(entries, JOBS_AT_ONCE)):
        _refuse_late(engine, event, handled, deadline)
        placed_by = deadline.at_most(engine.clock.now() + LISTING_MS)
        runs: list[Record] = []
        for job in _jobs(engine, tenant, found, handled, deadline):
            with handled.apart(job.job_id):
                if _waits_for(job, tenant, event):
                    runs.append(_run(engine, job, event, payloads))
        _stamp(engine, event, runs, handled, placed_by)
    if handled.unreadable:
        some = dict(islice(handled.unreadable.items(), IN_LOG))
        _LOG.error("event_jobs_unreadable", extra={"count": len(handled.unreadable), "jobs": some})
    if handled.unavailable is not None:
        raise handled.unavailable
    return handled


def _refuse_late(engine: Engine, event: Event, handled: Handled, deadline: Deadline) -> None:
    if not deadline.allows(engine.clock.now()):
        raise Unavailable(f"event {event.event_id}: out of time after {len(handled.runs)} runs")


def _matching(
    engine: Engine, tenant: str, event: Event, handled: Handled, deadline: Deadline
) -> Iterator[tuple[str, PatternEntry]]:
    """Yield each job once, with one of its entries that match. Raise Unavailable when there is no time to find all."""
    seen: set[str] = set()
    for entry in engine.patterns.matching(tenant, lookup_keys(event.document)):
        _refuse_late(engine, event, handled, deadline)
        is_match = False
        with handled.apart(entry.job_id):
            is_match = entry.job_id not in seen and matches(json.loads(entry.pattern), event.document)
        if is_match:
            seen.add(entry.job_id)
            yield entry.job_id, entry


def _jobs(
    engine: Engine, tenant: str, found: Mapping[str, PatternEntry], handled: Handled, deadline: Deadline
) -> Iterator[Record]:
    """Yield the jobs of the entries as they are now: the index may be out of date."""
    read = engine.store.get_many(list(found), deadline)
    handled.unreadable |= {job_id: unreadable.why for job_id, unreadable in read.unreadable.items()}
    for job_id, entry in found.items():
        job = None
        if job_id in read.unreadable:
            continue
        with handled.apart(job_id):
            job = read.found.get(job_id) or (engine.store.get(job_id) if job_id in read.unread else None)
            _clear_left_over(engine, tenant, entry, job)
        if job is not None:
            yield job


def _waits_for(job: Record, tenant: str, event: Event) -> bool:
    if (job.kind, job.status, job.tenant) != (Kind.EVENT, Status.ACTIVE, tenant) or job.pattern is None:
        return False
    return matches(json.loads(job.pattern), event.document)


def _run(engine: Engine, job: Record, event: Event, payloads: Payloads) -> Record:
    """Make the job's run for the event. It is due now, and its fire time is that of the event."""
    now = engine.clock.now()
    run_id = event_run_id(job.job_id, event.time, event.event_id)
    run = new_run(job, run_id, event.time, now, now=now, deployment=engine.deployment, trigger=TRIGGER)
    try:
        run = payloads.added_to(run, job)
    except (PayloadTooLarge, PayloadGone) as error:
        return replace(
            run, status=Status.SKIPPED, reason=str(error), claim_token=None, **closed(now, engine.deployment)
        )
    placed = place_near(
        engine, run_id, Placement(run.status, run.slot or ""), now, pool=run.pool, priority=run.priority
    )
    return replace(run, status=placed.status, slot=placed.slot)


def _stamp(engine: Engine, event: Event, runs: Sequence[Record], handled: Handled, deadline: Deadline) -> None:
    """Store and send the runs. A run whose storing is undecided or refused does not stop the others."""
    outcomes = engine.store.create_many(runs, deadline) if runs else []
    to_send: list[Record] = []
    for run, outcome in zip(runs, outcomes, strict=True):
        stored = record_after_create(run, outcome)
        if stored is not None or (isinstance(outcome, Refused) and outcome.unreadable is not None):
            handled.runs.append(run.run_id)  # also a run that exists and that a version which can read it handles
        elif isinstance(outcome, Undecided) and outcome.permanent:
            handled.unreadable[run.job_id] = cut(outcome.why)
        else:
            error = Unavailable(f"event {event.event_id}: the run of {run.job_id} may be stamped or not")
            handled.unavailable = handled.unavailable or error
        if stored is not None and stored.status is Status.DISPATCHED and stored.attempt == 0:
            to_send.append(stored)
    if to_send:
        send_runs(engine, to_send, deadline)
    handled.made += sum(isinstance(outcome, Moved) for outcome in outcomes)

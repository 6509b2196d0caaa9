"""Accept many jobs at once, each on its own: one conditional write for each, 25 to a call, then what is due soon.

What `submit_job` promises of one job holds for each of these.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final

from onthedot.domain.errors import IdempotencyConflict, OnthedotError, Unavailable
from onthedot.domain.ids import fresh_generation
from onthedot.domain.runs.fairness import Limits
from onthedot.domain.runs.records import Kind, Record, Status
from onthedot.domain.runs.slots import horizon
from onthedot.domain.workers.records import WorkerRecord
from onthedot.ports import Deadline, Engine, LimitsStore, Moved, Refused, Undecided, WorkerRegistry
from onthedot.use_cases.dispatch.send_runs import send_runs
from onthedot.use_cases.dispatch.stamp_runs import stamp_jobs
from onthedot.use_cases.events import pattern_index
from onthedot.use_cases.jobs.payloads import store_payload
from onthedot.use_cases.jobs.submit_job import JobRequest, pool_for, record_for
from onthedot.use_cases.workflows.notify_children import link_to_parents

CREATE_PATIENCE_MS: Final = 10_000
SEND_PATIENCE_MS: Final = 8_000
"""Together with the payloads less than the 28 s that the API has for an answer."""
STAMPED_AT_ONCE: Final = 25
UPLOADS: Final = 16

Accepted = Record | OnthedotError
"""The stored job, new or of an earlier request with the same key and body, or why there is none."""


class _LimitsReadOnce:
    """Every run that is placed asks for the limits; for all of a batch they are what they were at first."""

    def __init__(self, limits: LimitsStore) -> None:
        self._limits = limits
        self._known: Limits | None = None
        self.put, self.mark_throttled = limits.put, limits.mark_throttled

    def read(self) -> Limits:
        self._known = self._known or self._limits.read()
        return self._known


class _WorkersReadOnce:
    """Every job that needs what no pool promises asks for the live workers; also that nobody could tell is kept."""

    def __init__(self, registry: WorkerRegistry) -> None:
        self._registry = registry
        self._known: Sequence[WorkerRecord] | Unavailable | None = None
        self.register, self.find, self.beat = registry.register, registry.find, registry.beat
        self.assign, self.unassign = registry.assign, registry.unassign

    def workers(self) -> Sequence[WorkerRecord]:
        if self._known is None:
            try:
                self._known = self._registry.workers()
            except Unavailable as error:
                self._known = error
        if isinstance(self._known, Unavailable):
            raise self._known
        return self._known


def submit_batch(engine: Engine, tenant: str, requests: Sequence[JobRequest]) -> Sequence[Accepted]:
    """One answer for each request, in order: InvalidRequest, IdempotencyConflict and Unavailable are such answers."""
    engine = replace(engine, limits=_LimitsReadOnce(engine.limits), registry=_WorkersReadOnce(engine.registry))
    stored = _with_stored_payloads(engine, [_with_pool(engine, tenant, request) for request in requests])
    made = [request if isinstance(request, OnthedotError) else _record(engine, tenant, request) for request in stored]
    wanted = _with_entered_patterns(engine, made)
    # The same key twice is the same id: the first of them is written, all are compared with what stands then.
    records = {record.run_id: record for record in reversed(wanted) if isinstance(record, Record)}
    standing = _create(engine, list(records.values()))
    _schedule_soon(engine, [record for record in standing.values() if _is_ours(record, records)])
    _leave_refused(engine, wanted, standing)
    return [_accepted(record, standing) if isinstance(record, Record) else record for record in wanted]


def _with_pool(engine: Engine, tenant: str, request: JobRequest) -> JobRequest | OnthedotError:
    try:
        return replace(request, pool=pool_for(engine, tenant, request))
    except OnthedotError as error:
        return error


def _with_stored_payloads(
    engine: Engine, requests: Sequence[JobRequest | OnthedotError]
) -> list[JobRequest | OnthedotError]:
    """Large payloads go apart, side by side, before the clock is read for the slots."""

    def store(request: JobRequest | OnthedotError) -> JobRequest | OnthedotError:
        if isinstance(request, OnthedotError):
            return request
        try:
            return replace(request, definition=store_payload(engine.blobs, request.definition))
        except Unavailable as error:
            return error

    with ThreadPoolExecutor(UPLOADS) as uploads:
        return list(uploads.map(store, requests))


def _record(engine: Engine, tenant: str, request: JobRequest) -> Accepted:
    try:
        return record_for(engine, tenant, request)
    except OnthedotError as error:
        return error


def _with_entered_patterns(engine: Engine, wanted: Sequence[Accepted]) -> list[Accepted]:
    """Events find an event job before it stands there."""

    def enter(record: Accepted) -> Accepted:
        try:
            if isinstance(record, Record):
                pattern_index.enter(engine, record)
        except Unavailable as error:
            return error
        return record

    if not any(_waits_for_events(record) for record in wanted):
        return list(wanted)
    with ThreadPoolExecutor(UPLOADS) as writers:
        return list(writers.map(enter, wanted))


def _leave_refused(engine: Engine, wanted: Sequence[Accepted], standing: Mapping[str, Record | Unavailable]) -> None:
    """Under an id that was taken, other entries stand, or the same ones."""
    for record in wanted:
        if isinstance(record, Record) and _waits_for_events(record):
            found = standing[record.run_id]
            if isinstance(found, Record):
                pattern_index.leave(engine, record, found)


def _waits_for_events(record: Accepted) -> bool:
    return isinstance(record, Record) and record.kind is Kind.EVENT


def _create(engine: Engine, records: Sequence[Record]) -> Mapping[str, Record | Unavailable]:
    """What stands under each id after the write."""
    deadline = Deadline.after(engine.clock, CREATE_PATIENCE_MS)
    outcomes = engine.store.create_many(records, deadline) if records else []
    return {record.run_id: _standing(record, outcome) for record, outcome in zip(records, outcomes, strict=True)}


def _standing(record: Record, outcome: Moved | Refused | Undecided) -> Record | Unavailable:
    if isinstance(outcome, Moved):
        return record
    if isinstance(outcome, Refused) and outcome.current is not None:
        return outcome.current
    return Unavailable(f"{record.run_id} may be stored or not")


def _is_ours(standing: Record | Unavailable, records: Mapping[str, Record]) -> bool:
    """Written by us just now, even if the reply to the first try was lost."""
    return isinstance(standing, Record) and standing.generation == records[standing.run_id].generation


def _accepted(wanted: Record, standing: Mapping[str, Record | Unavailable]) -> Accepted:
    found = standing[wanted.run_id]
    if isinstance(found, Record) and found.fingerprint != wanted.fingerprint:
        return IdempotencyConflict(found.job_id)
    return found


def _schedule_soon(engine: Engine, created: Sequence[Record | Unavailable]) -> None:
    """Hand over what is due before the next tick. What time does not allow stands in its slot."""
    now = engine.clock.now()
    deadline = Deadline(now + SEND_PATIENCE_MS)
    jobs = [job for job in created if isinstance(job, Record)]
    near = [job for job in jobs if job.kind is not Kind.RECURRING and job.status is Status.DISPATCHED]
    if near:
        send_runs(engine, near, deadline)
    for child in (job for job in jobs if job.status is Status.WAITING):
        if deadline.allows(engine.clock.now()):
            link_to_parents(engine, child)
    until = horizon(now, engine.deployment.lookahead)
    active = (job for job in jobs if job.kind is Kind.RECURRING and job.status is Status.ACTIVE)
    recurring = [job.run_id for job in active if job.fire_at < until]
    token = f"api/{fresh_generation()}"
    for first in range(0, len(recurring), STAMPED_AT_ONCE):
        if deadline.allows(engine.clock.now()):
            stamp_jobs(engine, recurring[first : first + STAMPED_AT_ONCE], token, deadline)

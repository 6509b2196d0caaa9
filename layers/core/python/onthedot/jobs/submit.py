"""Submit jobs: one put-if-absent for each, then a message for a near run.

If the API dies after the put, the job runs anyway. A repeated request finds the job that it made.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeVar, cast

from onthedot.core import patience
from onthedot.core.choices import OnParentFailure, Priority
from onthedot.core.errors import IdempotencyConflict, InvalidRequest, OnthedotError, Unavailable
from onthedot.core.ids import fresh_generation, fresh_job_id, job_id_for_key
from onthedot.core.listing import listed_under
from onthedot.core.outcomes import Outcome, is_own, record_after_create
from onthedot.core.ports import Deadline
from onthedot.core.records import Definition, Kind, Record, Status
from onthedot.core.slots import fire_slot, shard_of
from onthedot.core.start_window import last_start
from onthedot.engine import Engine
from onthedot.events import handle
from onthedot.gates.manage import GateCheck
from onthedot.jobs.change_log import created_by
from onthedot.jobs.contents import Owner, store_payload
from onthedot.jobs.place_job import choose_pool, place_run
from onthedot.jobs.schedule_soon import schedule_all_soon, schedule_soon
from onthedot.jobs.spec import Stored, of_new
from onthedot.schedules.schedule import (
    Recurrence,
    check_start,
    fire_time_problems,
    next_fire,
    no_fire_problem,
    with_expression,
)
from onthedot.schedules.spread import plain_expression
from onthedot.targets.types import WorkflowTarget
from onthedot.workers.records import WorkerRecord
from onthedot.workers.registry import WorkerRegistry
from onthedot.workflows.check_parents import ParentCheck
from onthedot.workflows.dependencies import waiting


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A checked request. It has at most one of `recurrence`, `pattern`, `at` and `delay_ms`. None of them means now."""

    definition: Definition
    fingerprint: str
    priority: Priority
    pool: str | None = None
    """None: the smallest pool that fits."""
    recurrence: Recurrence | None = None
    cron_with_h: str | None = None
    """The cron expression as the client wrote it, if it has an `H`, which the job's id resolves."""
    pattern: str | None = None
    """The pattern of the events that the job waits for, as JSON."""
    at: int | None = None
    delay_ms: int | None = None
    idempotency_key: str | None = None
    parents: tuple[str, ...] = ()
    """Ids of jobs whose end this job waits for."""
    on_parent_failure: OnParentFailure = OnParentFailure.FAIL
    record: Mapping[str, Any] = field(default_factory=dict)
    """The fields of the request that the record has under the same names (`Stored.RECORD`)."""
    trace: str | None = None
    """The trace of the API call."""
    by: str | None = None
    """The name of the client's token."""
    job_id: str | None = None
    """The id, if it was chosen before the record is made."""

    @property
    def gates(self) -> Sequence[str]:
        named: Sequence[str] = self.record.get("gates", ())
        return named


def id_for(tenant: str, request: JobRequest) -> str:
    key = request.idempotency_key
    return fresh_job_id() if key is None else job_id_for_key(tenant, key)


def submit_job(engine: Engine, tenant: str, request: JobRequest) -> Record:
    """Raise IdempotencyConflict for a key with another body, InvalidRequest for a job that cannot run, Unavailable."""
    run = record_for(engine, tenant, request)
    handle.enter(engine, run)
    existing = engine.store.create(run)
    if existing is not None and not is_own(existing, run):
        handle.leave(engine, run, existing)
        if existing.fingerprint != run.fingerprint:
            raise IdempotencyConflict(existing.job_id)
        return existing
    return schedule_soon(engine, run)


def record_for(
    engine: Engine,
    tenant: str,
    request: JobRequest,
    parents: ParentCheck | None = None,
    gates: GateCheck | None = None,
) -> Record:
    """`parents` and `gates` are the checks of a whole batch. Raise InvalidRequest or Unavailable."""
    # The pool is chosen first, so that a job that cannot run stores no payload.
    pool = request.pool or choose_pool(engine, tenant, request.definition)
    (gates or GateCheck(engine, tenant)).check(request.gates)
    # The payload is stored before the clock is read, because a slot must be written soon after the clock was read for
    # it.
    job_id = request.job_id or id_for(tenant, request)
    definition = store_payload(engine.blobs, tenant, request.definition, Owner(job_id, engine.clock.now()))
    now = engine.clock.now()
    position = _position(engine, job_id, request, pool=pool, now=now)
    record = Record(
        run_id=job_id,
        job_id=job_id,
        tenant=tenant,
        definition=definition,
        priority=request.priority,
        pool=pool,
        created_at=now,
        version=1,
        **position,
        generation=fresh_generation(),
        fingerprint=request.fingerprint,
        listed_under=listed_under(tenant, job_id, position.get("kind", Kind.ONE_OFF)),
        workflow=job_id if isinstance(definition.target, WorkflowTarget) else None,
        **of_new(request.record, Stored.RECORD),
        trace=request.trace,
        # A one-off job is written for each step of its run, and most are never looked at: the log has their client.
        changes=None if position.get("kind", Kind.ONE_OFF) is Kind.ONE_OFF else created_by(request.by),
    )
    if not request.parents:
        return record
    (parents or ParentCheck(engine, tenant)).check(job_id, request.parents)
    return waiting(record, request.parents, request.on_parent_failure, now, engine.deployment)


def _position(engine: Engine, job_id: str, request: JobRequest, *, pool: str, now: int) -> dict[str, Any]:
    """Return the first slot and status: a recurring job is in the fire slot of its first time, an event job in none."""
    if request.pattern is not None:
        return {
            "fire_time": now,
            "due_at": now,
            "status": Status.ACTIVE,
            "kind": Kind.EVENT,
            "pattern": request.pattern,
            "pattern_entry": fresh_generation(),
        }
    if request.recurrence is None:
        due_at = request.at if request.at is not None else now + (request.delay_ms or 0)
        placed = place_run(engine, job_id, due_at, now, pool=pool, priority=request.priority)
        return {
            "fire_time": due_at,
            "due_at": due_at,
            "status": placed.status,
            "slot": placed.slot,
            "start_by": last_start(due_at, request.record.get("start_within_seconds")),
        }
    recurrence = request.recurrence
    if request.cron_with_h is not None:
        recurrence = with_expression(recurrence, plain_expression(request.cron_with_h, job_id))
    first = next_fire(recurrence.schedule, now)
    if first is None:
        raise InvalidRequest(no_fire_problem(recurrence.schedule, now))
    return {
        "fire_time": first,
        "due_at": first,
        "status": Status.ACTIVE,
        "slot": fire_slot(shard_of(job_id, engine.deployment.shards), first, now),
        "kind": Kind.RECURRING,
        "recurrence": recurrence,
        "schedule_version": 1,
        "scheduled_since": first,
        "accounted_until": now,
        "stamped": 0,
    }


UPLOADS: Final = 16
Entry = TypeVar("Entry")
Made = TypeVar("Made")

Accepted = Record | Exception
"""The stored job, new or of an earlier request with the same key and body, or the error that refused it."""


def _each(step: Callable[[Entry], Made], entries: Sequence[Entry | Exception]) -> list[Made | Exception]:
    """Do one step for each entry of a batch that has no error yet. An error takes the place of its entry."""
    return [_done(step, entry) for entry in entries]


def _side_by_side(step: Callable[[Entry], Made], entries: Sequence[Entry | Exception]) -> list[Made | Exception]:
    with ThreadPoolExecutor(UPLOADS) as threads:
        return list(threads.map(partial(_done, step), entries))


def _done(step: Callable[[Entry], Made], entry: Entry | Exception) -> Made | Exception:
    try:
        return entry if isinstance(entry, Exception) else step(entry)
    except OnthedotError as error:
        return error


class _WorkersReadOnce:
    """A registry that is read once for a batch, though each job that no pool promises to run asks for the live workers.

    A failed read is kept too.
    """

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


def submit_batch(engine: Engine, tenant: str, requests: Sequence[JobRequest | Exception]) -> list[Accepted]:
    """Answer each request in order: a job, InvalidRequest, IdempotencyConflict or Unavailable. An error stays."""
    engine = replace(engine, registry=cast(WorkerRegistry, _WorkersReadOnce(engine.registry)))
    gates, parents = GateCheck(engine, tenant), ParentCheck(engine, tenant)

    def with_pool(request: JobRequest) -> JobRequest:
        gates.check(request.gates)
        return replace(request, pool=request.pool or choose_pool(engine, tenant, request.definition))

    def with_payload(request: JobRequest) -> JobRequest:
        owner = Owner(id_for(tenant, request), engine.clock.now())
        definition = store_payload(engine.blobs, tenant, request.definition, owner)
        return replace(request, definition=definition, job_id=owner.job_id)

    # A job that is refused stores no payload, and payloads are stored before the clock is read for the slots.
    stored = _side_by_side(with_payload, _each(with_pool, requests))
    made = _each(lambda request: record_for(engine, tenant, request, parents, gates), stored)
    entered = _with_entered_patterns(engine, made)
    # The same key twice is the same id: the first of them is written, all are compared with the record stored then.
    records = {record.run_id: record for record in reversed(entered) if isinstance(record, Record)}
    stored_now = _create(engine, list(records.values()))
    found = [record for record in stored_now.values() if isinstance(record, Record)]
    schedule_all_soon(engine, [job for job in found if is_own(job, records[job.run_id])], patience.SEND_BATCH_MS)
    _leave_refused(engine, entered, stored_now)
    return _each(lambda record: _accepted(record, stored_now), entered)


def _with_entered_patterns(engine: Engine, records: Sequence[Accepted]) -> Sequence[Accepted]:
    """Enter the patterns of event jobs, so that events find a job as soon as it is stored."""

    def enter(record: Record) -> Record:
        handle.enter(engine, record)
        return record

    return _side_by_side(enter, records) if any(_waits_for_events(record) for record in records) else records


def _leave_refused(engine: Engine, records: Sequence[Accepted], stored_now: Mapping[str, Record | Unavailable]) -> None:
    """Remove the patterns of jobs whose id was in use, unless the stored job needs the same entries.

    Entries for which there is no time are harmless, and an event removes them later.
    """
    deadline = Deadline.after(engine.clock.now(), patience.SEND_BATCH_MS)
    for record in records:
        if isinstance(record, Record) and _waits_for_events(record) and deadline.allows(engine.clock.now()):
            found = stored_now[record.run_id]
            if isinstance(found, Record):
                handle.leave(engine, record, found)


def _waits_for_events(record: Accepted) -> bool:
    return isinstance(record, Record) and record.kind is Kind.EVENT


def _create(engine: Engine, records: Sequence[Record]) -> Mapping[str, Record | Unavailable]:
    """Return the record that is stored under each id then."""
    deadline = Deadline.after(engine.clock.now(), patience.CREATE_MS)
    outcomes = engine.store.create_many(records, deadline) if records else []
    return {record.run_id: _stored(record, outcome) for record, outcome in zip(records, outcomes, strict=True)}


def _stored(record: Record, outcome: Outcome) -> Record | Unavailable:
    return record_after_create(record, outcome) or Unavailable(f"{record.run_id} may be stored or not")


def _accepted(record: Record, stored_now: Mapping[str, Record | Unavailable]) -> Accepted:
    found = stored_now[record.run_id]
    if isinstance(found, Record) and found.fingerprint != record.fingerprint:
        return IdempotencyConflict(found.job_id)
    return found


def accept_job(engine: Engine, tenant: str, request: JobRequest, now: int) -> Record:
    """Raise InvalidRequest, IdempotencyConflict or Unavailable."""

    def submit() -> Record:
        check_times(request, now)
        return submit_job(engine, tenant, request)

    return submit_or_repeat(engine, tenant, request, submit)


def accept_batch(engine: Engine, tenant: str, entries: Sequence[JobRequest | Exception], now: int) -> list[Accepted]:
    """Answer each entry in order: the stored job, or the error that a single request would raise. An error stays."""

    def in_time(request: JobRequest) -> JobRequest:
        check_times(request, now)
        return request

    answers = submit_batch(engine, tenant, _each(in_time, entries))
    refused = [
        entry
        for entry, answer in zip(entries, answers, strict=True)
        if isinstance(entry, JobRequest) and isinstance(answer, InvalidRequest)
    ]
    earlier = _earlier_jobs(engine, tenant, refused)
    return [
        earlier.get((entry.idempotency_key, entry.fingerprint), answer)
        if isinstance(entry, JobRequest) and isinstance(answer, InvalidRequest)
        else answer
        for entry, answer in zip(entries, answers, strict=True)
    ]


def submit_or_repeat(engine: Engine, tenant: str, request: JobRequest, submit: Callable[[], Record]) -> Record:
    """Answer a request that is refused now with the job that an earlier one like it has made, if any."""
    try:
        return submit()
    except InvalidRequest:
        earlier = earlier_job(engine, tenant, request)
        if earlier is None:
            raise
        return earlier


def earlier_job(engine: Engine, tenant: str, request: JobRequest) -> Record | None:
    if request.idempotency_key is None:
        return None
    job = engine.store.get(job_id_for_key(tenant, request.idempotency_key))
    return job if job is not None and job.fingerprint == request.fingerprint else None


def _earlier_jobs(
    engine: Engine, tenant: str, requests: Sequence[JobRequest]
) -> dict[tuple[str | None, str], Accepted]:
    # A job that cannot be read in time is Unavailable: a repeated request must not look like a refused one.
    ids = {job_id_for_key(tenant, r.idempotency_key): r for r in requests if r.idempotency_key is not None}
    if not ids:
        return {}
    read = engine.store.get_many(list(ids), Deadline.after(engine.clock.now(), patience.READ_MS))
    found: dict[tuple[str | None, str], Accepted] = {
        (ids[job_id].idempotency_key, job.fingerprint or ""): job for job_id, job in read.found.items()
    }
    late = Unavailable("an earlier request with this key could not be read in time")
    return {(ids[job_id].idempotency_key, ids[job_id].fingerprint): late for job_id in read.unread} | found


def check_times(request: JobRequest, now: int) -> None:
    """Raise InvalidRequest when a time lies outside of the window."""
    if problems := fire_time_problems("at", request.at, now):
        raise InvalidRequest(*problems)
    if request.recurrence is not None:
        check_start(request.recurrence.schedule, now)

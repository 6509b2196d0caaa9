"""Submit many jobs at once, each on its own: one conditional write for each, 25 to a call, then send the near ones.

Each job has the guarantees that `submit_job` gives for one.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final, cast

from onthedot.domain.errors import IdempotencyConflict, OnthedotError, Unavailable
from onthedot.domain.runs.records import Kind, Record
from onthedot.domain.workers.records import WorkerRecord
from onthedot.ports import Deadline, Engine
from onthedot.use_cases import patience
from onthedot.use_cases.dispatch.schedule_soon import schedule_all_soon
from onthedot.use_cases.events import pattern_index
from onthedot.use_cases.gates.check_gates import GateCheck
from onthedot.use_cases.jobs.payloads import Owner, store_payload
from onthedot.use_cases.jobs.submit_job import JobRequest, id_for, pool_for, record_for
from onthedot.use_cases.outcomes import Outcome, is_own, record_after_create
from onthedot.use_cases.workflows.check_parents import ParentCheck
from onthedot.workers.registry import WorkerRegistry

UPLOADS: Final = 16

Accepted = Record | OnthedotError
"""The stored job, new or of an earlier request with the same key and body, or the error that refused it."""


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


def submit_batch(engine: Engine, tenant: str, requests: Sequence[JobRequest]) -> Sequence[Accepted]:
    """Return one answer for each request, in order: a job, InvalidRequest, IdempotencyConflict or Unavailable."""
    engine = replace(engine, registry=cast(WorkerRegistry, _WorkersReadOnce(engine.registry)))
    gates = GateCheck(engine, tenant)
    stored = _with_stored_payloads(engine, tenant, [_with_pool(engine, tenant, request, gates) for request in requests])
    parents = ParentCheck(engine, tenant)
    made = [
        request if isinstance(request, OnthedotError) else _record(engine, tenant, request, parents, gates)
        for request in stored
    ]
    entered = _with_entered_patterns(engine, made)
    # The same key twice is the same id: the first of them is written, all are compared with the record stored then.
    records = {record.run_id: record for record in reversed(entered) if isinstance(record, Record)}
    stored_now = _create(engine, list(records.values()))
    found = [record for record in stored_now.values() if isinstance(record, Record)]
    schedule_all_soon(engine, [job for job in found if is_own(job, records[job.run_id])], patience.SEND_BATCH_MS)
    _leave_refused(engine, entered, stored_now)
    return [_accepted(record, stored_now) if isinstance(record, Record) else record for record in entered]


def _with_pool(engine: Engine, tenant: str, request: JobRequest, gates: GateCheck) -> JobRequest | OnthedotError:
    """Choose the pool and check the gates first, so that a job that is refused stores no payload."""
    try:
        gates.check(request.gates)
        return replace(request, pool=pool_for(engine, tenant, request))
    except OnthedotError as error:
        return error


def _with_stored_payloads(
    engine: Engine, tenant: str, requests: Sequence[JobRequest | OnthedotError]
) -> list[JobRequest | OnthedotError]:
    """Store large payloads side by side, before the clock is read for the slots."""

    def store(request: JobRequest | OnthedotError) -> JobRequest | OnthedotError:
        if isinstance(request, OnthedotError):
            return request
        try:
            owner = Owner(id_for(tenant, request), engine.clock.now())
            definition = store_payload(engine.blobs, tenant, request.definition, owner)
            return replace(request, definition=definition, job_id=owner.job_id)
        except Unavailable as error:
            return error

    with ThreadPoolExecutor(UPLOADS) as uploads:
        return list(uploads.map(store, requests))


def _record(engine: Engine, tenant: str, request: JobRequest, parents: ParentCheck, gates: GateCheck) -> Accepted:
    try:
        return record_for(engine, tenant, request, parents, gates)
    except OnthedotError as error:
        return error


def _with_entered_patterns(engine: Engine, records: Sequence[Accepted]) -> list[Accepted]:
    """Enter the patterns of event jobs, so that events find a job as soon as it is stored."""

    def enter(record: Accepted) -> Accepted:
        try:
            if isinstance(record, Record):
                pattern_index.enter(engine, record)
        except Unavailable as error:
            return error
        return record

    if not any(_waits_for_events(record) for record in records):
        return list(records)
    with ThreadPoolExecutor(UPLOADS) as writers:
        return list(writers.map(enter, records))


def _leave_refused(engine: Engine, records: Sequence[Accepted], stored_now: Mapping[str, Record | Unavailable]) -> None:
    """Remove the patterns of jobs whose id was in use, unless the stored job needs the same entries.

    Entries for which there is no time are harmless, and an event removes them later.
    """
    deadline = Deadline.after(engine.clock.now(), patience.SEND_BATCH_MS)
    for record in records:
        if isinstance(record, Record) and _waits_for_events(record) and deadline.allows(engine.clock.now()):
            found = stored_now[record.run_id]
            if isinstance(found, Record):
                pattern_index.leave(engine, record, found)


def _waits_for_events(record: Accepted) -> bool:
    return isinstance(record, Record) and record.kind is Kind.EVENT


def _create(engine: Engine, records: Sequence[Record]) -> Mapping[str, Record | Unavailable]:
    """Create the records. Return the record that is stored under each id then."""
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

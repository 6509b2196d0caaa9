"""Submit a job: one put-if-absent, and a message for a near run. If the API dies after the put, the job runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from onthedot.domain.errors import IdempotencyConflict, InvalidRequest
from onthedot.domain.ids import fresh_generation, fresh_job_id, job_id_for_key
from onthedot.domain.runs.change_log import created_by
from onthedot.domain.runs.dependencies import OnParentFailure, waiting
from onthedot.domain.runs.listing import listed_under
from onthedot.domain.runs.records import Definition, Kind, Priority, Record, Status
from onthedot.domain.runs.slots import fire_slot, shard_of
from onthedot.domain.runs.start_window import last_start
from onthedot.domain.schedules.recurrence import Recurrence, with_expression
from onthedot.domain.schedules.schedule import next_fire
from onthedot.domain.schedules.spread import plain_expression
from onthedot.domain.schedules.time_window import no_fire_problem
from onthedot.domain.targets.types import WorkflowTarget
from onthedot.jobs.spec import Stored, of_new
from onthedot.ports import Engine
from onthedot.use_cases.dispatch.schedule_soon import schedule_soon
from onthedot.use_cases.events import pattern_index
from onthedot.use_cases.gates.check_gates import GateCheck
from onthedot.use_cases.jobs.payloads import Owner, store_payload
from onthedot.use_cases.jobs.place_job import choose_pool, place_run
from onthedot.use_cases.outcomes import is_own
from onthedot.use_cases.workflows.check_parents import ParentCheck


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
    """The fields of the request that the record has by the same names (`Stored.RECORD`)."""
    trace: str | None = None
    """The trace of the API call."""
    by: str | None = None
    """The name of the client's token."""
    job_id: str | None = None
    """The id, if it was chosen before the record is made."""

    @property
    def gates(self) -> Sequence[str]:
        """The gates that the job names, in the order of the request."""
        named: Sequence[str] = self.record.get("gates", ())
        return named


def id_for(tenant: str, request: JobRequest) -> str:
    """Return the id of the job that the request makes: that of its idempotency key, or a new one."""
    key = request.idempotency_key
    return fresh_job_id() if key is None else job_id_for_key(tenant, key)


def submit_job(engine: Engine, tenant: str, request: JobRequest) -> Record:
    """Return the stored job: new, or made by an earlier request with the same key and body.

    Raise IdempotencyConflict when the key was used with another body, InvalidRequest for a job that cannot run on this
    stage, and Unavailable.
    """
    run = record_for(engine, tenant, request)
    pattern_index.enter(engine, run)
    existing = engine.store.create(run)
    if existing is not None and not is_own(existing, run):
        pattern_index.leave(engine, run, existing)
        if existing.fingerprint != run.fingerprint:
            raise IdempotencyConflict(existing.job_id)
        return existing
    return schedule_soon(engine, run)


def pool_for(engine: Engine, tenant: str, request: JobRequest) -> str:
    """Return the pool that the request names or needs. Raise InvalidRequest or Unavailable."""
    return request.pool or choose_pool(engine, tenant, request.definition)


def record_for(
    engine: Engine,
    tenant: str,
    request: JobRequest,
    parents: ParentCheck | None = None,
    gates: GateCheck | None = None,
) -> Record:
    """Return the record that the request makes, placed as of now. Raise InvalidRequest or Unavailable.

    `parents` and `gates` are the checks of all jobs of a batch, if the request is one of them.
    """
    # The pool is chosen first, so that a job that cannot run stores no payload.
    pool = pool_for(engine, tenant, request)
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
            "nominal_at": now,
            "fire_at": now,
            "status": Status.ACTIVE,
            "kind": Kind.EVENT,
            "pattern": request.pattern,
            "pattern_entry": fresh_generation(),
        }
    if request.recurrence is None:
        fire_at = request.at if request.at is not None else now + (request.delay_ms or 0)
        placed = place_run(engine, job_id, fire_at, now, pool=pool, priority=request.priority)
        return {
            "nominal_at": fire_at,
            "fire_at": fire_at,
            "status": placed.status,
            "slot": placed.slot,
            "start_by": last_start(fire_at, request.record.get("start_within_seconds")),
        }
    recurrence = request.recurrence
    if request.cron_with_h is not None:
        recurrence = with_expression(recurrence, plain_expression(request.cron_with_h, job_id))
    first = next_fire(recurrence.schedule, now)
    if first is None:
        raise InvalidRequest(no_fire_problem(recurrence.schedule, now))
    return {
        "nominal_at": first,
        "fire_at": first,
        "status": Status.ACTIVE,
        "slot": fire_slot(shard_of(job_id, engine.deployment.shards), first, now),
        "kind": Kind.RECURRING,
        "recurrence": recurrence,
        "schedule_version": 1,
        "scheduled_since": first,
        "accounted_until": now,
        "stamped": 0,
    }

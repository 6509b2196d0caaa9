"""Accept a one-off job: one put-if-absent, and for a near one a message. Whatever dies after the put, it runs."""

from dataclasses import dataclass
from typing import Final

from onthedot.domain.errors import IdempotencyConflict
from onthedot.domain.ids import fresh_generation, fresh_job_id, job_id_for_key
from onthedot.domain.lifecycle import place
from onthedot.domain.run import Definition, Priority, Run, Status
from onthedot.domain.slots import shard_of
from onthedot.ports import Deadline, Engine
from onthedot.use_cases.hand_over import hand_over
from onthedot.use_cases.payloads import store_payload

LISTING_SHARDS: Final = 8
"""No tenant is bound to the 1,000 writes/s of one index partition."""
SEND_PATIENCE_MS: Final = 2_000


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A validated request. At most one of `at` and `delay_ms` is given; neither means now."""

    definition: Definition
    fingerprint: str
    priority: Priority
    pool: str
    at: int | None = None
    delay_ms: int | None = None
    idempotency_key: str | None = None


def submit_job(engine: Engine, tenant: str, request: JobRequest) -> Run:
    """The stored run: new, or the one that an earlier request with the same key and body made.

    Raises IdempotencyConflict when the key was used with another body.
    """
    run = _as_run(engine, tenant, request)
    existing = engine.store.create(run)
    if existing is not None and existing.generation != run.generation:
        if existing.fingerprint != run.fingerprint:
            raise IdempotencyConflict(existing.job_id)
        return existing
    # A generation equal to ours means that the reply to our own put was lost: the run is stored, not sent.
    if run.status is Status.DISPATCHED:
        hand_over(engine, [run], Deadline(engine.clock.now() + SEND_PATIENCE_MS))
    return run


def _as_run(engine: Engine, tenant: str, request: JobRequest) -> Run:
    # The payload first: a slot must be written soon after the clock was read for it.
    definition = store_payload(engine.blobs, request.definition)
    now = engine.clock.now()
    key = request.idempotency_key
    job_id = fresh_job_id() if key is None else job_id_for_key(tenant, key)
    fire_at = request.at if request.at is not None else now + (request.delay_ms or 0)
    placed = place(job_id, fire_at, now, engine.plan)
    return Run(
        run_id=job_id,
        job_id=job_id,
        tenant=tenant,
        definition=definition,
        priority=request.priority,
        pool=request.pool,
        created_at=now,
        nominal_at=fire_at,
        fire_at=fire_at,
        status=placed.status,
        slot=placed.slot,
        generation=fresh_generation(),
        fingerprint=request.fingerprint,
        listed_under=f"{tenant}#{shard_of(job_id, LISTING_SHARDS)}",
    )

"""Accept jobs from clients, by REST or by the event bus: check the times, submit, and answer a repeated request.

An idempotency key outlives the time of its job. A late retry of a request that was accepted once gets the answer of the
first request, even when its time is too old by now.
"""

from collections.abc import Callable, Sequence

from onthedot.domain.errors import InvalidRequest, Unavailable
from onthedot.domain.ids import job_id_for_key
from onthedot.domain.runs.records import Record
from onthedot.domain.schedules.time_window import check_start, fire_time_problems
from onthedot.ports import Deadline, Engine
from onthedot.use_cases import patience
from onthedot.use_cases.jobs.submit_batch import Accepted, submit_batch
from onthedot.use_cases.jobs.submit_job import JobRequest, submit_job


def accept_job(engine: Engine, tenant: str, request: JobRequest, now: int) -> Record:
    """Return the stored job: new, or made by an earlier request with the same key and body.

    Raise InvalidRequest, IdempotencyConflict or Unavailable.
    """

    def submit() -> Record:
        check_times(request, now)
        return submit_job(engine, tenant, request)

    return submit_or_repeat(engine, tenant, request, submit)


def accept_batch(engine: Engine, tenant: str, requests: Sequence[JobRequest], now: int) -> list[Accepted]:
    """Return one answer for each request, in order: the stored job, or the error that a single request would raise."""
    refusals = [_refusal(request, now) for request in requests]
    timely = [request for request, refusal in zip(requests, refusals, strict=True) if refusal is None]
    submitted = iter(submit_batch(engine, tenant, timely))
    answers = [next(submitted) if refusal is None else refusal for refusal in refusals]
    refused = [r for r, answer in zip(requests, answers, strict=True) if isinstance(answer, InvalidRequest)]
    earlier = _earlier_jobs(engine, tenant, refused)
    return [
        earlier.get((request.idempotency_key, request.fingerprint), answer)
        if isinstance(answer, InvalidRequest)
        else answer
        for request, answer in zip(requests, answers, strict=True)
    ]


def submit_or_repeat(engine: Engine, tenant: str, request: JobRequest, submit: Callable[[], Record]) -> Record:
    """Submit. Where that raises InvalidRequest, return the job of an earlier request that was the same, if any."""
    try:
        return submit()
    except InvalidRequest:
        earlier = earlier_job(engine, tenant, request)
        if earlier is None:
            raise
        return earlier


def earlier_job(engine: Engine, tenant: str, request: JobRequest) -> Record | None:
    """Return the job that an earlier request with the same key and body made."""
    if request.idempotency_key is None:
        return None
    job = engine.store.get(job_id_for_key(tenant, request.idempotency_key))
    return job if job is not None and job.fingerprint == request.fingerprint else None


def _earlier_jobs(
    engine: Engine, tenant: str, requests: Sequence[JobRequest]
) -> dict[tuple[str | None, str], Accepted]:
    """Return the jobs that earlier requests with the same keys and bodies made, by key and fingerprint.

    A job that cannot be read in time is Unavailable: the client must not take its repeated request for a refused one.
    """
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
    """Raise InvalidRequest when the request's time lies outside of the window."""
    if problems := fire_time_problems("at", request.at, now):
        raise InvalidRequest(*problems)
    if request.recurrence is not None:
        check_start(request.recurrence.schedule, now)


def _refusal(request: JobRequest, now: int) -> InvalidRequest | None:
    try:
        check_times(request, now)
    except InvalidRequest as error:
        return error
    return None

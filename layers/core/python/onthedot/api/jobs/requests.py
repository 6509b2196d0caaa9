"""The body of `POST /v1/jobs`, or an entry of a batch, as a `JobRequest`, or a refusal that names every field."""

import hashlib
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from onthedot.api.core.body import canonical, read_object
from onthedot.api.core.complaints import problems_of
from onthedot.api.core.errors import too_large
from onthedot.api.core.reading import nulls, read_model
from onthedot.api.core.times import milliseconds
from onthedot.api.events.fields import ON_EVENT, check_on_event, pattern_text
from onthedot.api.jobs.fields import IdempotencyKey, JobFields, WorkFields
from onthedot.api.schedules.fields import one_of, out_of_place
from onthedot.api.schedules.recurrences import new_recurrence
from onthedot.api.targets.fields import TargetFields
from onthedot.domain.errors import InvalidRequest, Problem
from onthedot.domain.runs.dependencies import OnParentFailure
from onthedot.domain.runs.records import Definition, Priority, RetryPolicy
from onthedot.domain.targets.types import HttpTarget, Target
from onthedot.use_cases.jobs.submit_job import JobRequest

MAX_PAYLOAD: Final = 1024 * 1024
MAX_BODY: Final = 3 * MAX_PAYLOAD + 64 * 1024
"""Escaped text is up to three times as long as the same text in UTF-8."""
IDEMPOTENCY_HEADER: Final = "Idempotency-Key"

_WHENS: Final = ("at", "delay", "cron", "every", ON_EVENT)
_WHERES: Final = ("target", "callback_url")
_KEY: Final[TypeAdapter[str]] = TypeAdapter(IdempotencyKey)


def read_job_request(body: bytes, header_key: str | None, now: int) -> JobRequest:
    """Everything about the request but whether its times lie in the window: see `accept_jobs`.

    Raises ApiError (not JSON, too large) and InvalidRequest.
    """
    return job_request(read_object(body, MAX_BODY), header_key, now)


def job_request(document: dict[str, Any], header_key: str | None, now: int) -> JobRequest:
    """Raises ApiError (payload too large) and InvalidRequest."""
    _check_whole(document)
    fields = read_model(JobFields, document)
    check_payload(fields.payload)
    if fields.on_event is not None and (problems := check_on_event(fields.on_event, fields.payload)):
        raise InvalidRequest(*problems)
    _check_dependencies(fields)
    return JobRequest(
        definition=definition_of(fields),
        fingerprint=fingerprint_of(document),
        priority=Priority(fields.priority),
        recurrence=new_recurrence(fields, now),
        pattern=None if fields.on_event is None else pattern_text(fields.on_event),
        at=fields.at,
        delay_ms=None if fields.delay is None else milliseconds(fields.delay),
        idempotency_key=one_key(fields.idempotency_key, header_key),
        parents=tuple(fields.dependencies or ()),
        on_parent_failure=OnParentFailure(fields.on_parent_failure or OnParentFailure.FAIL),
    )


def check_payload(payload: Any) -> None:
    size = len(canonical(payload))
    if size > MAX_PAYLOAD:
        raise too_large("payload", MAX_PAYLOAD, size)


def check_target(document: dict[str, Any]) -> list[Problem]:
    """What is wrong with where a job goes, over the raw names."""
    return one_of(document, _WHERES)


def target_of(fields: TargetFields | None, callback_url: str) -> Target:
    return HttpTarget(callback_url) if fields is None else fields.target()


def _check_whole(document: dict[str, Any]) -> None:
    """What concerns the fields together, over the raw names: also of fields that this version does not know."""
    problems = [*one_of(document, _WHENS), *out_of_place(document), *check_target(document)]
    problems += nulls(JobFields, document, {"payload"})
    if not any(name in document for name in _WHERES):
        problems.append(Problem("target", "is missing; give target or callback_url"))
    if problems:
        raise InvalidRequest(*problems)


def _check_dependencies(fields: JobFields) -> None:
    seen: set[str] = set()
    problems = []
    for number, parent in enumerate(fields.dependencies or ()):
        if parent in seen:
            problems.append(Problem(f"dependencies.{number}", "stands here twice; remove one"))
        seen.add(parent)
    if seen and fields.on_event is not None:
        problems.append(Problem("dependencies", "do not go with on_event; keep one of them"))
    if fields.on_parent_failure is not None and not seen:
        problems.append(Problem("on_parent_failure", "works only with dependencies; add some or remove it"))
    if problems:
        raise InvalidRequest(*problems)


def definition_of(fields: WorkFields) -> Definition:
    return Definition(
        target=target_of(fields.target, fields.callback_url or ""),
        payload=fields.payload,
        retry=RetryPolicy(**fields.retry.model_dump()),
        timeout_seconds=fields.timeout_seconds,
        name=fields.name,
        tags=fields.tags,
        requirements=fields.requirements.requirements(),
    )


def one_key(in_body: str | None, in_header: str | None) -> str | None:
    if in_header is None:
        return in_body
    try:
        key = _KEY.validate_python(in_header.strip())
    except ValidationError as error:
        message = problems_of(error, ())[0].message
        raise InvalidRequest(Problem(IDEMPOTENCY_HEADER, message)) from error
    if in_body not in (None, key):
        raise InvalidRequest(
            Problem("idempotency_key", f"differs from the header {IDEMPOTENCY_HEADER}; send one of them")
        )
    return key


def fingerprint_of(document: dict[str, Any]) -> str:
    """Of what was sent, not of what was made of it: a later version's defaults do not change it."""
    said = {name: value for name, value in document.items() if name != "idempotency_key"}
    return hashlib.sha256(canonical(said)).hexdigest()

"""The body of `POST /v1/jobs` as a `JobRequest`, or a refusal that names every field at fault."""

import hashlib
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from onthedot.api.body import canonical, read_object
from onthedot.api.complaints import problems_of
from onthedot.api.errors import echo, too_large
from onthedot.api.models import HttpTargetFields, IdempotencyKey, JobFields
from onthedot.api.times import milliseconds
from onthedot.domain.errors import InvalidRequest, Problem
from onthedot.domain.run import Definition, HttpTarget, Priority, RetryPolicy
from onthedot.schema import DEFAULT_POOL
from onthedot.use_cases.submit_job import JobRequest

MAX_PAYLOAD: Final = 1024 * 1024
MAX_BODY: Final = 3 * MAX_PAYLOAD + 64 * 1024
"""Escaped text is up to three times as long as the same text in UTF-8."""
IDEMPOTENCY_HEADER: Final = "Idempotency-Key"

_WHENS: Final = ("at", "delay", "cron", "every", "on_event")
_WHERES: Final = ("target", "callback_url")
_KEY: Final[TypeAdapter[str]] = TypeAdapter(IdempotencyKey)


def read_job_request(body: bytes, header_key: str | None) -> JobRequest:
    """Everything about the request but whether its time lies in the window, which depends on now.

    Raises ApiError (not JSON, too large) and InvalidRequest.
    """
    document = read_object(body, MAX_BODY)
    _check_whole(document)
    fields = _validate(document)
    size = len(canonical(fields.payload))
    if size > MAX_PAYLOAD:
        raise too_large("payload", MAX_PAYLOAD, size)
    return JobRequest(
        definition=_definition(fields),
        fingerprint=_fingerprint(document),
        priority=Priority(fields.priority),
        pool=DEFAULT_POOL,
        at=fields.at,
        delay_ms=None if fields.delay is None else milliseconds(fields.delay),
        idempotency_key=_one_key(fields.idempotency_key, header_key),
    )


def _check_whole(document: dict[str, Any]) -> None:
    """What concerns the fields together, over the raw names: also of fields that this version does not know."""
    problems = [*_one_of(document, _WHENS), *_one_of(document, _WHERES), *_unset(document)]
    if not any(name in document for name in _WHERES):
        problems.append(Problem("target", "is missing; give target or callback_url"))
    kind = target.get("type") if isinstance(target := document.get("target"), dict) else None
    if isinstance(kind, str) and kind != "http":
        problems.append(Problem("target.type", f"unsupported target type {echo(kind)!r}; use http"))
    if problems:
        raise InvalidRequest(*problems)


def _one_of(document: dict[str, Any], names: tuple[str, ...]) -> list[Problem]:
    given = [name for name in names if name in document]
    if len(given) < 2:
        return []
    return [Problem(name, f"only one of {', '.join(given)} may be given; keep one of them") for name in given]


def _unset(document: dict[str, Any]) -> list[Problem]:
    known = JobFields.model_fields.keys() - {"payload"}
    return [Problem(name, "is null; leave it out") for name in sorted(known) if document.get(name, name) is None]


def _validate(document: dict[str, Any]) -> JobFields:
    try:
        return JobFields.model_validate(document)
    except ValidationError as error:
        raise InvalidRequest(*problems_of(error, JobFields.model_fields)) from error


def _definition(fields: JobFields) -> Definition:
    return Definition(
        target=_target(fields.target, fields.callback_url or ""),
        payload=fields.payload,
        retry=RetryPolicy(**fields.retry.model_dump()),
        timeout_seconds=fields.timeout_seconds,
        name=fields.name,
        tags=fields.tags,
    )


def _target(target: HttpTargetFields | None, callback_url: str) -> HttpTarget:
    if target is None:
        return HttpTarget(callback_url)
    return HttpTarget(target.url, target.method, target.headers)


def _one_key(in_body: str | None, in_header: str | None) -> str | None:
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


def _fingerprint(document: dict[str, Any]) -> str:
    """Of what was sent, not of what was made of it: a later version's defaults do not change it."""
    said = {name: value for name, value in document.items() if name != "idempotency_key"}
    return hashlib.sha256(canonical(said)).hexdigest()

"""Read the body of `POST /v1/jobs`, or an entry of a batch, as a `JobRequest`. A refusal names all fields at fault."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from onthedot.api.core.body import canonical, read_object
from onthedot.api.core.errors import too_large
from onthedot.api.core.reading import choice_problems, null_problems, problems_in, read_model
from onthedot.api.core.times import milliseconds
from onthedot.api.events.fields import ON_EVENT, event_job_problems, pattern_text
from onthedot.api.gates.fields import repeated_gate_problems
from onthedot.api.jobs.fields import IdempotencyKey, JobFields, WorkFields
from onthedot.api.schedules.fields import schedule_problems
from onthedot.api.schedules.recurrences import cron_with_h, fire_instant, new_recurrence
from onthedot.api.targets.fields import TargetFields
from onthedot.domain.errors import InvalidRequest, Problem
from onthedot.domain.runs.dependencies import OnParentFailure
from onthedot.domain.runs.records import Definition, Priority, RetryPolicy
from onthedot.domain.targets.types import HttpTarget, Target
from onthedot.use_cases.jobs.submit_job import JobRequest

MAX_PAYLOAD: Final = 1024 * 1024
MAX_BODY: Final = 3 * MAX_PAYLOAD + 64 * 1024
"""JSON that escapes its text is up to three times as long as the same text in UTF-8."""
IDEMPOTENCY_HEADER: Final = "Idempotency-Key"

_TIME_FIELDS: Final = ("at", "delay", "cron", "every", ON_EVENT)
_TARGET_FIELDS: Final = ("target", "callback_url")
_KEY: Final[TypeAdapter[str]] = TypeAdapter(IdempotencyKey)


def read_job_request(body: bytes, header_key: str | None, now: int) -> JobRequest:
    """Return the request in a body. `accept_jobs` checks later whether its times lie in the window.

    Raise ApiError for a body that is not JSON or too large, and InvalidRequest.
    """
    return job_request(read_object(body, MAX_BODY), header_key, now)


def job_request(document: dict[str, Any], header_key: str | None, now: int) -> JobRequest:
    """Return the request in a document. Raise ApiError for a payload that is too large, and InvalidRequest."""
    _check_names(document)
    fields = read_model(JobFields, document)
    check_payload(fields.payload)
    if fields.on_event is not None and (problems := event_job_problems(fields.on_event, fields.payload)):
        raise InvalidRequest(*problems)
    _check_dependencies(fields)
    check_gates(fields.gates)
    return JobRequest(
        definition=definition_of(fields),
        fingerprint=fingerprint_of(document),
        priority=Priority(fields.priority),
        recurrence=new_recurrence(fields, now),
        cron_with_h=cron_with_h(fields),
        pattern=None if fields.on_event is None else pattern_text(fields.on_event),
        at=fire_instant(fields.at, fields),
        delay_ms=None if fields.delay is None else milliseconds(fields.delay),
        idempotency_key=choose_key(fields.idempotency_key, header_key),
        parents=tuple(fields.dependencies or ()),
        on_parent_failure=OnParentFailure(fields.on_parent_failure or OnParentFailure.FAIL),
        gates=tuple(fields.gates),
        start_within_seconds=fields.start_within_seconds,
    )


def check_payload(payload: Any) -> None:
    """Raise ApiError 413 when the payload is too large."""
    size = len(canonical(payload))
    if size > MAX_PAYLOAD:
        raise too_large("payload", MAX_PAYLOAD, size)


def check_gates(gates: Sequence[str]) -> None:
    """Raise InvalidRequest when a gate is named twice. A use case checks later whether the gates exist."""
    if problems := repeated_gate_problems(gates):
        raise InvalidRequest(*problems)


def target_choice_problems(document: Mapping[str, Any]) -> list[Problem]:
    """Return problems when a document has both `target` and `callback_url`."""
    return choice_problems(document, _TARGET_FIELDS)


def missing_target_problems(document: Mapping[str, Any]) -> list[Problem]:
    """Return a problem when a document has neither `target` nor `callback_url`."""
    if any(name in document for name in _TARGET_FIELDS):
        return []
    return [Problem("target", "is missing; give target or callback_url")]


def target_of(fields: TargetFields | None, callback_url: str) -> Target:
    """Return the target that the fields name. `callback_url` is short for an http target."""
    return HttpTarget(callback_url) if fields is None else fields.target()


def definition_of(fields: WorkFields) -> Definition:
    return Definition(
        target=target_of(fields.target, fields.callback_url or ""),
        payload=fields.payload,
        retry=RetryPolicy(**fields.retry.model_dump()),
        timeout_seconds=fields.timeout_seconds,
        name=fields.name,
        description=fields.description,
        tags=fields.tags,
        requirements=fields.requirements.requirements(),
    )


def choose_key(in_body: str | None, in_header: str | None) -> str | None:
    """Return the idempotency key of the body or of the header. Raise InvalidRequest when they differ."""
    if in_header is None:
        return in_body
    try:
        key = _KEY.validate_python(in_header.strip())
    except ValidationError as error:
        message = problems_in(error)[0].message
        raise InvalidRequest(Problem(IDEMPOTENCY_HEADER, message)) from error
    if in_body not in (None, key):
        raise InvalidRequest(
            Problem("idempotency_key", f"differs from the header {IDEMPOTENCY_HEADER}; send one of them")
        )
    return key


def fingerprint_of(document: dict[str, Any]) -> str:
    """Return a hash of the document as the client sent it, so that new defaults of a later version do not change it."""
    content = {name: value for name, value in document.items() if name != "idempotency_key"}
    return hashlib.sha256(canonical(content)).hexdigest()


def _check_names(document: dict[str, Any]) -> None:
    """Raise InvalidRequest for fields that do not go together.

    It compares names only, so it also works when the document has fields that this version does not know.
    """
    problems = [
        *choice_problems(document, _TIME_FIELDS),
        *schedule_problems(document),
        *target_choice_problems(document),
        *null_problems(JobFields, document, {"payload"}),
        *missing_target_problems(document),
    ]
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

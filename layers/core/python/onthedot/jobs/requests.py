"""Read what clients send about jobs: a new job, a batch of them, a change. A refusal names all fields at fault."""

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from onthedot.api.errors import ApiError, too_large
from onthedot.api.reading import (
    MAX_DEPTH,
    canonical,
    choice_problems,
    null_problems,
    problems_in,
    read_object,
    read_shape,
    refuse_unknown_fields,
)
from onthedot.core.choices import OnParentFailure
from onthedot.core.errors import InvalidRequest, OnthedotError, Problem
from onthedot.core.records import Definition
from onthedot.events.fields import ON_EVENT, event_job_problems
from onthedot.gates.fields import repeated_gate_problems
from onthedot.jobs.patch import JobPatch
from onthedot.jobs.shapes import MAX_BATCH, IdempotencyKey, JobFields, PatchFields
from onthedot.jobs.spec import BY_NAME, CHANGEABLE, Stored, of_new, stored_in
from onthedot.jobs.submit import JobRequest
from onthedot.schedules.fields import CRON_FIELDS, RULE_FIELDS, cron_with_h, fire_instant, new_recurrence
from onthedot.targets.fields import mask_problems

MAX_PAYLOAD: Final = 1024 * 1024
MAX_BODY: Final = 3 * MAX_PAYLOAD + 64 * 1024
"""JSON that escapes its text is up to three times as long as the same text in UTF-8."""
MAX_BATCH_BODY: Final = 5 * 1024 * 1024
IDEMPOTENCY_HEADER: Final = "Idempotency-Key"
IF_MATCH_HEADER: Final = "If-Match"
ONE_OFF_FIELDS: Final = ("at", "delay")
CRON_OR_AT: Final = "works only with cron, or with a local time as at; add one of them or remove it"
_TARGET_FIELDS: Final = ("target", "callback_url")
_RULE_NEEDED: Final = [
    field.name for field in stored_in(Stored.RECURRENCE) if field.name not in (*RULE_FIELDS, *CRON_FIELDS)
]
_CLEARABLE: Final = {"payload", *(field.name for field in CHANGEABLE if field.null)}
_LEVELS_ABOVE: Final = 2
"""Levels of nesting above a job of a batch: the body and its list."""
_VERSION: Final = re.compile(r'(?:W/)?("?)(\d{1,9})\1', re.ASCII)
_KEY: Final[TypeAdapter[str]] = TypeAdapter(IdempotencyKey)

BatchEntry = JobRequest | ApiError | OnthedotError


def read_job_request(body: bytes, header_key: str | None, now: int) -> JobRequest:
    # `accept_job` checks whether its times lie in the window.
    return _job_request(read_object(body, MAX_BODY), header_key, now)


def read_batch(body: bytes, header_key: str | None, now: int) -> list[BatchEntry]:
    """Return the request in each entry, or the error that refuses it. Raise what refuses them all."""
    if header_key is not None:
        message = "cannot cover several jobs; give each of them its own idempotency_key"
        raise InvalidRequest(Problem(IDEMPOTENCY_HEADER, message))
    return [_read_entry(entry, now) for entry in _entries(body)]


def read_jobs_object(body: bytes) -> dict[str, Any]:
    return read_object(body, MAX_BATCH_BODY, MAX_DEPTH + _LEVELS_ABOVE)


def read_patch(body: bytes) -> JobPatch:
    document = read_object(body, MAX_BODY)
    problems = [
        *choice_problems(document, (*ONE_OFF_FIELDS, *RULE_FIELDS, ON_EVENT)),
        *choice_problems(document, _TARGET_FIELDS),
        *mask_problems(document),
        *null_problems(PatchFields, document, _CLEARABLE),
    ]
    if not document:
        problems.append(Problem("body", "changes nothing; give at least one field"))
    if problems:
        raise InvalidRequest(*problems)
    fields = read_shape(PatchFields, document)
    check_payload(fields)
    check_gates(fields)
    return JobPatch(
        fields,
        at=fire_instant(fields),
        pattern=pattern_in(fields),
        event_problems=event_job_problems(fields.get(ON_EVENT), fields.get("payload")),
    )


def read_version(header: str | None) -> int | None:
    """Return None when the client accepts any version. The number may be quoted."""
    if header is None or header.strip() == "*":
        return None
    found = _VERSION.fullmatch(header.strip())
    if found is None:
        raise InvalidRequest(Problem(IF_MATCH_HEADER, "is not a version; send the number that the job shows, or *"))
    return int(found[2])


def check_payload(fields: Mapping[str, Any]) -> None:
    """Raise ApiError 413."""
    size = len(canonical(fields.get("payload")))
    if size > MAX_PAYLOAD:
        raise too_large("payload", MAX_PAYLOAD, size)


def check_gates(fields: Mapping[str, Any]) -> None:
    """Raise InvalidRequest when a gate is named twice. A use case checks later whether the gates exist."""
    if problems := repeated_gate_problems(fields.get("gates") or ()):
        raise InvalidRequest(*problems)


def work_problems(document: Mapping[str, Any], shape: Any) -> list[Problem]:
    problems = [*choice_problems(document, _TARGET_FIELDS), *null_problems(shape, document, {"payload"})]
    if not any(name in document for name in _TARGET_FIELDS):
        problems.append(Problem("target", "is missing; give target or callback_url"))
    return problems


def schedule_problems(document: Mapping[str, Any], only_cron: str = CRON_OR_AT) -> list[Problem]:
    """Refuse fields that need `cron` or `every`. `only_cron` is the advice for those that need `cron`."""
    problems = []
    if not any(name in document for name in RULE_FIELDS):
        advice = "is for recurring jobs only; add cron or every, or remove it"
        problems += [Problem(name, advice) for name in _RULE_NEEDED if name in document]
    if "cron" not in document and "at" not in document:
        problems += [Problem(name, only_cron) for name in CRON_FIELDS if name in document]
    return problems


def definition_of(fields: Mapping[str, Any]) -> Definition:
    target = fields.get("target") or fields["callback_url"]
    return Definition(target=target, payload=fields.get("payload"), **of_new(fields, Stored.DEFINITION))


def record_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {field.name: fields[field.name] for field in stored_in(Stored.RECORD) if field.name in fields}


def pattern_in(fields: Mapping[str, Any]) -> str | None:
    """Return the one spelling of the pattern."""
    return canonical(fields[ON_EVENT]).decode() if ON_EVENT in fields else None


def choose_key(in_body: str | None, in_header: str | None) -> str | None:
    """Raise InvalidRequest when the keys of the body and the header differ."""
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
    # It is of the document as the client sent it, so that new defaults of a later version do not change it.
    content = {name: value for name, value in document.items() if name != "idempotency_key"}
    return hashlib.sha256(canonical(content)).hexdigest()


def _job_request(document: dict[str, Any], header_key: str | None, now: int) -> JobRequest:
    # These compare names only, so they also work when the document has fields that this version does not know.
    problems = [
        *choice_problems(document, (*ONE_OFF_FIELDS, *RULE_FIELDS, ON_EVENT)),
        *schedule_problems(document),
        *work_problems(document, JobFields),
    ]
    if problems:
        raise InvalidRequest(*problems)
    fields = read_shape(JobFields, document)
    check_payload(fields)
    if ON_EVENT in fields and (problems := event_job_problems(fields[ON_EVENT], fields.get("payload"))):
        raise InvalidRequest(*problems)
    _check_dependencies(fields)
    check_gates(fields)
    return JobRequest(
        definition=definition_of(fields),
        fingerprint=fingerprint_of(document),
        priority=BY_NAME["priority"].of_new(fields),
        recurrence=new_recurrence(fields, now),
        cron_with_h=cron_with_h(fields),
        pattern=pattern_in(fields),
        at=fire_instant(fields),
        delay_ms=fields.get("delay"),
        idempotency_key=choose_key(fields.get("idempotency_key"), header_key),
        parents=fields.get("dependencies", ()),
        on_parent_failure=fields.get("on_parent_failure", OnParentFailure.FAIL),
        record=record_of(fields),
    )


def _check_dependencies(fields: Mapping[str, Any]) -> None:
    seen: set[str] = set()
    problems = []
    for number, parent in enumerate(fields.get("dependencies", ())):
        if parent in seen:
            problems.append(Problem(f"dependencies.{number}", "is listed twice; remove one"))
        seen.add(parent)
    if seen and ON_EVENT in fields:
        problems.append(Problem("dependencies", "cannot be combined with on_event; keep one of them"))
    if "on_parent_failure" in fields and not seen:
        problems.append(Problem("on_parent_failure", "works only with dependencies; add some or remove it"))
    if problems:
        raise InvalidRequest(*problems)


def _entries(body: bytes) -> list[Any]:
    document = read_jobs_object(body)
    refuse_unknown_fields(document, ["jobs"])
    entries = document.get("jobs")
    if not isinstance(entries, list) or not entries:
        raise InvalidRequest(Problem("jobs", f"is not a list of jobs; give 1 to {MAX_BATCH} of them"))
    if len(entries) > MAX_BATCH:
        raise InvalidRequest(Problem("jobs", f"has {len(entries)} entries; give at most {MAX_BATCH}"))
    return entries


def _read_entry(entry: Any, now: int) -> BatchEntry:
    if not isinstance(entry, dict):
        return InvalidRequest(Problem("body", "is not an object; send {…} with the job's fields"))
    try:
        return _job_request(entry, None, now)
    except (ApiError, OnthedotError) as error:
        return error

"""Read the body and the `If-Match` header of `PATCH /v1/jobs/{id}`."""

import re
from collections.abc import Callable, Set
from typing import Any, Final

from onthedot.api.core.body import read_object
from onthedot.api.core.reading import choice_problems, null_problems, read_model
from onthedot.api.core.times import milliseconds
from onthedot.api.events.fields import ON_EVENT, event_job_problems, pattern_text
from onthedot.api.jobs.fields import CLEARABLE, PatchFields
from onthedot.api.jobs.requests import MAX_BODY, check_gates, check_payload, target_choice_problems, target_of
from onthedot.api.schedules.fields import CRON_FIELDS, RECURRENCE_FIELDS, RULE_FIELDS
from onthedot.api.schedules.recurrences import changed_recurrence, fire_instant
from onthedot.api.targets.show import mask_problems
from onthedot.domain.errors import InvalidRequest, Problem
from onthedot.domain.runs.records import Kind, Priority
from onthedot.domain.schedules.recurrence import Recurrence
from onthedot.use_cases.jobs.patch_job import JobPatch

IF_MATCH_HEADER: Final = "If-Match"
_VERSION: Final = re.compile(r'(?:W/)?("?)(\d{1,9})\1', re.ASCII)
_ONE_OFF_FIELDS: Final = ("at", "delay")
_RECURRING_FIELDS: Final = (*RULE_FIELDS, *CRON_FIELDS, *RECURRENCE_FIELDS)
_FIELDS_OF_KIND: Final = {
    Kind.ONE_OFF: _ONE_OFF_FIELDS,
    Kind.RECURRING: _RECURRING_FIELDS,
    Kind.EVENT: (ON_EVENT,),
}


def read_patch(body: bytes) -> JobPatch:
    """Return the change in a body. Raise ApiError or InvalidRequest."""
    document = read_object(body, MAX_BODY)
    problems = [
        *choice_problems(document, (*_ONE_OFF_FIELDS, *RULE_FIELDS, ON_EVENT)),
        *target_choice_problems(document),
        *mask_problems(document),
        *null_problems(PatchFields, document, {"payload", *CLEARABLE}),
    ]
    if not document:
        problems.append(Problem("body", "changes nothing; give at least one field"))
    if problems:
        raise InvalidRequest(*problems)
    fields = read_model(PatchFields, document)
    check_payload(fields.payload)
    check_gates(fields.gates or ())
    return _job_patch(fields)


def read_version(header: str | None) -> int | None:
    """Return the version in `If-Match`, quoted or not, or None when the client accepts any version.

    Raise InvalidRequest.
    """
    if header is None or header.strip() == "*":
        return None
    found = _VERSION.fullmatch(header.strip())
    if found is None:
        raise InvalidRequest(Problem(IF_MATCH_HEADER, "is not a version; send the number that the job shows, or *"))
    return int(found[2])


def _job_patch(fields: PatchFields) -> JobPatch:
    names = frozenset(fields.model_fields_set)
    return JobPatch(
        fields=names,
        fields_by_kind=_fields_by_kind(names),
        definition=_definition(fields),
        retry={} if fields.retry is None else fields.retry.model_dump(exclude_unset=True),
        payload=fields.payload,
        priority=None if fields.priority is None else Priority(fields.priority),
        at=fire_instant(fields.at, fields),
        delay_ms=None if fields.delay is None else milliseconds(fields.delay),
        recurrence=_recurrence(fields) if names & set(_RECURRING_FIELDS) and "at" not in names else None,
        pattern=None if fields.on_event is None else pattern_text(fields.on_event),
        event_problems=event_job_problems(fields.on_event, fields.payload),
        gates=tuple(fields.gates or ()),
        start_within_seconds=fields.start_within_seconds,
    )


def _fields_by_kind(names: Set[str]) -> dict[Kind, list[str]]:
    """Return the fields that only one kind of job has. Beside `at`, `timezone` and `dst` are for it."""
    elsewhere = CRON_FIELDS if "at" in names else ()
    return {
        kind: [name for name in of_kind if name in names and name not in elsewhere]
        for kind, of_kind in _FIELDS_OF_KIND.items()
    }


def _definition(fields: PatchFields) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    if "name" in fields.model_fields_set:
        changed["name"] = fields.name
    if "description" in fields.model_fields_set:
        changed["description"] = fields.description
    if fields.tags is not None:
        changed["tags"] = fields.tags
    if fields.timeout_seconds is not None:
        changed["timeout_seconds"] = fields.timeout_seconds
    if fields.requirements is not None:
        changed["requirements"] = fields.requirements.requirements()
    if fields.target is not None or fields.callback_url is not None:
        changed["target"] = target_of(fields.target, fields.callback_url or "")
    return changed


def _recurrence(fields: PatchFields) -> Callable[[Recurrence, str, int], Recurrence]:
    return lambda present, job_id, now: changed_recurrence(present, fields, job_id, now)

"""Models of events and of the patterns of jobs that wait for them."""

from collections.abc import Iterable
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field

from onthedot.api.errors import echo, too_large, valid_text
from onthedot.api.fields import CalendarInstant, Fields, JobId, Key, printable
from onthedot.api.reading import canonical, read_object, read_without_nulls
from onthedot.core.errors import InvalidRequest, Problem
from onthedot.events import patterns, payloads

ON_EVENT: Final = "on_event"
MAX_EVENT: Final = 256 * 1024
MAX_RESOURCES: Final = 100
COMMANDS: Final = "onthedot.job."
"""The prefix of detail-types that are commands, such as a submit. Only the bus takes them: REST has other calls."""

Name = Annotated[Key, AfterValidator(printable)]
Resource = Annotated[str, Field(max_length=2048)]
Pattern = Annotated[
    dict[str, Any], Field(description="an EventBridge pattern: the job runs for each event that matches")
]


class EventFields(Fields):
    """An event as if it came from the bus. The same `id` again makes no second run."""

    source: Name
    detail_type: Name
    detail: dict[str, Any]
    id: Annotated[Name | None, Field(description="identifies the event (a new id)")] = None
    time: Annotated[CalendarInstant | None, Field(description="when it happened (now)")] = None
    resources: Annotated[list[Resource], Field(max_length=MAX_RESOURCES)] = Field(default_factory=list)


class CancelFields(Fields):
    """The detail of a command that cancels a job."""

    job_id: JobId


def event_job_problems(pattern: Any, payload: Any) -> list[Problem]:
    """Return the problems of a pattern, if there is one, and of the payload that picks from its events."""
    problems = [] if pattern is None else _problems(ON_EVENT, patterns.check(pattern))
    return [*problems, *_problems("payload", payloads.check_template(payload))]


def read_event(body: bytes) -> EventFields:
    """Raise ApiError and InvalidRequest."""
    document = read_object(body, 3 * MAX_EVENT)
    size = len(canonical(document))
    if size > MAX_EVENT:
        raise too_large("body", MAX_EVENT, size)
    fields = read_without_nulls(EventFields, document)
    if fields.detail_type.startswith(COMMANDS):
        message = "is a command for the bus; use the calls under /v1/jobs instead"
        raise InvalidRequest(Problem("detail_type", message))
    return fields


def _problems(field: str, found: Iterable[Problem]) -> list[Problem]:
    # A message repeats a little of the caller's text, which may be any text.
    return [Problem(_joined(field, echo(problem.field)), valid_text(problem.message)) for problem in found]


def _joined(field: str, path: str) -> str:
    return field + path if path.startswith("[") or not path else f"{field}.{path}"

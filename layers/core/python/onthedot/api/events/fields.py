"""Events and what waits for them, as requests write them: patterns, payloads that pick, and events themselves."""

from collections.abc import Iterable
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field

from onthedot.api.core.body import canonical, read_object
from onthedot.api.core.errors import echo, too_large
from onthedot.api.core.fields import CalendarInstant, Fields, Key, printable
from onthedot.api.core.reading import nulls, read_model
from onthedot.domain.errors import InvalidRequest, Problem
from onthedot.domain.events import paths as event_paths
from onthedot.domain.events import patterns as event_patterns
from onthedot.domain.ids import fresh_generation
from onthedot.domain.instants import format_instant
from onthedot.use_cases.events.handle_event import Event

ON_EVENT: Final = "on_event"
MAX_EVENT: Final = 256 * 1024
MAX_RESOURCES: Final = 100
COMMANDS: Final = "onthedot.job."
"""Detail-types that begin so ask for something to be done. They are for the bus; by REST there are other calls."""

Name = Annotated[Key, AfterValidator(printable)]
Resource = Annotated[str, Field(max_length=2048)]
Pattern = Annotated[dict[str, Any], Field(description="an EventBridge pattern: a run for each event that matches")]


class EventFields(Fields):
    """An event as if it came from the bus. The same `id` again makes no second run."""

    source: Name
    detail_type: Name
    detail: dict[str, Any]
    id: Annotated[Name | None, Field(description="what makes it this event and no other (a new one)")] = None
    time: Annotated[CalendarInstant | None, Field(description="when it happened (now)")] = None
    resources: Annotated[list[Resource], Field(max_length=MAX_RESOURCES)] = Field(default_factory=list)


def pattern_text(pattern: dict[str, Any]) -> str:
    """The one spelling of a pattern."""
    return canonical(pattern).decode()


def check_on_event(pattern: Any, payload: Any) -> list[Problem]:
    """What is wrong with a pattern, and with the payload that goes with it; None: it is not given."""
    problems = [] if pattern is None else _problems(ON_EVENT, event_patterns.check(pattern))
    return [*problems, *check_picking(payload)]


def check_picking(payload: Any) -> list[Problem]:
    """What is wrong with a payload that picks from events."""
    return _problems("payload", event_paths.check_template(payload))


def read_event(body: bytes, now: int) -> tuple[EventFields, Event]:
    """What was sent, and the event that it makes. Raises ApiError and InvalidRequest."""
    document = read_object(body, 3 * MAX_EVENT)
    size = len(canonical(document))
    if size > MAX_EVENT:
        raise too_large("body", MAX_EVENT, size)
    if problems := nulls(EventFields, document, frozenset()):
        raise InvalidRequest(*problems)
    fields = read_model(EventFields, document)
    if fields.detail_type.startswith(COMMANDS):
        message = "is a command for the bus; use the calls under /v1/jobs instead"
        raise InvalidRequest(Problem("detail_type", message))
    return fields, Event(fields.id or fresh_generation(), now if fields.time is None else fields.time, {})


def with_document(fields: EventFields, event: Event) -> Event:
    """The event as EventBridge would write it."""
    document = {
        "id": event.event_id,
        "source": fields.source,
        "detail-type": fields.detail_type,
        "time": format_instant(event.time),
        "resources": fields.resources,
        "detail": fields.detail,
    }
    return Event(event.event_id, event.time, document)


def _problems(field: str, troubles: Iterable[Problem]) -> list[Problem]:
    return [Problem(_joined(field, echo(trouble.field)), _safe(trouble.message)) for trouble in troubles]


def _joined(field: str, path: str) -> str:
    return field + path if path.startswith("[") or not path else f"{field}.{path}"


def _safe(message: str) -> str:
    """Messages repeat a little of what was written, which may be any text."""
    return message.encode("utf-8", "replace").decode()

"""Send an event."""

from typing import Final

from typing_extensions import TypedDict

from onthedot.api.route import RequestContext, Route
from onthedot.core.clock import format_instant
from onthedot.core.ids import fresh_generation
from onthedot.core.ports import Deadline
from onthedot.events.fields import EventFields, read_event
from onthedot.events.handle import Event, first_seen, handle_event

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.


class EventView(TypedDict):
    """The executions that the event made, now or when it was sent before."""

    event_id: str
    runs: list[str]


PATIENCE_MS: Final = 20_000
"""Time to handle an event: less than the 28 s that the API has for an answer."""


def send_event(context: RequestContext) -> EventView:
    """Make a run of each job whose pattern matches the event."""
    now = context.engine.clock.now()
    fields = read_event(context.request.body)
    event_id, time = fields.id or fresh_generation(), now if fields.time is None else fields.time
    if fields.id is not None:
        time = first_seen(context.engine, context.tenant, event_id, time)
    # As EventBridge would write it.
    document = {
        "id": event_id,
        "source": fields.source,
        "detail-type": fields.detail_type,
        "time": format_instant(time),
        "resources": fields.resources,
        "detail": fields.detail,
    }
    event = Event(event_id, time, document)
    handled = handle_event(context.engine, context.tenant, event, Deadline.after(now, PATIENCE_MS))
    return {"event_id": event_id, "runs": handled.runs}


ROUTES: Final = (
    Route(
        "POST",
        "/v1/events",
        send_event,
        "Send an event: each job whose on_event matches it runs, once for each id",
        EventView,
        status=202,
        body=EventFields,
        errors=(400, 413, 422),
    ),
)

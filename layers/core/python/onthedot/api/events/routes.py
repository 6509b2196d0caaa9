"""Events come in."""

from typing import Final

from onthedot.api.core.route import RequestContext, Route
from onthedot.api.events.fields import EventFields, read_event, with_document
from onthedot.api.jobs import views
from onthedot.ports import Deadline
from onthedot.use_cases.events.handle_event import first_seen, handle_event

PATIENCE_MS: Final = 20_000
"""Less than the 28 s that the API has for an answer."""


def send_event(context: RequestContext) -> views.EventView:
    now = context.engine.clock.now()
    fields, event = read_event(context.request.body, now)
    if fields.id is not None:
        event = first_seen(context.engine, context.tenant, event)
    deadline = Deadline.after(now, PATIENCE_MS)
    handled = handle_event(context.engine, context.tenant, with_document(fields, event), deadline)
    return {"event_id": event.event_id, "runs": handled.runs}


ROUTES: Final = (
    Route(
        "POST",
        "/v1/events",
        send_event,
        "Tell of an event: a run of each job whose on_event matches it, once for each id",
        views.EventView,
        status=202,
        body=EventFields,
        errors=(400, 413, 422),
    ),
)

"""Take an event from EventBridge: it makes runs of the jobs that wait for it, or submits or cancels a job."""

import os
from typing import Any

from onthedot.core.ports import Deadline
from onthedot.engines.store_around import counted
from onthedot.events.bus_events import BadEvent, take_event
from onthedot.observability import Metrics, logger
from onthedot.settings import EventsSettings
from onthedot.wiring.aws import events_engine, observe_clients

_settings = EventsSettings.from_environment(os.environ)
_metrics = Metrics(_settings.stage, detailed=_settings.detailed_metrics)
observe_clients(_metrics)
_stored, _dead_events = events_engine(_settings)
_engine = counted(_stored, _metrics)
_log = logger("events")
_SPARE_MS = 5_000


def handle(event: Any, context: Any) -> dict[str, Any]:
    """Take the event, and write its metrics."""
    try:
        return _handle(event, context)
    finally:
        _metrics.flush()


def _handle(event: Any, context: Any) -> dict[str, Any]:
    """Take the event. A passing failure is raised, so that Lambda delivers the event again. A bad event is put away."""
    deadline = Deadline.after(_engine.clock.now(), context.get_remaining_time_in_millis() - _SPARE_MS)
    try:
        ids = take_event(_engine, _settings.bus_tenant, event, deadline)
    except BadEvent as error:
        _dead_events.put_away(event, str(error))
        _log.warning("bad_event", extra={**_context(event), "reason": str(error)})
        _metrics.add("bad_events")
        return {"ids": [], "reason": str(error)}
    _log.info("taken", extra={**_context(event), "count": len(ids)})
    _metrics.add("events")
    return {"ids": ids}


def _context(event: Any) -> dict[str, Any]:
    """Return the event's id, source and type for the log, and never its content."""
    known = event if isinstance(event, dict) else {}
    return {name.replace("-", "_"): known.get(name) for name in ("id", "source", "detail-type")}

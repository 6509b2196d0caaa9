"""Handle events of the event bus: events that jobs wait for, and commands that submit or cancel a job.

A command is read by the models of REST and carried out by the same use cases, so the bus accepts and refuses the same
jobs as REST does.
"""

import json
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, Final

from onthedot.api.errors import ApiError, echo, response_to
from onthedot.api.reading import check_values, read_model
from onthedot.api.times import parse_instant
from onthedot.core.errors import InvalidRequest, OnthedotError, Unavailable
from onthedot.core.ports import Deadline
from onthedot.engine import Engine
from onthedot.events.fields import COMMANDS, CancelFields
from onthedot.events.handle import Event, handle_event
from onthedot.events.lifecycle import SOURCE
from onthedot.jobs.requests import read_job_request
from onthedot.jobs.submit import accept_job
from onthedot.workflows.stop import cancel_whole

SUBMIT: Final = f"{COMMANDS}submit"
CANCEL: Final = f"{COMMANDS}cancel"
MOST_NAMED: Final = 10
EVENT_BUS: Final = "event bus"
"""The name of the client in the changes of a job that a command on the bus cancels: it has no token."""
_ENVELOPE: Final = ("id", "source", "detail-type", "time")


class BadEvent(OnthedotError):
    """An event that can never be handled. Delivering it again does not help."""


def take_event(engine: Engine, tenant: str, document: Any, deadline: Deadline) -> list[str]:
    """Handle an event. Return the ids of its runs, or of the job that it submits or cancels.

    Raise BadEvent, and Unavailable when it must be delivered again.
    """
    event = _read(document)
    if document["source"] == SOURCE:  # or a job could trigger itself forever
        return []
    if document["detail-type"] == SUBMIT:
        return [_unless_refused(lambda: _submit(engine, tenant, event))]
    if document["detail-type"] == CANCEL:
        return [_unless_refused(lambda: _cancel(engine, tenant, event))]
    if document["detail-type"].startswith(COMMANDS):
        raise BadEvent(f"unknown command {echo(document['detail-type'])}; give {SUBMIT} or {CANCEL}")
    _refuse_unfit({"detail": document.get("detail")})  # the detail of a command is checked as a body of REST is
    handled = handle_event(engine, tenant, event, deadline)
    if handled.unreadable:
        some = "; ".join(f"{job_id}: {why}" for job_id, why in islice(handled.unreadable.items(), MOST_NAMED))
        raise BadEvent(f"{len(handled.runs)} jobs have their run, these cannot be read: {some}")
    return handled.runs


def _read(document: Any) -> Event:
    if not isinstance(document, dict) or not all(isinstance(document.get(name), str) for name in _ENVELOPE):
        raise BadEvent(f"not an event: expected an object with {', '.join(_ENVELOPE)} and detail")
    _refuse_unfit({name: value for name, value in document.items() if name != "detail"})
    try:
        return Event(document["id"], parse_instant(document["time"]), document)
    except ValueError as error:
        raise BadEvent(f"time: {error}") from error


def _refuse_unfit(document: Any) -> None:
    """Raise BadEvent for a value that JSON in UTF-8 cannot express, such as half of a surrogate pair."""
    try:
        check_values(document)
    except ApiError as error:
        raise BadEvent(error.message) from error


def _submit(engine: Engine, tenant: str, event: Event) -> str:
    """Submit the job in the detail and return its id.

    The event's id is the idempotency key unless the job has one, so an event that is delivered again makes no second
    job.
    """
    detail = event.document.get("detail")
    has_key = isinstance(detail, Mapping) and "idempotency_key" in detail
    now = engine.clock.now()
    # The detail is encoded as a body, so that it passes the same checks as the body of a REST call.
    request = read_job_request(json.dumps(detail).encode(), None if has_key else event.event_id, now)
    return accept_job(engine, tenant, request, now).job_id


def _cancel(engine: Engine, tenant: str, event: Event) -> str:
    detail = event.document.get("detail")
    try:
        job_id = read_model(CancelFields, detail if isinstance(detail, Mapping) else {}).job_id
    except InvalidRequest as error:
        raise BadEvent(str(error)) from error
    cancel_whole(engine, tenant, job_id, EVENT_BUS)
    return job_id


def _unless_refused(command: Callable[[], str]) -> str:
    """Return the result of a command. Raise BadEvent with the reason that REST would answer for a refusal."""
    try:
        return command()
    except (ApiError, OnthedotError) as error:
        response = response_to(error)
        if response is None or isinstance(error, Unavailable):
            raise
        refusal = response.body["error"]
        details = "; ".join(f"{detail['field']}: {detail['message']}" for detail in refusal["details"])
        raise BadEvent(f"{refusal['code']}: {details or refusal['message']}") from error

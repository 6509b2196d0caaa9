"""Events as the bus delivers them: ones that jobs wait for, and ones that ask for something to be done.

Jobs are submitted and cancelled by the very code that serves REST, so that a bus takes and refuses what REST does.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from onthedot.api.core.errors import echo
from onthedot.api.core.fields import Fields, Key
from onthedot.api.core.http import Request, Response
from onthedot.api.core.reading import read_model
from onthedot.api.core.router import handle
from onthedot.api.core.times import parse_instant
from onthedot.api.events.fields import COMMANDS
from onthedot.api.jobs.requests import IDEMPOTENCY_HEADER
from onthedot.domain.errors import InvalidRequest, OnthedotError, Unavailable
from onthedot.domain.reports.lifecycle_events import SOURCE
from onthedot.ports import Deadline, Engine, Principal
from onthedot.use_cases.events.handle_event import Event, handle_event

SUBMIT: Final = f"{COMMANDS}submit"
CANCEL: Final = f"{COMMANDS}cancel"
_REFUSED: Final = 400
_FAILED: Final = 500


class BadEvent(OnthedotError):
    """What the event asks for can never be done; to deliver it again is no use."""


class _CancelFields(Fields):
    job_id: Key


def take_event(engine: Engine, tenant: str, document: Any, deadline: Deadline) -> list[str]:
    """The ids of the runs or of the job that it stands for. Raises BadEvent, and Unavailable for what may pass."""
    event = _read(document)
    if document["source"] == SOURCE:  # or a job could wake itself for ever
        return []
    if document["detail-type"] == SUBMIT:
        return [_submit(engine, tenant, event)]
    if document["detail-type"] == CANCEL:
        return [_cancel(engine, tenant, event)]
    if document["detail-type"].startswith(COMMANDS):
        raise BadEvent(f"unknown command {echo(document['detail-type'])}; give {SUBMIT} or {CANCEL}")
    return handle_event(engine, tenant, event, deadline).runs


def _read(document: Any) -> Event:
    wanted = ("id", "source", "detail-type", "time")
    if not isinstance(document, dict) or not all(isinstance(document.get(name), str) for name in wanted):
        raise BadEvent(f"no event: an object with {', '.join(wanted)} and detail was expected")
    try:
        return Event(document["id"], parse_instant(document["time"]), document)
    except ValueError as error:
        raise BadEvent(f"time: {error}") from error


def _submit(engine: Engine, tenant: str, event: Event) -> str:
    """The event's id is the idempotency key, unless the job has one: delivered again it makes no second job."""
    detail = event.document.get("detail")
    named = isinstance(detail, Mapping) and "idempotency_key" in detail
    headers = {} if named else {IDEMPOTENCY_HEADER: event.event_id}
    response = _call(engine, tenant, Request("POST", "/v1/jobs", headers=headers, body=json.dumps(detail).encode()))
    return str(response.body["job_id"])


def _cancel(engine: Engine, tenant: str, event: Event) -> str:
    detail = event.document.get("detail")
    try:
        job_id = read_model(_CancelFields, detail if isinstance(detail, Mapping) else {}).job_id
    except InvalidRequest as error:
        raise BadEvent(str(error)) from error
    _call(engine, tenant, Request("PUT", f"/v1/jobs/{job_id}/cancel"))
    return job_id


def _call(engine: Engine, tenant: str, request: Request) -> Response:
    """As an operator of the tenant would."""
    principal = Principal(tenant, "operator", "bus")
    response = handle(engine, Request(request.method, request.path, {}, request.headers, request.body, principal))
    if response.status >= _FAILED:
        raise Unavailable(str(response.body["error"]["message"]))
    if response.status >= _REFUSED:
        raise BadEvent(_reason(response.body["error"]))
    return response


def _reason(error: Mapping[str, Any]) -> str:
    details = "; ".join(f"{detail['field']}: {detail['message']}" for detail in error["details"])
    return f"{error['code']}: {details or error['message']}"

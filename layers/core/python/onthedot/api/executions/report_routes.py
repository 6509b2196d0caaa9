"""What workers say of the runs they have; and a job handed to one worker by name."""

import random
from typing import Any, Final

from onthedot.api.core.errors import too_large
from onthedot.api.core.reading import names_of, read_fields
from onthedot.api.core.route import RequestContext, Route
from onthedot.api.executions import show as present_runs
from onthedot.api.jobs import views
from onthedot.api.jobs.requests import MAX_BODY
from onthedot.api.workers import show as present_workers
from onthedot.api.workers import views as worker_views
from onthedot.api.workers.fields import CompleteFields, ExecuteFields, KeepFields
from onthedot.domain import compact_json
from onthedot.domain.errors import InvalidRequest, Problem
from onthedot.ports import RESULT_BYTES
from onthedot.use_cases.workers.assign_run import assign_to_worker
from onthedot.use_cases.workers.report_run import complete_run, keep_lease

_CHANCE: Final = random.Random()  # noqa: S311 (jitter of retries, not a secret)
PATIENCE_MS: Final = 8_000
"""The gateway waits for 29 s; a worker that is told to try again does."""
_REQUIRED: Final = frozenset({"status", "attempt"})


def keep(context: RequestContext) -> worker_views.KeptView:
    fields = read_fields(KeepFields, context.request.body, nullable=frozenset(names_of(KeepFields)))
    receipt = fields.sealed_receipt
    run = keep_lease(context.engine, context.tenant, context.id, fields.attempt, receipt, worker_id=fields.worker_id)
    return present_workers.kept_view(run)


def complete(context: RequestContext) -> views.ExecutionView:
    fields = _read_report(context.request.body)
    run = complete_run(
        context.engine,
        context.tenant,
        context.id,
        fields.attempt,
        fields.answer(_text(fields.result)),
        receipt=fields.sealed_receipt,
        worker_id=fields.worker_id,
        chance=_CHANCE,
        patience_ms=PATIENCE_MS,
    )
    return present_runs.execution_view(run, context.engine.blobs)


def execute(context: RequestContext) -> views.ExecutionView:
    fields = read_fields(ExecuteFields, context.request.body)
    run = assign_to_worker(context.engine, context.tenant, context.job_id, fields.worker_id)
    return present_runs.execution_view(run, context.engine.blobs)


def _read_report(body: bytes) -> CompleteFields:
    fields = read_fields(CompleteFields, body, MAX_BODY, frozenset(names_of(CompleteFields)) - _REQUIRED)
    succeeded = fields.status == "SUCCEEDED"
    if not succeeded and fields.result is not None:
        raise InvalidRequest(Problem("result", "is for runs that SUCCEEDED; say what went wrong as error"))
    if succeeded and fields.error is not None:
        raise InvalidRequest(Problem("error", "is for runs that did not succeed; remove it, or give another status"))
    return fields


def _text(result: Any) -> str | None:
    """As it is kept: text as it is, anything else as JSON. Raises ApiError 413."""
    if result is None:
        return None
    text = result if isinstance(result, str) else compact_json.to_text(result)
    size = len(text.encode())
    if size > RESULT_BYTES:
        raise too_large("result", RESULT_BYTES, size)
    return text


ROUTES: Final = (
    Route(
        "POST",
        "/v1/executions/{id}/heartbeat",
        keep,
        "Keep the lease of a run that goes on, and learn whether it is to stop",
        worker_views.KeptView,
        body=KeepFields,
        body_may_be_left_out=True,
        for_workers=True,
        errors=(400, 404, 409, 413, 422),
    ),
    Route(
        "POST",
        "/v1/executions/{id}/complete",
        complete,
        "Say what became of an attempt, once; again is harmless",
        views.ExecutionView,
        body=CompleteFields,
        for_workers=True,
        errors=(400, 404, 409, 413, 422),
    ),
    Route(
        "POST",
        "/v1/jobs/{id}/execute",
        execute,
        "Hand a job to one worker, which gets it with its next lease",
        views.ExecutionView,
        status=202,
        body=ExecuteFields,
        errors=(400, 404, 409, 413, 422),
    ),
)

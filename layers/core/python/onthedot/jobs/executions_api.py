"""Executions: list and show them, extend their leases, end their attempts."""

import random
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, ConfigDict, Field

from onthedot.api.errors import too_large
from onthedot.api.fields import Fields, JobId, PageQuery, Text, WorkerId, printable
from onthedot.api.lists import job_secret, list_secret, open_cursor, page_view
from onthedot.api.reading import field_names, read_body, read_model
from onthedot.api.route import RequestContext, Route
from onthedot.api.times import milliseconds
from onthedot.core import json_text
from onthedot.core.errors import InvalidRequest, Problem
from onthedot.core.ports import RESULT_BYTES, Answer
from onthedot.core.progress import MAX_TEXT, ProgressReport
from onthedot.jobs.executions_views import ExecutionsView, ExecutionView, KeptView, SkippedView, kept_view
from onthedot.jobs.find_runs import find_runs
from onthedot.jobs.list_runs import list_runs, read_job, read_run
from onthedot.jobs.requests import MAX_BODY
from onthedot.jobs.run_pages import RunFilter
from onthedot.jobs.shown_runs import shown_run, shown_runs
from onthedot.schedules.choices import MAX_AHEAD_MS
from onthedot.workers.report import SealedReceipt, complete_run, keep_lease

MAX_ERROR: Final = 10_000
MAX_RECEIPT: Final = 4_096
_REQUIRED: Final = frozenset({"status", "attempt"})
_DEFAULT_ERRORS: Final[Mapping[str, str]] = {
    "FAILED": "the worker says that it failed, but not why",
    "LOST": "the worker says that the run took its process with it",
    "RELEASED": "the worker handed it back",
}
"""The error that is recorded for each status when the report has none."""

AttemptNumber = Annotated[int, Field(ge=1, le=2**31)]
ProgressText = Annotated[str, Field(max_length=MAX_TEXT), AfterValidator(printable)]
Receipt = Annotated[str, Field(max_length=MAX_RECEIPT), AfterValidator(printable)]


RunStatusName = Literal[
    "WAITING",
    "PENDING",
    "DISPATCHED",
    "RUNNING",
    "RETRYING",
    "SUCCEEDED",
    "FAILED",
    "SKIPPED",
    "CANCELLED",
    "PAUSED",
]


class ExecutionsQuery(PageQuery):
    """The query of a list of executions: `job_id`, `worker_id`, or `status` RUNNING or FAILED, or several of them."""

    job_id: Annotated[JobId | None, Field(description="executions of this job, the newest first")] = None
    worker_id: Annotated[
        WorkerId | None,
        Field(description="executions that this worker runs now; of a pull worker, also its latest 100"),
    ] = None
    status: Annotated[RunStatusName | None, Field(description="alone: RUNNING or FAILED")] = None


class ReportFields(Fields):
    """The fields of all reports. Null is the same as leaving a field out, so that a worker can send all it has."""

    model_config = ConfigDict(json_schema_extra=None)

    worker_id: WorkerId | None = None
    receipt: Annotated[Receipt | None, Field(description="the `receipt` of the lease")] = None

    @property
    def sealed_receipt(self) -> SealedReceipt | None:
        return None if self.receipt is None else SealedReceipt(self.receipt)


class ProgressFields(Fields):
    """How far a running attempt is. Give at least one of the two."""

    model_config = ConfigDict(json_schema_extra=None)

    fraction: Annotated[float | None, Field(ge=0, le=1, allow_inf_nan=False, description="how much is done")] = None
    text: Annotated[ProgressText | None, Field(description="a short line for people")] = None


class KeepFields(ReportFields):
    """A heartbeat of an execution. It extends the lease of the attempt."""

    attempt: AttemptNumber | None = None
    progress: Annotated[ProgressFields | None, Field(description="replaces the previous report")] = None

    @property
    def report(self) -> ProgressReport | None:
        if self.progress is None:
            return None
        fraction, text = self.progress.fraction, self.progress.text or None
        if fraction is None and text is None:
            raise InvalidRequest(Problem("progress", "needs fraction, text, or both"))
        return ProgressReport(fraction, text)


class CompleteFields(ReportFields):
    """The outcome of an attempt.

    LOST: the execution ended together with its process. RELEASED: the worker had to end before the execution did, and
    hands it back.
    """

    status: Literal["SUCCEEDED", "FAILED", "LOST", "RELEASED"]
    attempt: AttemptNumber
    result: Annotated[Any, Field(description="any JSON up to 1 MiB, only with SUCCEEDED")] = None
    error: Annotated[str | None, Field(max_length=MAX_ERROR, description="not with SUCCEEDED")] = None
    error_class: Annotated[Text | None, Field(description="the kind of error, as a short stable word")] = None
    retryable: Annotated[bool | None, Field(description="false: do not try again")] = None
    retry_after_seconds: Annotated[
        float | None, Field(ge=0, le=MAX_AHEAD_MS // 1000, description="wait so long before the next attempt")
    ] = None

    def answer(self) -> Answer:
        """Raise ApiError 413 when the result is too large."""
        after = self.retry_after_seconds
        return Answer(
            ok=self.status == "SUCCEEDED",
            result=_result_text(self.result),
            error=self.error or _DEFAULT_ERRORS.get(self.status),
            error_class=self.error_class,
            retryable=self.retryable is not False,
            retry_after_ms=None if after is None else milliseconds(after),
            lost=self.status == "LOST",
            handed_back=self.status == "RELEASED",
        )


def read_heartbeat(body: bytes) -> KeepFields:
    return read_body(KeepFields, body, nullable=frozenset(field_names(KeepFields)))


def read_report(body: bytes) -> CompleteFields:
    fields = read_body(CompleteFields, body, MAX_BODY, frozenset(field_names(CompleteFields)) - _REQUIRED)
    succeeded = fields.status == "SUCCEEDED"
    if not succeeded and fields.result is not None:
        raise InvalidRequest(Problem("result", "is for runs that SUCCEEDED; say what went wrong as error"))
    if succeeded and fields.error is not None:
        raise InvalidRequest(Problem("error", "is for runs that did not succeed; remove it, or give another status"))
    return fields


def _result_text(result: Any) -> str | None:
    """Return text as it is, any other value as JSON. Raise ApiError 413."""
    if result is None:
        return None
    text = result if isinstance(result, str) else json_text.to_text(result)
    size = len(text.encode())
    if size > RESULT_BYTES:
        raise too_large("result", RESULT_BYTES, size)
    return text


_CHANCE: Final = random.Random()  # noqa: S311 (jitter of retries, not a secret)
PATIENCE_MS: Final = 8_000
"""Time to store a report. API Gateway waits for 29 s. A worker whose report was not stored in time sends it again."""


def list_executions(context: RequestContext) -> ExecutionsView:
    """Answer a page of a job's runs, the newest first. The own run of a one-off job has the job's id."""
    query = read_model(PageQuery, context.request.query)
    job = read_job(context.engine, context.tenant, context.job_id)
    secret = job_secret(job)
    page = list_runs(context.engine, job, query.limit, open_cursor(secret, query.cursor))
    return page_view(ExecutionsView, "executions", shown_runs(context.engine, page.items, [job]), page, secret)


def find_executions(context: RequestContext) -> ExecutionsView:
    query = read_model(ExecutionsQuery, context.request.query)
    secret = list_secret(context, "executions", query)
    cursor = open_cursor(secret, query.cursor)
    wanted = RunFilter(query.job_id, query.status)
    page = find_runs(context.engine, context.tenant, wanted, query.worker_id, limit=query.limit, cursor=cursor)
    return page_view(ExecutionsView, "executions", shown_runs(context.engine, page.items), page, secret)


def show_execution(context: RequestContext) -> ExecutionView | SkippedView:
    return shown_run(context.engine, read_run(context.engine, context.tenant, context.id), whole=True)


def keep(context: RequestContext) -> KeptView:
    fields = read_heartbeat(context.request.body)
    run = keep_lease(
        context.engine,
        context.tenant,
        context.id,
        fields.attempt,
        fields.sealed_receipt,
        worker_id=fields.worker_id,
        progress=fields.report,
    )
    return kept_view(run)


def complete(context: RequestContext) -> ExecutionView | SkippedView:
    fields = read_report(context.request.body)
    reported = complete_run(
        context.engine,
        context.tenant,
        context.id,
        fields.attempt,
        fields.answer(),
        receipt=fields.sealed_receipt,
        worker_id=fields.worker_id,
        chance=_CHANCE,
        patience_ms=PATIENCE_MS,
    )
    return shown_run(context.engine, reported.run, definition=reported.definition)


ROUTES: Final = (
    Route(
        "GET",
        "/v1/jobs/{id}/executions",
        list_executions,
        "List a job's executions, the newest first",
        ExecutionsView,
        query=PageQuery,
        errors=(404, 422),
    ),
    Route(
        "GET",
        "/v1/executions",
        find_executions,
        "List executions of a job or a worker, or running or failed ones",
        ExecutionsView,
        query=ExecutionsQuery,
        errors=(404, 422),
    ),
    Route(
        "GET",
        "/v1/executions/{id}",
        show_execution,
        "Get an execution",
        ExecutionView | SkippedView,
        errors=(404,),
    ),
    Route(
        "POST",
        "/v1/executions/{id}/heartbeat",
        keep,
        "Extend the lease of a running execution, and learn whether it must stop",
        KeptView,
        body=KeepFields,
        body_may_be_left_out=True,
        for_workers=True,
        errors=(400, 404, 409, 413, 422),
        is_logged=False,
        while_closed=True,
    ),
    Route(
        "POST",
        "/v1/executions/{id}/complete",
        complete,
        "Report the outcome of an attempt; the same report again changes nothing",
        ExecutionView,
        body=CompleteFields,
        for_workers=True,
        errors=(400, 404, 409, 413, 422),
        is_logged=False,
        while_closed=True,
    ),
)

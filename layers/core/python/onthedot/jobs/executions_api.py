"""Executions: list and show them, extend their leases, end their attempts."""

import random
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, ConfigDict, Field

from onthedot.api.errors import too_large
from onthedot.api.fields import Fields, JobId, PageQuery, Text, WorkerId, printable
from onthedot.api.lists import job_secret, list_secret, open_cursor, sign_cursor
from onthedot.api.reading import field_names, read_body, read_model
from onthedot.api.route import RequestContext, Route
from onthedot.api.times import milliseconds
from onthedot.core import json_text
from onthedot.core.errors import InvalidRequest, Problem
from onthedot.core.ports import RESULT_BYTES, Answer
from onthedot.core.progress import MAX_TEXT, ProgressReport
from onthedot.jobs import executions_views
from onthedot.jobs.contents import short_result, whole_result
from onthedot.jobs.executions_views import ExecutionsView, ExecutionView, KeptView, SkippedView
from onthedot.jobs.find_runs import RunQuery, find_runs
from onthedot.jobs.list_runs import list_runs, read_job, read_run
from onthedot.jobs.requests import MAX_BODY
from onthedot.jobs.run_pages import RunFilter
from onthedot.jobs.shown_runs import definition_of_job, shown_runs
from onthedot.schedules.choices import MAX_AHEAD_MS
from onthedot.workers.report import SealedReceipt, complete_run, keep_lease

MAX_ERROR: Final = 10_000
MAX_RECEIPT: Final = 4_096
_REQUIRED: Final = frozenset({"status", "attempt"})
_DEFAULT_ERRORS: Final[Mapping[str, str]] = {
    "FAILED": "the worker says that it failed, and not why",
    "LOST": "the worker says that the run took its process with it",
    "RELEASED": "the worker gave it back",
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

    def query(self) -> RunQuery:
        """Return the query as the use case takes it."""
        return RunQuery(RunFilter(self.job_id, self.status), self.worker_id)

    def text(self) -> str:
        """Return the filters as one text. A cursor is valid only with the filters that it was made for."""
        return json_text.to_text([self.job_id, self.worker_id, self.status])


class ReportFields(Fields):
    """The fields of all reports. Null is the same as leaving a field out, so that a worker can send all it has."""

    model_config = ConfigDict(json_schema_extra=None)

    worker_id: WorkerId | None = None
    receipt: Annotated[Receipt | None, Field(description="the `receipt` of the lease")] = None

    @property
    def sealed_receipt(self) -> SealedReceipt | None:
        """Return the receipt as use cases take it."""
        return None if self.receipt is None else SealedReceipt(self.receipt)


class ProgressFields(Fields):
    """How far a running attempt is. Give at least one of the two."""

    model_config = ConfigDict(json_schema_extra=None)

    fraction: Annotated[float | None, Field(ge=0, le=1, allow_inf_nan=False, description="how much is done")] = None
    text: Annotated[ProgressText | None, Field(description="a short line for people")] = None


class KeepFields(ReportFields):
    """A heartbeat of an execution. It extends the lease of the attempt."""

    attempt: AttemptNumber | None = None
    progress: Annotated[ProgressFields | None, Field(description="replaces the report before")] = None

    @property
    def report(self) -> ProgressReport | None:
        """Return the report about the progress, if there is one."""
        if self.progress is None:
            return None
        fraction, text = self.progress.fraction, self.progress.text or None
        if fraction is None and text is None:
            raise InvalidRequest(Problem("progress", "needs a fraction, a text, or both"))
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
        """Return the report as the answer of a target. Raise ApiError 413 when the result is too large."""
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
    """Return the fields of a heartbeat. Raise ApiError and InvalidRequest."""
    return read_body(KeepFields, body, nullable=frozenset(field_names(KeepFields)))


def read_report(body: bytes) -> CompleteFields:
    """Return the fields of the report that ends an attempt. Raise ApiError and InvalidRequest."""
    fields = read_body(CompleteFields, body, MAX_BODY, frozenset(field_names(CompleteFields)) - _REQUIRED)
    succeeded = fields.status == "SUCCEEDED"
    if not succeeded and fields.result is not None:
        raise InvalidRequest(Problem("result", "is for runs that SUCCEEDED; say what went wrong as error"))
    if succeeded and fields.error is not None:
        raise InvalidRequest(Problem("error", "is for runs that did not succeed; remove it, or give another status"))
    return fields


def _result_text(result: Any) -> str | None:
    """Return the result as it is stored: text as it is, any other value as JSON. Raise ApiError 413."""
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
    runs = shown_runs(context.engine, page.items, [job])
    now = context.engine.clock.now()
    return executions_views.executions_view(runs, now, sign_cursor(secret, page.cursor), page.unreadable)


def find_executions(context: RequestContext) -> ExecutionsView:
    """Answer a page of the tenant's runs: of a job, of a worker, running ones, or failed ones."""
    query = read_model(ExecutionsQuery, context.request.query)
    secret = list_secret(context, "executions", query.text())
    cursor = open_cursor(secret, query.cursor)
    page = find_runs(context.engine, context.tenant, query.query(), query.limit, cursor)
    runs = shown_runs(context.engine, page.items)
    now = context.engine.clock.now()
    return executions_views.executions_view(runs, now, sign_cursor(secret, page.cursor), page.unreadable)


def show_execution(context: RequestContext) -> ExecutionView | SkippedView:
    """Answer one run with its whole result, or a range of skipped fire times."""
    run = read_run(context.engine, context.tenant, context.id)
    result = whole_result(context.engine.blobs, run)
    return executions_views.run_view(run, result, context.engine.clock.now(), definition_of_job(context.engine, run))


def keep(context: RequestContext) -> KeptView:
    """Extend the lease of a run, and store how far it is."""
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
    return executions_views.kept_view(run)


def complete(context: RequestContext) -> ExecutionView:
    """End an attempt with the outcome that its worker reports."""
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
    run = reported.run
    definition = reported.definition or definition_of_job(context.engine, run)
    result = short_result(context.engine.blobs, run)
    return executions_views.execution_view(run, result, context.engine.clock.now(), definition)


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
        "Extend the lease of a running execution, and learn whether it is to stop",
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

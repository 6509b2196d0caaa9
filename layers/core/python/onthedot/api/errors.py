"""Turn errors into answers: one shape, a stable code, and the fields at fault by name."""

from collections.abc import Mapping, Sequence
from typing import Final

from onthedot.api.http import Response
from onthedot.core.errors import (
    FileFailing,
    GateNotFound,
    IdempotencyConflict,
    InvalidRequest,
    JobConflict,
    JobNotFound,
    OnthedotError,
    PreconditionFailed,
    Problem,
    StageClosed,
    StageConflict,
    StaleAttempt,
    TokenNotFound,
    Unavailable,
    UnreadableRecord,
    WorkerNotFound,
)

MAX_DETAILS: Final = 20
"""An answer lists the first mistakes only, so that it does not grow larger than the request."""
MAX_ECHO: Final = 100
"""Characters of a caller's text that an answer repeats."""
RETRY_AFTER_SECONDS: Final = 1
CLOSED_SECONDS: Final = 30
"""When a client may try again that was refused because the stage is frozen."""


class ApiError(Exception):
    """A request that the API refuses before any use case sees it."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        problems: Sequence[Problem] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message
        self.problems, self.headers = problems, headers or {}


def bad_json(field: str, message: str) -> ApiError:
    """Return the 400 for a body that is not acceptable JSON."""
    field = echo(field)
    return ApiError(400, "bad_json", f"{field}: {message}", [Problem(field, message)])


def too_large(field: str, limit: int, size: int) -> ApiError:
    """Return the 413 for a body or a field that has more bytes than it may have."""
    message = f"is {size:,} bytes and may be {limit:,}; send less, or a link to where the rest is"
    return ApiError(413, "too_large", f"{field} {message}", [Problem(field, message)])


def echo(text: str) -> str:
    """Return a caller's own text so that an answer can repeat it: short, and valid UTF-8."""
    return valid_text(text[:MAX_ECHO]) + ("…" if len(text) > MAX_ECHO else "")


def valid_text(text: str) -> str:
    """Return the text with each half of a surrogate pair replaced, because UTF-8 cannot carry it."""
    return text.encode("utf-8", "replace").decode()


def response_to(error: Exception) -> Response | None:
    """Return the answer to an expected error. Return None for any other error."""
    if isinstance(error, ApiError):
        return error_response(error.status, error.code, error.message, error.problems, error.headers)
    return _response_to_domain_error(error) if isinstance(error, OnthedotError) else None


def _response_to_domain_error(error: OnthedotError) -> Response | None:
    match error:
        case InvalidRequest():
            return error_response(422, "invalid_request", _summary(error.problems), error.problems)
        case JobNotFound() | WorkerNotFound() | GateNotFound() | TokenNotFound():
            return _response_to_missing(error)
        case IdempotencyConflict():
            message = "was already used with another request; use a new key for a new job"
            return error_response(
                409, "idempotency_conflict", f"idempotency_key {message}", [Problem("idempotency_key", message)]
            )
        case JobConflict() | StageConflict() | StaleAttempt() | PreconditionFailed():
            return _response_to_conflict(error)
        case Unavailable() | UnreadableRecord():
            return _response_to_failure(error)
    return None


def _response_to_failure(error: Unavailable | UnreadableRecord) -> Response:
    if isinstance(error, UnreadableRecord):
        message = f"{error.record.run_id} was written by a newer version, or is damaged: {error.record.why}"
        return error_response(500, "unreadable", f"{message}; nothing was changed, tell the operator")
    if isinstance(error, StageClosed):
        return error_response(503, "frozen", str(error), headers={"Retry-After": str(CLOSED_SECONDS)})
    headers = {"Retry-After": str(RETRY_AFTER_SECONDS)}
    reason = f" ({error})" if isinstance(error, FileFailing) else ""
    return error_response(503, "unavailable", f"not possible just now{reason}; try again", headers=headers)


def _response_to_missing(error: JobNotFound | WorkerNotFound | GateNotFound | TokenNotFound) -> Response:
    if isinstance(error, TokenNotFound):
        return error_response(404, "not_found", "there is no such token; GET /v1/tokens lists the ids")
    if isinstance(error, GateNotFound):
        return error_response(404, "not_found", "there is no such gate; check its name, or make it with PUT")
    if isinstance(error, WorkerNotFound):
        return error_response(404, "not_found", "there is no such worker; check its id, or register it")
    return error_response(404, "not_found", "there is no such job or execution; check its id")


def _response_to_conflict(error: JobConflict | StageConflict | StaleAttempt | PreconditionFailed) -> Response:
    if isinstance(error, JobConflict | StageConflict):
        return error_response(409, "conflict", str(error))
    if isinstance(error, StaleAttempt):
        return error_response(409, "stale_attempt", f"{error}; do not go on with it")
    message = f"{error}; read it again, and change what is there now"
    return error_response(412, "precondition_failed", message, [Problem("If-Match", message)])


def error_response(
    status: int,
    code: str,
    message: str,
    problems: Sequence[Problem] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return an error in the shape of ErrorView."""
    details = [{"field": problem.field, "message": problem.message} for problem in problems[:MAX_DETAILS]]
    return Response(status, {"error": {"code": code, "message": message, "details": details}}, headers or {})


def _summary(problems: Sequence[Problem]) -> str:
    first = problems[0]
    more = f" (and {len(problems) - 1} more, see details)" if len(problems) > 1 else ""
    return f"{first.field}: {first.message}{more}"

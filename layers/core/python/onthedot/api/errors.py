"""Turn errors into answers: one shape, a stable code, and the fields at fault by name."""

from collections.abc import Mapping, Sequence
from typing import Final

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.
from typing_extensions import TypedDict

from onthedot.api.http import Response
from onthedot.core.errors import (
    FileFailing,
    IdempotencyConflict,
    InvalidRequest,
    JobConflict,
    NotFound,
    OnthedotError,
    PreconditionFailed,
    Problem,
    StageClosed,
    StageConflict,
    StaleAttempt,
    Unavailable,
    UnreadableRecord,
)

MAX_DETAILS: Final = 20
"""An answer lists the first mistakes only, so that it does not grow larger than the request."""
MAX_ECHO: Final = 100
"""Characters of a caller's text that an answer repeats."""
RETRY_AFTER_SECONDS: Final = 1
CLOSED_SECONDS: Final = 30
"""A client that was refused because the stage is frozen may try again after this time."""


class ErrorDetail(TypedDict):
    """One mistake: the field at fault by its dotted name, and how to correct it."""

    field: str
    message: str


class ErrorBody(TypedDict):
    """The error in an answer. `code` is stable and meant for programs, `message` is meant for people."""

    code: str
    message: str
    details: list[ErrorDetail]


class ErrorView(TypedDict):
    """The body of every answer with a status of 400 or more."""

    error: ErrorBody


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
    field = echo(field)
    return ApiError(400, "bad_json", f"{field}: {message}", [Problem(field, message)])


def too_large(field: str, limit: int, size: int) -> ApiError:
    message = f"is {size:,} bytes, but the limit is {limit:,}; send less, or a link to the rest"
    return ApiError(413, "too_large", f"{field} {message}", [Problem(field, message)])


def echo(text: str) -> str:
    """Return a caller's own text so that an answer can repeat it: short, and valid UTF-8."""
    return valid_text(text[:MAX_ECHO]) + ("…" if len(text) > MAX_ECHO else "")


def valid_text(text: str) -> str:
    """Return the text with each half of a surrogate pair replaced, because UTF-8 cannot carry it."""
    return text.encode("utf-8", "replace").decode()


def response_to(error: Exception) -> Response | None:
    """Return None for an unexpected error."""
    match error:
        case ApiError():
            return error_response(error.status, error.code, error.message, error.problems, error.headers)
        case InvalidRequest():
            return error_response(422, "invalid_request", _summary(error.problems), error.problems)
        case NotFound():
            return error_response(404, "not_found", error.answer)
        case Unavailable() | UnreadableRecord():
            return _response_to_failure(error)
        case OnthedotError():
            return _response_to_conflict(error)
    return None


def _response_to_conflict(error: OnthedotError) -> Response | None:
    match error:
        case IdempotencyConflict():
            taken = Problem("idempotency_key", "was already used with another request; use a new key for a new job")
            return error_response(409, "idempotency_conflict", f"{taken.field} {taken.message}", [taken])
        case JobConflict() | StageConflict():
            return error_response(409, "conflict", str(error))
        case StaleAttempt():
            return error_response(409, "stale_attempt", f"{error}; stop working on it")
        case PreconditionFailed():
            message = f"{error}; read it again, and repeat your change"
            return error_response(412, "precondition_failed", message, [Problem("If-Match", message)])
    return None


def _response_to_failure(error: Unavailable | UnreadableRecord) -> Response:
    if isinstance(error, UnreadableRecord):
        message = f"{error.record.run_id} was written by a newer version, or is damaged: {error.record.why}"
        return error_response(500, "unreadable", f"{message}; nothing was changed. Tell the operator")
    if isinstance(error, StageClosed):
        return error_response(503, "frozen", str(error), headers={"Retry-After": str(CLOSED_SECONDS)})
    headers = {"Retry-After": str(RETRY_AFTER_SECONDS)}
    reason = f" ({error})" if isinstance(error, FileFailing) else ""
    return error_response(503, "unavailable", f"not possible right now{reason}; try again", headers=headers)


def error_response(
    status: int,
    code: str,
    message: str,
    problems: Sequence[Problem] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    details = [{"field": problem.field, "message": problem.message} for problem in problems[:MAX_DETAILS]]
    return Response(status, {"error": {"code": code, "message": message, "details": details}}, headers or {})


def _summary(problems: Sequence[Problem]) -> str:
    first = problems[0]
    more = f" (and {len(problems) - 1} more, see details)" if len(problems) > 1 else ""
    return f"{first.field}: {first.message}{more}"

"""The errors that a client raises, as one tree. Each has the API's code, message, details and request id."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from onthedot.core.errors import OnthedotError, Problem

__all__ = [
    "AmbiguousName",
    "ClientError",
    "Conflict",
    "Forbidden",
    "InvalidRequest",
    "NotFound",
    "PlaceError",
    "PreconditionFailed",
    "Problem",
    "RateLimited",
    "ServerError",
    "TooLarge",
    "Unauthorized",
    "Unavailable",
]


class PlaceError(OnthedotError):
    """No API was named, or its URL or token is not valid."""


class ClientError(OnthedotError):
    """The base class of all errors of a call: the API refused it, failed, or did not answer."""

    def __init__(
        self,
        message: str,
        *,
        code: str = "",
        details: Sequence[Problem] = (),
        status: int | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        """The API's message, for people."""
        self.code = code
        """The API's stable code, for programs. It is empty when there was no answer."""
        self.details = list(details)
        """The mistakes of a request: the field at fault, and how to correct it."""
        self.status = status
        """The HTTP status. None: there was no answer."""
        self.request_id = request_id
        """The id of the call in the log of the API."""
        self.retry_after = retry_after
        """How many seconds the API asks to wait before the next call."""

    def __str__(self) -> str:
        mentioned = f" (request {self.request_id})" if self.request_id and (self.status or 0) >= 500 else ""
        return self.message + mentioned


class InvalidRequest(ClientError):
    """The request has mistakes. `details` names each field."""


class TooLarge(InvalidRequest):
    """The payload or the whole request is larger than the API accepts."""


class Unauthorized(ClientError):
    """The token is missing, unknown, revoked or expired."""


class Forbidden(ClientError):
    """The role of the token does not allow the call."""


class NotFound(ClientError):
    """There is no such job or execution, or it belongs to another tenant."""


class AmbiguousName(ClientError):
    """Several jobs have the name that a call gave in place of an id. Nothing was changed."""


class Conflict(ClientError):
    """The state of the job does not allow the call, or the idempotency key was used for another request."""


class PreconditionFailed(Conflict):
    """The job has changed since the version that the caller saw."""


class RateLimited(ClientError):
    """The API is getting too many calls. All retries were refused."""


class Unavailable(ClientError):
    """The API did not answer, or a service behind it fails. All retries failed. The request may have taken effect."""


class ServerError(ClientError):
    """The API failed, and a retry would not help. Give `request_id` to the operator."""


_BY_STATUS: Final[Mapping[int, type[ClientError]]] = {
    400: InvalidRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    412: PreconditionFailed,
    413: TooLarge,
    422: InvalidRequest,
    408: Unavailable,
    425: Unavailable,
    429: RateLimited,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}


def error_of(status: int, document: Any, request_id: str | None, retry_after: float | None = None) -> ClientError:
    """Return the error for an answer. A document of an unknown shape gives an error without a code."""
    found = document.get("error") if isinstance(document, Mapping) else None
    body: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
    details = body.get("details")
    problems = [
        Problem(str(one.get("field", "")), str(one.get("message", "")))
        for one in (details if isinstance(details, list) else [])
        if isinstance(one, Mapping)
    ]
    kind = _BY_STATUS.get(status, ServerError if status >= 500 else ClientError)
    return kind(
        str(body.get("message") or f"the API answered {status}"),
        code=str(body.get("code") or ""),
        details=problems,
        status=status,
        request_id=request_id,
        retry_after=retry_after,
    )

"""Translation of AWS errors.

A failure that a retry can cure becomes `Unavailable`. A resource that is gone or denied becomes `Unreachable`. A bug
stays an exception.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from onthedot.core.errors import Unavailable, Unreachable

TRANSIENT: Final = frozenset(
    {
        "BandwidthLimitExceeded",
        "EC2ThrottledException",
        "InternalServerError",
        "InternalError",
        "InternalFailure",
        "LimitExceededException",
        "PriorRequestNotComplete",
        "ProvisionedThroughputExceeded",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "RequestTimeout",
        "RequestTimeoutException",
        "ServiceUnavailable",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingError",
        "ThrottlingException",
        "TooManyRequestsException",
        "TransactionConflict",
        "TransactionConflictException",
        "TransactionInProgressException",
        "UnavailableException",
    }
)
"""Error codes of AWS services that a later try can cure. `targets.aws` uses the same set."""
_GONE: Final = frozenset({"NonExistentQueue", "QueueDoesNotExist", "ResourceNotFoundException", "NoSuchBucket"})
_DENIED: Final = ("AccessDenied", "KMS", "Kms", "ExpiredToken", "UnrecognizedClient", "InvalidClientTokenId")
_FORBIDDEN: Final = 403
_SERVER_ERROR: Final = 500
_Error = TypeVar("_Error", bound=Exception)


class ErrorReply(Exception):
    """AWS answered a call with an error. `response` is the reply as botocore's ClientError has it."""

    def __init__(self, response: Mapping[str, Any], operation: str) -> None:
        self.response = response
        error = response.get("Error", {})
        self.code = str(error.get("Code", ""))
        self.status = int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        super().__init__(f"{operation}: {self.code}: {error.get('Message', '')}")


class NoReply(Exception):
    """No attempt of a call got a reply that can be used."""


@contextmanager
def translated(action: str) -> Iterator[None]:
    """Raise Unavailable for a failure that may pass by itself: a throttle, a timeout, a broken connection.

    Raise Unreachable for a resource that is gone or that this process may not use, and ErrorReply for any other error
    that AWS answers, whichever client made the call.
    """
    try:
        yield
    except _ours_and_theirs(ErrorReply, "ClientError") as error:
        reply = error if isinstance(error, ErrorReply) else ErrorReply(error.response, action)
        code, status = reply.code, reply.status
        if code in TRANSIENT or status >= _SERVER_ERROR:
            raise Unavailable(f"{action}: {code}") from error
        if status == _FORBIDDEN or _is_gone_or_denied(code):
            raise Unreachable(f"{action}: {code}") from error
        if reply is error:
            raise
        raise reply from error
    except _ours_and_theirs(NoReply, "BotoCoreError") as error:
        raise Unavailable(f"{action}: {error}") from error


def _ours_and_theirs(ours: type[_Error], name: str) -> tuple[type[_Error], type[_Error]]:
    """Return our error and botocore's. A process that has not loaded botocore cannot raise it, and need not load it."""
    return ours, getattr(sys.modules.get("botocore.exceptions"), name, ours)


def _is_gone_or_denied(code: str) -> bool:
    name = code.rsplit(".", 1)[-1]
    return name in _GONE or name.startswith(_DENIED) or code.startswith(_DENIED)

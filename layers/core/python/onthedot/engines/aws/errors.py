"""Translation of AWS errors.

A failure that a retry can cure becomes `Unavailable`. A resource that is gone or denied becomes `Unreachable`. A bug
stays an exception.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError

from onthedot.core.errors import Unavailable, Unreachable

TRANSIENT: Final = frozenset(
    {
        "InternalServerError",
        "InternalError",
        "InternalFailure",
        "LimitExceededException",
        "ProvisionedThroughputExceeded",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "ServiceUnavailable",
        "SlowDown",
        "Throttling",
        "ThrottlingError",
        "ThrottlingException",
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


@contextmanager
def translated(action: str) -> Iterator[None]:
    """Raise Unavailable for a failure that may pass by itself: a throttle, a timeout, a broken connection.

    Raise Unreachable for a resource that is gone or that this process may not use.
    """
    try:
        yield
    except ClientError as error:
        code, status = error_code(error), error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        if code in TRANSIENT or status >= _SERVER_ERROR:
            raise Unavailable(f"{action}: {code}") from error
        if status == _FORBIDDEN or _is_gone_or_denied(code):
            raise Unreachable(f"{action}: {code}") from error
        raise
    except BotoCoreError as error:
        raise Unavailable(f"{action}: {error}") from error


def _is_gone_or_denied(code: str) -> bool:
    name = code.rsplit(".", 1)[-1]
    return name in _GONE or name.startswith(_DENIED) or code.startswith(_DENIED)


def error_code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))

"""Translation of AWS errors: a failure that a retry can cure becomes `Unavailable`, a bug stays an exception."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError

from onthedot.domain.errors import Unavailable

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


@contextmanager
def translated(action: str) -> Iterator[None]:
    """Raise Unavailable for a failure that may pass by itself: a throttle, a time-out, a broken connection."""
    try:
        yield
    except ClientError as error:
        code = error_code(error)
        if code in TRANSIENT or error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) >= 500:
            raise Unavailable(f"{action}: {code}") from error
        raise
    except BotoCoreError as error:
        raise Unavailable(f"{action}: {error}") from error


def error_code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))
